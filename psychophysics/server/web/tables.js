// The tables of the page: fill by cell, stages, exclusion rules, who takes part now.

import { duration, find, make, percent } from "./dom.js";

const row = (...cells) => make("tr", {}, ...cells);
const number = (value) => make("td", { class: "n" }, String(value));
const head = (text) => make("th", { scope: "row" }, text);

/** A bar and its percentage. */
function bar(share) {
  return make("td", { class: "wide" }, make("div", { class: "bar" }, make("i", { "aria-hidden": "true", style: { "--share": share ?? 0 } }), make("span", {}, percent(share))));
}

/** Accepted participants of each condition and image set. */
export function fill({ cells, conditions, sets, places_per_cell: planned }) {
  find("fill-heads").replaceChildren(row(make("th", {}, "Condition"), ...sets.map((set) => make("th", { class: "c" }, `Set ${set}`)), make("th", { class: "c" }, "All")));
  find("fill-rows").replaceChildren(
    ...conditions.map((condition, index) => {
      const total = cells[index].reduce((sum, cell) => sum + cell.accepted, 0);
      return row(head(condition), ...cells[index].map((cell) => cellOf(cell, planned)), make("td", { class: "total", style: { "--share": 0 } }, `${total} of ${planned * sets.length}`));
    }),
  );
  find("fill-caption").textContent = `Accepted participants of ${planned} planned in each cell; below, those who take part now. The fuller a cell, the stronger its colour.`;
}

function cellOf({ accepted, live }, planned) {
  return make("td", { style: { "--share": Math.min(1, accepted / planned) } }, String(accepted), make("small", {}, live ? `+${live} now` : ""));
}

/** How many reached each stage, are there now, ended there. */
export function stages({ stages: found }) {
  const all = found[0]?.reached ?? 0;
  find("stage-rows").replaceChildren(
    ...found.map(({ name, reached, here, ended }) => row(head(name), number(reached), bar(all ? reached / all : null), number(here), number(ended))),
  );
}

/** Pass rate of each exclusion rule. */
export function rules({ rules: found }) {
  find("rule-rows").replaceChildren(...found.map(({ name, passed, broken, limit }) => row(head(name), bar(passed), number(broken), make("td", { class: "wide" }, limit))));
}

/** Every broken rule with its reason. */
export function excluded({ excluded: found, people }) {
  find("excluded").hidden = !found.length;
  find("excluded").querySelector("summary").textContent = `${people.excluded} excluded, with their reasons`;
  find("excluded-rows").replaceChildren(
    ...found.map(({ participant, condition, rule, reason }) => row(make("th", { scope: "row" }, make("code", {}, participant)), make("td", {}, condition), make("td", {}, rule), make("td", { class: "wide" }, reason))),
  );
}

/** Who takes part now. */
export function live({ live: found }) {
  find("nobody").hidden = found.length > 0;
  find("live-box").hidden = !found.length;
  find("live-rows").replaceChildren(
    ...found.map(({ participant, condition, image_set: set, stage, here_s: here, seen_s: seen }) =>
      row(make("th", { scope: "row" }, make("code", {}, participant)), make("td", {}, condition), number(set), make("td", {}, stage), make("td", { class: "n" }, duration(here)), make("td", { class: "n" }, `${duration(seen)} ago`))),
  );
}
