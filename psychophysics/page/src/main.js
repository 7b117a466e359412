// The page of a participant, from the first request to the completion code.

import { Api, Refusal } from "./api.js";
import { EventQueue } from "./events.js";
import { consent, done, farewell } from "./screens.js";
import { Kept } from "./storage.js";
import { runSession } from "./timeline.js";
import { isMobile, watchSize } from "./window_size.js";
import { takeOver } from "./windows.js";

const CONFLICT = "hms-study-conflict";
const place = document.querySelector("#stage");
const api = new Api(trouble);
let queue = null;

start().catch(broken);

async function start() {
  const study = await api.request("GET", "/api/study");
  document.title = study.title;
  if (isMobile()) {
    farewell(place, "Please use a computer", [
      "This study needs a large screen with a mouse or a keyboard; it cannot be done on a telephone or tablet.",
      "Open the same link on a computer.",
    ]);
    return;
  }
  const recruiter = recruiterOf(study);
  if (recruiter === undefined) return;
  const name = study.rehearsal ? `${study.name} (rehearsal)` : study.name;
  takeOver(name, elsewhere);
  const kept = new Kept(name, "session");
  const stopWatching = watchSize(study.minimum, document.querySelector("#cover"), () => {});
  const session = (await resumed(kept, recruiter)) ?? (await joined(kept, study, recruiter));
  if (!session) return;
  stopWatching();
  await participate(study, session, kept, new Kept(name, "events"));
}

/** What Prolific says about a participant; null: there is none in this study; undefined: the link lacks it. */
function recruiterOf(study) {
  if (study.recruitment.kind !== "prolific") return null;
  const given = new URLSearchParams(location.search);
  const [prolific_pid, study_id, session_id] = ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"].map((name) =>
    given.get(name),
  );
  if (prolific_pid && study_id && session_id) return { prolific_pid, study_id, session_id };
  farewell(place, "Please start from Prolific", [
    "The link lacks the participant's number. Open this study from its page on Prolific.",
  ]);
  return undefined;
}

/** The session that this browser began before, if the server still knows it and it is this participant's. */
async function resumed(kept, recruiter) {
  const before = kept.get();
  if (!before || before.recruiter !== (recruiter?.prolific_pid ?? null)) return null;
  api.token = before.token;
  try {
    return await api.request("GET", "/api/session");
  } catch (error) {
    if (error.status !== 401) throw error;
    api.token = null;
    kept.clear();
    return null;
  }
}

/** A new session after consent; null: there is none, and the screen says why. */
async function joined(kept, study, recruiter) {
  if (!(await consent(place, study))) {
    farewell(place, "You did not agree", [
      "Nothing was stored. You may close this window.",
      `Contact: ${study.consent.contact}`,
    ]);
    return null;
  }
  const viewport = { width: window.innerWidth, height: window.innerHeight };
  const joining = { consent_version: study.consent.version, recruiter, request: randomHex(), viewport };
  try {
    const session = await api.request("POST", "/api/sessions", joining);
    api.token = session.token;
    kept.set({ token: session.token, recruiter: recruiter?.prolific_pid ?? null });
    return session;
  } catch (error) {
    notTaken(error, study);
    return null;
  }
}

/** By which the server knows a request that is sent again after a lost answer: nobody joins twice. */
function randomHex() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function notTaken(error, study) {
  const contact = `Contact: ${study.consent.contact}`;
  if (error.status === 410) {
    farewell(place, "The study is full", ["All places are taken. Thank you for your interest.", contact]);
  } else if (error.status === 409 && error.body.reason === "consent_changed") {
    farewell(
      place,
      "The text was changed",
      ["Please read what you agree to once more."],
      ["Read it", () => location.reload()],
    );
  } else if (error.status === 409) {
    farewell(place, "You took part already", ["Everybody can take part once. Thank you.", contact]);
  } else {
    throw error;
  }
}

async function participate(study, session, kept, events) {
  queue = new EventQueue(api, events, session, { onConflict: conflict, onFatal: broken });
  const watch = (visible) => queue.add("visibility", { visible });
  document.addEventListener("visibilitychange", () => watch(document.visibilityState === "visible"));
  watchSize(study.minimum, document.querySelector("#cover"), watch);
  const state = await runSession(session, queue, place, trouble);
  const another =
    study.recruitment.kind === "local" &&
    (() => {
      kept.clear();
      location.reload();
    });
  done(place, study, session, state, another);
}

/** Another window of this browser has taken over. */
function elsewhere() {
  queue?.stop();
  farewell(
    document.body,
    "The study goes on in another window",
    ["It was opened in another tab or window of this browser. Go on there, and close this one."],
    ["Go on here instead", () => location.reload()],
  );
}

/** The server holds other answers than this page: begin again from what it holds. */
function conflict() {
  const before = Number(sessionStorage.getItem(CONFLICT));
  sessionStorage.setItem(CONFLICT, Date.now());
  if (Date.now() - before > 10_000) location.reload();
  else broken(new Error("the server holds other answers than this page, twice within 10 seconds"));
}

function broken(error) {
  console.error(error);
  queue?.stop();
  const gone = error instanceof Refusal && error.status === 401;
  farewell(
    document.body,
    gone ? "This session has ended" : "Something went wrong",
    [
      gone
        ? "The server does not know it any more; its answers may have been withdrawn."
        : "Your answers until now are kept.",
      "Loading the page again often helps. If not, please write to the person who invited you.",
      `Details: ${error.message}`,
    ],
    ["Load again", () => location.reload()],
  );
}

/** Say that the connection is lost, and for how long; null: it works. */
function trouble(seconds) {
  const notice = document.querySelector("#notice");
  if (!notice) return;
  notice.textContent =
    seconds === null ? "" : `Connection lost. Your answers are kept. Trying again in ${Math.ceil(seconds)} s …`;
}
