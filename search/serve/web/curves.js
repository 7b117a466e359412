// The metrics over epochs, one panel each, of the trials that are shown: as in a report, with running ones set apart.

import { find, make } from "./dom.js";
import { glyph } from "./columns.js";
import { search, settings } from "./search.js";

const ALL_UP_TO = 300, BEST = 20, LEAST_OF_A_BAND = 10;
const BANDS = [[0.1, 0.9, 0.15], [0.25, 0.75, 0.3]];
const OPTIONS = { displaylogo: false, responsive: true, displayModeBar: "hover", modeBarButtons: [["zoom2d", "pan2d", "autoScale2d", "toImage"]] };
const guide = settings.metrics.find(({ name }) => name === settings.guide);
let drawn = ""; // what was drawn last: trials, their curves, the one that is open

/** Draw the curves of these trials; `selected` stands out; `open(tid)` when one is clicked. */
export async function showCurves(trials, selected, open) {
  const evaluated = trials.filter(({ tid }) => search.curves.get(tid)?.epoch.length);
  const chosen = evaluated.length > ALL_UP_TO ? single(evaluated, selected) : evaluated;
  const lengths = evaluated.map(({ tid, state, finish }) => [tid, search.curves.get(tid).epoch.length, state, finish]);
  const now = JSON.stringify([lengths, selected, scheme()]);
  if (now === drawn || !window.Plotly) return;
  drawn = now;
  find("no-curves").hidden = evaluated.length > 0;
  find("panels").hidden = find("legend").hidden = !evaluated.length;
  const all = chosen === evaluated ? "" : `Of ${evaluated.length} trials: quantiles (10, 25, 75 and 90 %) of each epoch that ${LEAST_OF_A_BAND} or more reached, and as lines the running ones and the ${BEST} best by ${guide.short}. `;
  find("curves-caption").textContent = evaluated.length ? `${all}A mark ends each line of a trial that ended. Choose a point to see its trial.` : "";
  legend(chosen);
  for (const metric of settings.metrics) {
    const box = panel(metric, open), y = metric.name;
    const values = evaluated.flatMap(({ tid }) => search.curves.get(tid)[y].filter((value) => value !== null));
    box.parentElement.hidden = !values.length;
    if (!values.length) continue;
    const bands = chosen === evaluated ? [] : bandTraces(evaluated, metric);
    await Plotly.react(box, painted([...bands, ...traces(chosen, metric, selected)]), painted(layout(metric, values)), OPTIONS);
  }
}

const scheme = () => matchMedia("(prefers-color-scheme: dark)").matches;

function single(trials, selected) {
  const value = ({ tid }) => search.curves.get(tid)[guide.name].findLast((number) => number !== null) ?? -Infinity * guide.sign;
  const best = new Set([...trials].sort((a, b) => guide.sign * (value(b) - value(a))).slice(0, BEST));
  return trials.filter((trial) => best.has(trial) || trial.state === "RUNNING" || trial.tid === selected);
}

function panel(metric, open) {
  const id = `panel-${metric.name}`;
  if (!find(id)) {
    const box = make("div", { class: "plot", id, role: "img", "aria-label": `${metric.short} over epochs; the values are in the table of trials` });
    find("panels").append(make("figure", {}, make("h3", {}, metric.short, " ", make("small", {}, metric.direction)), box));
    Plotly.newPlot(box, [], {}, OPTIONS).then(() => box.on("plotly_click", ({ points }) => points[0].customdata !== undefined && open(points[0].customdata)));
  }
  return find(id);
}

function layout(metric, values) {
  const lowest = values.reduce((a, b) => Math.min(a, b)), highest = values.reduce((a, b) => Math.max(a, b));
  const wide = metric.name === "mse" && lowest > 0 && highest > 5 * lowest;
  const titled = (text, more) => ({ ...settings.axis, title: { ...settings.axis.title, text }, ...more });
  const y = titled(metric.axis, wide ? { type: "log", ...decades(lowest, highest) } : {});
  return { ...settings.layout, uirevision: "kept", xaxis: titled("Epoch", { rangemode: "tozero" }), yaxis: y };
}

function decades(lowest, highest) {
  const ticks = [];
  for (let decade = Math.floor(Math.log10(lowest)); decade <= Math.ceil(Math.log10(highest)); decade++) ticks.push(...[1, 2, 5].map((step) => step * 10 ** decade));
  return { tickvals: ticks, ticktext: ticks.map((tick) => String(Number(tick.toPrecision(6)))) };
}

