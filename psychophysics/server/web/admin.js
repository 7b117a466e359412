// The page of a running study: asks for the summary again and again, and shows it.

import { charts } from "./charts.js";
import { find, make, plain } from "./dom.js";
import { excluded, fill, live, rules, stages } from "./tables.js";

const EVERY = 5000; // ms
const KEPT = `hms-study-admin-${location.host}`;
let token = given();

/** The token leaves the address, and is kept until the tab is closed. */
function given() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    sessionStorage.setItem(KEPT, found);
    history.replaceState(null, "", location.pathname);
  }
  return found ?? sessionStorage.getItem(KEPT);
}

async function refresh() {
  if (!token) return ask();
  try {
    const response = await fetch("/api/admin/summary", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
    if (response.status === 401) return ask("This is not the token of this study.");
    if (!response.ok) throw new Error(`The server answered ${response.status}; hms study serve printed why.`);
    await show(await response.json());
    outage();
  } catch (error) {
    outage(error instanceof TypeError ? "hms study serve does not answer: it was ended, or this machine cannot reach it." : error.message);
  }
}

function ask(why) {
  token = null;
  sessionStorage.removeItem(KEPT);
  find("ask").hidden = false;
  find("page").hidden = true;
  find("state").textContent = "closed";
  outage(why);
}

function outage(why) {
  find("outage").hidden = !why;
  find("outage").textContent = why ?? "";
}

async function show(summary) {
  find("ask").hidden = true;
  find("page").hidden = false;
  find("name").textContent = summary.title || summary.name;
  document.title = `${summary.name} · HMS Search`;
  const { people } = summary, complete = people.accepted >= summary.places;
  find("state").textContent = complete ? "complete" : people.live ? "people take part" : "open";
  find("state").className = `badge ${complete ? "done" : "open"}`;
  find("seen").textContent = `As of ${new Date(summary.now_ms).toLocaleTimeString()}, refreshed every ${EVERY / 1000} s.`;
  find("cards").replaceChildren(...cards(summary));
  find("rehearsal").hidden = !summary.rehearsal;
  find("patience").textContent = `${plain(summary.patience_s / 60)} min`;
  fill(summary);
  stages(summary);
  rules(summary);
  excluded(summary);
  live(summary);
  await charts(summary);
  document.documentElement.dataset.ready = "true";
}

function cards({ people, places, patience_s: patience }) {
  const left = people.joined - people.live - people.finished - people.withdrawn;
  const rows = [
    ["Accepted", people.accepted, `of ${places} places`],
    ["Take part now", people.live, `seen in the last ${plain(patience / 60)} min`],
    ["Excluded", people.excluded, `of ${people.finished} finished`],
    ["Left", left, `of ${people.joined} who agreed`],
    ["Withdrawn", people.withdrawn, "answers erased"],
  ];
  return rows.map(([name, value, note]) =>
    make("div", { class: "card" }, make("div", { class: "name" }, name), make("div", { class: "value" }, String(value)), make("div", { class: "note" }, note)));
}

async function follow() {
  for (;;) {
    await refresh();
    await new Promise((next) => setTimeout(next, EVERY));
    // A hidden page asks nothing until it is looked at again.
    if (document.hidden) await new Promise((next) => document.addEventListener("visibilitychange", next, { once: true }));
  }
}

find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  token = find("token").value.trim();
  find("token").value = "";
  sessionStorage.setItem(KEPT, token);
  refresh();
});
addEventListener("hashchange", () => {
  token = given();
  refresh();
});
follow();
