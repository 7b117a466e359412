// Elements and texts. Nothing of a search is ever parsed as HTML: texts become text nodes.

export const NOTHING = "–";

export const find = (id) => document.getElementById(id);

/** An element with properties (`class`, `aria-...` and `data-...` as attributes) and children, texts or elements. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") element.className = value;
    else if (key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

/** A number with so many digits after the point. */
export const fixed = (value, digits) => (value === null || value === undefined ? NOTHING : value.toFixed(digits).replace("-", "−"));

/** A hyperparameter: three significant digits where it has more; texts as they are. */
export function plain(value) {
  if (value === null || value === undefined) return NOTHING;
  if (typeof value !== "number") return String(value);
  const short = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
  return short.replace("-", "−");
}

/** A point in time of the server, in the time zone of the reader. */
export function moment(value) {
  return value ? new Date(value).toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" }) : NOTHING;
}

/** Seconds in the unit that suits them. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  const units = [[2 * 86400, 86400, "d"], [5400, 3600, "h"], [120, 60, "min"]];
  const found = units.find(([from]) => seconds >= from);
  return found ? `${(seconds / found[1]).toFixed(1)} ${found[2]}` : `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}
