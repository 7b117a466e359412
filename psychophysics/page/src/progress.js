// The line above a trial: which part of the study it is, and how far.

import { h } from "./dom.js";

/** `progress`: {title, position (from 0), of}. */
export function progressHeader({ title, position, of }) {
  return h(
    "header",
    { class: "progress" },
    h("span", {}, `${title}: image ${position + 1} of ${of}`),
    h("progress", { max: of, value: position, "aria-hidden": "true" }),
  );
}