function traces(trials, metric, selected) {
  const others = trials.filter(({ tid }) => tid !== selected);
  const line = (color, width, opacity) => ({ mode: "lines", opacity, line: { color, width } });
  const found = [
    { ...points(others.filter(({ state }) => state !== "RUNNING"), metric), ...line(metric.colour, 1, 0.45) },
    { ...points(others.filter(({ state }) => state === "RUNNING"), metric), ...line("@ink", 1.3, 0.8), mode: "lines+markers", marker: { size: 4, color: "@ink" } },
    { ...points(trials.filter(({ tid }) => tid === selected), metric), ...line("@accent", 3, 1) },
  ];
  for (const [finish, { symbol }] of Object.entries(settings.finishes)) {
    const ended = trials.filter((trial) => trial.finish === finish);
    if (ended.length) found.push({ ...points(ended, metric, true), mode: "markers", cliponaxis: false, marker: { symbol, size: 8, color: metric.colour, line: { width: 1.2, color: metric.colour } } });
  }
  return found;
}

/** All curves in one trace with a gap after each, or the last point of each. */
function points(trials, metric, last = false) {
  const x = [], y = [], customdata = [], text = [];
  for (const { tid, finish } of trials) {
    const curve = search.curves.get(tid), values = curve[metric.name];
    const words = `trial ${tid}${finish ? ", " + (settings.finishes[finish]?.words ?? finish) : ""}`;
    const defined = values.map((value, index) => index).filter((index) => values[index] !== null);
    for (const index of last ? defined.slice(-1) : defined) {
      x.push(curve.epoch[index]);
      y.push(values[index]);
      customdata.push(tid);
      text.push(words);
    }
    if (!last) for (const list of [x, y, customdata, text]) list.push(null);
  }
  return { type: "scatter", x, y, customdata, text, hovertemplate: "%{text}<br>epoch %{x}: %{y:.4g}<extra></extra>", connectgaps: false };
}

function bandTraces(trials, metric) {
  const byEpoch = new Map();
  for (const { tid } of trials) {
    const curve = search.curves.get(tid);
    curve[metric.name].forEach((value, index) => {
      if (value === null) return;
      if (!byEpoch.has(curve.epoch[index])) byEpoch.set(curve.epoch[index], []);
      byEpoch.get(curve.epoch[index]).push(value);
    });
  }
  const rows = [...byEpoch].filter(([, values]) => values.length >= LEAST_OF_A_BAND).sort(([a], [b]) => a - b);
  for (const [, values] of rows) values.sort((a, b) => a - b);
  const epochs = rows.map(([epoch]) => epoch);
  return BANDS.map(([low, high, opacity]) => {
    const ends = [low, high].map((q) => rows.map(([, values]) => quantile(values, q)));
    return { type: "scatter", mode: "lines", x: [...epochs, ...epochs.toReversed()], y: [...ends[0], ...ends[1].toReversed()], fill: "toself", fillcolor: metric.colour, opacity, line: { width: 0 }, hoverinfo: "skip" };
  });
}

/** Of sorted values, with linear interpolation. */
function quantile(values, q) {
  const at = (values.length - 1) * q, below = Math.floor(at);
  return values[below] + (at - below) * ((values[below + 1] ?? values[below]) - values[below]);
}

function legend(trials) {
  const items = Object.keys(settings.finishes).filter((finish) => trials.some((trial) => trial.finish === finish));
  const entries = items.map((finish) => make("li", {}, make("span", { class: `mark ${finish}`, "aria-hidden": "true" }, glyph(finish)), ` ${settings.finishes[finish].words}`));
  if (trials.some(({ state }) => state === "RUNNING")) entries.push(make("li", {}, make("span", { class: "line", "aria-hidden": "true" }), " still running"));
  find("legend").replaceChildren(...entries);
}

/** Colour tokens such as "@hms" become the values of the scheme in use. */
function painted(value) {
  const style = getComputedStyle(document.documentElement);
  const paint = (item) => {
    if (typeof item === "string") return /^@[a-z]+$/.test(item) ? style.getPropertyValue(`--${item.slice(1)}`).trim() : item;
    if (Array.isArray(item)) return typeof item[0] === "object" && item[0] !== null ? item.map(paint) : item;
    return item && typeof item === "object" ? Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, paint(inner)])) : item;
  };
  return paint(value);
}
