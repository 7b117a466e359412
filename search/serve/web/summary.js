// The head of the page: state, cards, troubles, outage, workers.

import { find, make } from "./dom.js";
import { search } from "./search.js";

const WORDS = { NEW: "wait", RUNNING: "run", DONE: "done", ERROR: "in ERROR", CANCEL: "cancelled" };

/** Fill it from the newest answer. */
export function showSummary() {
  const summary = search.summary;
  badge(summary);
  outage(search.trouble ? `The store does not answer; shown is what was known ${search.age} s ago. ${search.trouble}` : "");
  find("seen").textContent = `as of ${new Date(Date.now() - 1000 * (search.age ?? 0)).toLocaleTimeString()}`;
  replace("cards", cards(summary).map(([name, value, note]) => make("div", { class: "card" }, make("div", { class: "name" }, name), make("div", { class: "value" }, value), make("div", { class: "note" }, note))));
  replace("troubles", summary.troubles.map((line) => make("li", {}, line)));
  find("troubles").hidden = !summary.troubles.length;
  workers(summary.workers);
}

/** Say that something does not answer; nothing hides it again. */
export function outage(message) {
  const line = find("outage");
  line.hidden = !message;
  if (line.textContent !== message) line.textContent = message;
}

function badge(summary) {
  const words = summary.imported ? "imported" : summary.finished ? "finished" : summary.cancelled ? "cancelled" : summary.driver ? "running" : "not finished";
  find("state").textContent = words;
  find("state").className = `badge ${summary.finished ? "done" : "open"}`;
}

function cards(summary) {
  const { counts, workers } = summary;
  const ended = counts.DONE + counts.ERROR + counts.CANCEL;
  const parts = Object.entries(WORDS).filter(([state]) => counts[state]).map(([state, words]) => `${counts[state]} ${words}`);
  const found = [["Trials ended", `${ended} of ${summary.planned}`, parts.join(", ") || "none yet"]];
  if (summary.finished) return found;
  const alive = workers.filter(({ condition }) => condition === "works" || condition === "idle");
  const conditions = ["works", "idle", "silent", "dead"].map((condition) => [condition, workers.filter((worker) => worker.condition === condition).length]);
  found.push(["Driver", summary.driver ? "alive" : "none", summary.driver ?? (summary.command && `continue with: ${summary.command}`)]);
  found.push(["Workers alive", String(alive.length), conditions.filter(([, count]) => count).map(([condition, count]) => `${count} ${condition === "works" ? "at work" : condition}`).join(", ") || "none was seen"]);
  found.push(["Trials an hour", summary.rate === null ? "–" : summary.rate >= 100 ? summary.rate.toFixed(0) : String(Number(summary.rate.toPrecision(3))), summary.rate === null ? "no trial has ended" : "of the last hour"]);
  found.push(["Time left", summary.left ?? "–", summary.left ? "about, at the mean of ended trials" : "not known"]);
  return found;
}

function workers(seen) {
  find("no-workers").hidden = seen.length > 0;
  find("workers-box").hidden = !seen.length;
  const cells = ({ where, condition, tid, here, seen: sign }) => [make("td", {}, where), make("td", {}, condition), make("td", { class: "n" }, tid === null ? "" : String(tid)), make("td", { class: "n" }, here), make("td", { class: "n" }, `${sign} ago`)];
  replace("worker-rows", seen.map((worker) => make("tr", {}, ...cells(worker))));
}

/** Only where something differs, so that a selection stays and a reader's place is not lost. */
function replace(id, elements) {
  const box = find(id), fresh = make(box.tagName, {}, ...elements);
  if (fresh.innerHTML !== box.innerHTML) box.replaceChildren(...fresh.childNodes);
}
