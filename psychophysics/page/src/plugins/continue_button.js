// The button that goes on. It is deaf for a moment, so that the second click of a double click does not press it.

import { h } from "../dom.js";

const DEAF_MS = 250;

/** {button, pressed}: `pressed` resolves once, when it was pressed with the mouse, Enter or Space. */
export function continueButton(text = "Continue") {
  const button = h("button", { type: "button", class: "continue" }, text);
  const from = performance.now() + DEAF_MS;
  const pressed = new Promise((resolve) => {
    button.addEventListener("click", (event) => {
      if (event.timeStamp < from) return;
      button.disabled = true;
      resolve();
    });
    // A key that is held down does not rush through the study.
    button.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
  });
  return { button, pressed };
}
