// The button that goes on. It wakes up after a moment, so that the second click of a double click does not press it.

import { h, whileShown } from "../dom.js";

const ASLEEP_MS = 250;

/** {button, pressed}: `pressed` resolves once, when it was pressed with the mouse, Enter or Space. `focus`: it takes
 * the focus as soon as it can be pressed, and the keys even when a click beside it has taken the focus away. */
export function continueButton(text = "Continue", { focus = false, asleep = ASLEEP_MS } = {}) {
  const button = h("button", { type: "button", class: "continue", disabled: asleep > 0 }, text);
  setTimeout(() => {
    button.disabled = false;
    if (focus) button.focus();
  }, asleep);
  if (focus) {
    whileShown(button, "keydown", (event) => {
      const elsewhere = event.target.closest("button, a, textarea");
      if ((event.key === "Enter" || event.key === " ") && !event.repeat && !elsewhere) button.click();
    });
  }
  const pressed = new Promise((resolve) => {
    button.addEventListener("click", () => {
      button.disabled = true;
      resolve();
    });
    // A key that is held down does not rush through the study.
    button.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
  });
  return { button, pressed };
}
