// Reaction times, buttons and sides, in the style of the figures of a report.

import { find, percent, plain } from "./dom.js";

const OPTIONS = { displaylogo: false, responsive: true, displayModeBar: false };
const axis = (text, more) => ({ title: { text, standoff: 8, font: { size: 12 } }, gridcolor: "@grid", linecolor: "@grid", zerolinecolor: "@grid", tickcolor: "@grid", automargin: true, fixedrange: true, ...more });
const LAYOUT = {
  height: 260, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, bargap: 0.08,
  font: { color: "@ink", size: 13, family: "system-ui, -apple-system, Segoe UI, sans-serif" },
  hoverlabel: { bgcolor: "@paper", bordercolor: "@muted", font: { color: "@ink" } },
  margin: { l: 48, r: 8, t: 12, b: 44 },
};
/** An axis of counts: whole numbers only. */
const countAxis = (text, counts) => axis(text, { rangemode: "tozero", ...(Math.max(...counts) < 6 ? { dtick: 1 } : {}) });
let drawn = "";

/** Draw what has changed. */
export async function charts({ answers }) {
  const now = JSON.stringify([answers, matchMedia("(prefers-color-scheme: dark)").matches]);
  find("no-answers").hidden = answers.count > 0;
  find("panels").hidden = !answers.count;
  if (now === drawn || !answers.count || !window.Plotly) return;
  drawn = now;
  await times(answers.times);
  await buttons(answers);
  await sides(answers.left_shares);
}

function times({ width_s: width, counts, median_s: median }) {
  const last = counts.length - 1;
  const x = counts.map((_, index) => (index + 0.5) * width);
  const words = counts.map((count, index) => `${plain(index * width)}${index < last ? `–${plain((index + 1) * width)}` : " or more"} s: ${count}`);
  const ticks = counts.map((_, index) => index * width).filter((tick) => tick % 5 === 0);
  find("times-caption").textContent = `Median ${median.toFixed(1)} s. The last bar holds all of ${plain(last * width)} s or more.`;
  return draw("times", [{ type: "bar", x, y: counts, width, marker: { color: "@hms", line: { color: "@paper", width: 1 } }, text: words, textposition: "none", hovertemplate: "%{text}<extra></extra>" }], {
    xaxis: axis("From rendering to click (s)", { tickvals: ticks, ticktext: ticks.map((tick) => (tick === last * width ? `≥ ${tick}` : String(tick))) }),
    yaxis: countAxis("Answers", counts),
  });
}

function buttons({ buttons: counts, count, target_left: target }) {
  const names = ["3", "2", "1", " 1", " 2", " 3"]; // other texts for the right side, or plotly would stack both
  const left = counts.slice(0, 3).reduce((a, b) => a + b, 0) / count;
  find("buttons-caption").textContent = `Confidence from 3 down to 1 left, from 1 up to 3 right. ${percent(left)} of ${count} answers are left, where ${percent(target)} are correct.`;
  return draw("buttons", [{ type: "bar", x: names, y: counts, marker: { color: ["@hms", "@hms", "@hms", "@mse", "@mse", "@mse"] }, hovertemplate: "%{y}<extra></extra>" }], {
    xaxis: axis("Left                         Right", { type: "category" }),
    yaxis: countAxis("Answers", counts),
  });
}

function sides(counts) {
  const width = 100 / counts.length;
  const x = counts.map((_, index) => (index + 0.5) * width);
  find("sides-caption").textContent = "Finished participants by their share of answers on the left; at 0 and 100 % are those who chose one side only.";
  return draw("sides", [{ type: "bar", x, y: counts, width, marker: { color: "@accuracy", line: { color: "@paper", width: 1 } }, hovertemplate: "%{y}<extra></extra>" }], {
    xaxis: axis("Answers on the left (%)", { range: [0, 100], dtick: 25 }),
    yaxis: countAxis("Participants", counts),
  });
}

const draw = (id, data, more) => window.Plotly.react(find(id), painted(data), painted({ ...LAYOUT, ...more }), OPTIONS);

/** Colour tokens such as "@hms" become the values of the scheme in use. */
function painted(value) {
  const style = getComputedStyle(document.documentElement);
  const paint = (item) => {
    if (typeof item === "string") return /^@[a-z]+$/.test(item) ? style.getPropertyValue(`--${item.slice(1)}`).trim() : item;
    if (Array.isArray(item)) return item.map(paint);
    return item && typeof item === "object" ? Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, paint(inner)])) : item;
  };
  return paint(value);
}
