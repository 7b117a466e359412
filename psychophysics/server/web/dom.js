// Elements and texts. Nothing that participants sent is ever parsed as HTML: texts become text nodes.

export const NOTHING = "–";

export const find = (id) => document.getElementById(id);

/** An element with properties (`class`, `aria-...` and `scope` as attributes), styles, and children, texts or elements. */
export function make(tag, { style = {}, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  for (const [key, value] of Object.entries(style)) element.style.setProperty(key, value);
  element.append(...children);
  return element;
}

/** A number without needless digits. */
export const plain = (value) => String(Number(value.toPrecision(3)));

/** A share as a percentage; the dash for none. */
export const percent = (share) => (share === null || share === undefined ? NOTHING : `${(100 * share).toFixed(0)} %`);

/** Seconds in the unit that suits them. */
export function duration(seconds) {
  const [from, unit] = seconds >= 5400 ? [3600, "h"] : seconds >= 120 ? [60, "min"] : [1, "s"];
  return `${(seconds / from).toFixed(unit === "h" ? 1 : 0)} ${unit}`;
}
