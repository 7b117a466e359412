// The columns of the table: what each shows and is sorted by; the reader chooses which.

import { choices, keep } from "./choices.js";
import { duration, find, fixed, make, moment, NOTHING, plain } from "./dom.js";
import { settings } from "./search.js";

const HIDDEN = ["reason", "worker", "began", "seconds", "attempts", "parameters", "point", "replicate"];
const GLYPHS = { circle: "●", "triangle-down": "▼", "square-open": "□", x: "✖", "x-thin-open": "×" };

/** The mark of a way to end, as in the curves. */
export const glyph = (finish) => GLYPHS[settings.finishes[finish]?.symbol] ?? "•";

/** In words how a trial ended, and when a rule ended it. */
export function ending(trial) {
  if (!trial.finish) return trial.state === "ERROR" ? "error" : "";
  const words = settings.finishes[trial.finish]?.words ?? trial.finish.replaceAll("_", " ");
  return trial.stopped === null ? words : `${words}, epoch ${trial.stopped} of ${trial.planned}`;
}

const column = (key, title, value, text = (trial) => plain(value(trial)), kind = "number") => ({ key, title, value, text, kind });

/** All columns; those of hyperparameters come with the trials. */
export function columns(trials) {
  const names = new Set();
  for (const trial of trials) for (const name of Object.keys(trial.params)) names.add(name);
  return [
    column("tid", "Trial", (trial) => trial.tid),
    column("state", "State", (trial) => trial.state, (trial) => trial.state.toLowerCase(), "state"),
    column("finish", "How it ended", ending, ending, "ending"),
    column("epoch", "Epoch", (trial) => trial.epoch, (trial) => (trial.epoch === null || trial.epoch === undefined ? NOTHING : `${trial.epoch} of ${trial.planned ?? "?"}`)),
    ...settings.metrics.map((metric) => column(metric.name, metric.short, (trial) => trial.metrics[metric.name], (trial) => fixed(trial.metrics[metric.name], metric.digits))),
    ...[...names].sort().map((name) => column(`param.${name}`, name, (trial) => trial.params[name])),
    column("reason", "Reason or error", (trial) => trial.reason, (trial) => trial.reason.slice(0, 300), "text"),
    column("worker", "Worker", (trial) => trial.worker, (trial) => trial.worker, "text"),
    column("began", "Began", (trial) => trial.began, (trial) => moment(trial.began), "text"),
    column("seconds", "Time", (trial) => trial.seconds, (trial) => duration(trial.seconds)),
    column("attempts", "Attempts", (trial) => trial.attempts),
    column("parameters", "Weights", (trial) => trial.parameters),
    column("point", "Point", (trial) => trial.point),
    column("replicate", "Seed", (trial) => trial.replicate),
  ];
}

/** Those that are shown. */
export function chosen(all) {
  return all.filter(({ key }) => (choices.columns ? choices.columns.includes(key) : !HIDDEN.includes(key)));
}

/** A check for each column but the first; `changed()` after the reader chose. */
export function offerColumns(all, changed) {
  const box = find("column-checks");
  if (box.childElementCount === all.length - 1) return;
  const shown = new Set(chosen(all).map(({ key }) => key));
  const checks = all.slice(1).map(({ key, title }) => {
    const input = make("input", { type: "checkbox", checked: shown.has(key), value: key });
    input.addEventListener("change", () => {
      choices.columns = ["tid", ...[...box.querySelectorAll(":checked")].map((other) => other.value)];
      keep();
      changed();
    });
    return make("label", {}, input, ` ${title}`);
  });
  box.replaceChildren(...checks);
}
