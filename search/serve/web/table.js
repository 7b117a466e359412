// The table of trials: rows are kept, and only those of trials that changed are filled again.

import { choices, keep } from "./choices.js";
import { chosen, columns, glyph, offerColumns } from "./columns.js";
import { find, make } from "./dom.js";

const AT_ONCE = 200;
const rows = new Map(); // tid -> { row, trial, layout }
let limit = AT_ONCE;
let layout = ""; // the keys of the columns that are shown

/** Show these trials, of all those `known`; `open(tid)` shows one, `again()` draws anew after the reader chose. */
export function showTable(trials, known, open, again) {
  const all = columns(known), shown = chosen(all);
  offerColumns(all, again);
  layout = shown.map(({ key }) => key).join();
  heads(shown, again);
  const ordered = sorted(trials, shown), visible = ordered.slice(0, limit);
  place(visible.map((trial) => filled(trial, shown, open)));
  const more = find("more");
  more.hidden = ordered.length <= visible.length;
  more.textContent = `Show ${ordered.length - visible.length} more`;
  more.onclick = () => {
    limit = Infinity;
    again();
  };
}

/** Forget the rows: another search. */
export const forgetRows = () => rows.clear();

function heads(shown, again) {
  const [by, descending] = choices.sort;
  const line = find("heads");
  if (line.dataset.layout !== layout) {
    line.dataset.layout = layout;
    line.replaceChildren(...shown.map((column) => head(column, again)));
  }
  for (const cell of line.children) {
    const order = cell.dataset.key !== by ? "none" : descending ? "descending" : "ascending";
    if (cell.getAttribute("aria-sort") !== order) cell.setAttribute("aria-sort", order);
  }
}

function head({ key, title, kind }, again) {
  const button = make("button", { type: "button" }, title);
  button.addEventListener("click", () => {
    const [by, descending] = choices.sort;
    choices.sort = [key, by === key && !descending];
    keep();
    again();
  });
  return make("th", { class: kind === "number" ? "n" : "", "data-key": key }, button);
}

function sorted(trials, shown) {
  const [by, descending] = choices.sort;
  const { value } = shown.find(({ key }) => key === by) ?? shown[0];
  const missing = (key) => key === null || key === undefined || key === "";
  return [...trials].sort((one, other) => {
    const a = value(one), b = value(other);
    if (missing(a) || missing(b)) return missing(a) - missing(b) || one.tid - other.tid; // no value: last, either way
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return (descending ? -order : order) || one.tid - other.tid;
  });
}

function filled(trial, shown, open) {
  const kept = rows.get(trial.tid) ?? { row: make("tr", { "data-tid": trial.tid }, opener(trial.tid, open)) };
  if (kept.trial !== trial || kept.layout !== layout) {
    // The first cell stays: it may have the focus.
    while (kept.row.children.length > 1) kept.row.lastChild.remove();
    kept.row.append(...shown.slice(1).map((column) => cell(column, trial)));
    kept.trial = trial;
    kept.layout = layout;
    rows.set(trial.tid, kept);
  }
  return kept.row;
}

function opener(tid, open) {
  const button = make("button", { type: "button", class: "link", "aria-label": `Trial ${tid}: details and log` }, String(tid));
  button.addEventListener("click", () => open(tid));
  return make("td", { class: "n" }, button);
}

function cell({ kind, text }, trial) {
  const words = text(trial);
  if (kind === "state") return make("td", {}, make("span", { class: `state ${words}` }, words));
  if (kind !== "ending") return make("td", { class: kind === "number" ? "n" : "words" }, words);
  const mark = trial.finish ? [make("span", { class: `mark ${trial.finish}`, "aria-hidden": "true" }, glyph(trial.finish)), " "] : [];
  return make("td", { title: trial.reason, class: trial.stopped === null ? "" : "stopped" }, ...mark, words);
}

function place(wanted) {
  const body = find("rows");
  const same = body.children.length === wanted.length && wanted.every((row, index) => body.children[index] === row);
  if (!same) body.replaceChildren(...wanted);
}
