// The form that chooses trials: by state, by how they ended, by hyperparameters. New kinds appear as trials bring them.

import { choices, filtered, keep, showAll } from "./choices.js";
import { find, make, plain } from "./dom.js";
import { settings } from "./search.js";

const STATES = ["NEW", "RUNNING", "DONE", "ERROR", "CANCEL"];
const groups = new Map(); // legend -> { body, checks: value -> { box, count } }
const ranges = new Map(); // hyperparameter -> { low, high } inputs

/** Show what there is to choose among these trials, with counts; `changed()` is called when the reader chose. */
export function offer(trials, changed) {
  checks("State", STATES, trials, (trial) => trial.state, () => choices.states, (chosen) => (choices.states = chosen), changed);
  const finishes = Object.keys(settings.finishes);
  checks("How it ended", finishes, trials, (trial) => trial.finish, () => choices.finishes, (chosen) => (choices.finishes = chosen), changed);
  const values = hyperparameters(trials);
  for (const [name, seen] of values) {
    if ([...seen].every((value) => typeof value === "number")) range(name, seen, changed);
    else texts(name, seen, trials, changed);
  }
  find("clear").hidden = !filtered();
  find("filter-more").hidden = !values.size;
}

find("filter-more").open = Object.keys(choices.ranges).length + Object.keys(choices.values).length > 0;
find("filter-form").addEventListener("submit", (event) => event.preventDefault());

/** `Show all` empties the form. */
export function onClear(changed) {
  find("filter-form").addEventListener("reset", () => {
    showAll();
    for (const { checks } of groups.values()) for (const { box } of checks.values()) box.checked = false;
    setTimeout(() => {
      for (const { low, high } of ranges.values()) low.value = high.value = "";
      changed();
    });
  });
}

function hyperparameters(trials) {
  const values = new Map();
  for (const trial of trials) {
    for (const [name, value] of Object.entries(trial.params)) {
      if (!values.has(name)) values.set(name, new Set());
      values.get(name).add(value);
    }
  }
  return new Map([...values].filter(([, seen]) => seen.size > 1));
}

function group(title, where) {
  if (!groups.has(title)) {
    const body = make("div", { class: "checks" });
    where.append(make("fieldset", {}, make("legend", {}, title), body));
    groups.set(title, { body, checks: new Map() });
  }
  return groups.get(title);
}

function checks(title, order, trials, of, chosen, choose, changed, where = find("filter-fields")) {
  const counts = new Map();
  for (const trial of trials) counts.set(of(trial), (counts.get(of(trial)) || 0) + 1);
  counts.delete("");
  const known = [...order, ...[...counts.keys()].filter((value) => !order.includes(value)).sort()];
  if (!groups.has(title) && !counts.size) return;
  const { body, checks } = group(title, where);
  for (const value of known) {
    if (!checks.has(value) && (counts.has(value) || chosen().includes(value))) {
      const box = make("input", { type: "checkbox", checked: chosen().includes(value), value });
      box.addEventListener("change", () => {
        choose(known.filter((other) => checks.get(other)?.box.checked));
        keep();
        changed();
      });
      const count = make("small", {}, "");
      body.append(make("label", {}, box, ` ${settings.finishes[value]?.words ?? value} `, count));
      checks.set(value, { box, count });
    }
    if (checks.has(value)) checks.get(value).count.textContent = String(counts.get(value) || 0);
  }
}

function texts(name, seen, trials, changed) {
  const choose = (chosen) => {
    if (chosen.length) choices.values[name] = chosen;
    else delete choices.values[name];
  };
  checks(name, [...seen].map(String).sort(), trials, (trial) => String(trial.params[name] ?? ""), () => choices.values[name] ?? [], choose, changed, find("filter-parameters"));
}

function range(name, seen, changed) {
  if (!ranges.has(name)) {
    const [low, high] = [0, 1].map((end) => {
      const words = `${name}, ${end ? "at most" : "at least"}`;
      const input = make("input", { type: "text", inputMode: "decimal", "aria-label": words, value: choices.ranges[name]?.[end] ?? "" });
      input.addEventListener("change", () => {
        choose(name, ranges.get(name));
        keep();
        changed();
      });
      return input;
    });
    find("filter-parameters").append(make("fieldset", { class: "range" }, make("legend", {}, name), low, " to ", high));
    ranges.set(name, { low, high });
  }
  const { low, high } = ranges.get(name), numbers = [...seen];
  low.placeholder = plain(numbers.reduce((a, b) => Math.min(a, b)));
  high.placeholder = plain(numbers.reduce((a, b) => Math.max(a, b)));
}

/** The limits that were typed; what is no number is marked and does not count. */
function choose(name, inputs) {
  const limits = [inputs.low, inputs.high].map((input) => {
    const typed = input.value.trim().replace("−", "-").replace(",", ".");
    const number = typed === "" ? null : Number(typed);
    input.setAttribute("aria-invalid", String(Number.isNaN(number)));
    return Number.isNaN(number) ? null : number;
  });
  if (limits.some((limit) => limit !== null)) choices.ranges[name] = limits;
  else delete choices.ranges[name];
}
