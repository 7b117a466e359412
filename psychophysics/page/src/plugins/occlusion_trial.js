// One trial: which of two partly covered copies of an image is more favored by the unit, and how sure a person is.

import { ParameterType } from "jspsych";
import { drawn, h, heading, show, whileShown } from "../dom.js";
import { decoded, fitShape, trialLayout } from "../pictures.js";
import { progressHeader } from "../progress.js";
import { continueButton } from "./continue_button.js";

/** Buttons from left to right, as they are stored: -3 = left image, very sure; 1 = right image, unsure. */
export const BUTTONS = [-3, -2, -1, 1, 2, 3];
const CONFIDENCE = { 1: "unsure", 2: "somewhat sure", 3: "very sure" };

export class OcclusionTrial {
  static info = {
    name: "occlusion-trial",
    version: "1.0.0",
    parameters: {
      /** {id, references: [urls], base, left, right} */
      trial: { type: ParameterType.OBJECT },
      /** Where in the study it is: {title, position, of}; see progress.js. */
      progress: { type: ParameterType.OBJECT },
      /** Whether the person is told what was correct. */
      practice: { type: ParameterType.BOOL },
      /** Called with the time (ms, clock of performance.now) when the trial is on the screen. */
      shown: { type: ParameterType.FUNCTION },
      /** Called with (button, time of the answer, reaction time in ms); its promise holds {feedback} or {}. */
      answered: { type: ParameterType.FUNCTION },
      /** Called with seconds when an image does not come, and with null when it did. */
      trouble: { type: ParameterType.FUNCTION },
    },
    data: {
      button: { type: ParameterType.INT },
      rt: { type: ParameterType.INT },
    },
  };

  /** Ends after Continue. */
  async trial(display, { trial, progress, practice, shown, answered, trouble }, onLoad) {
    const question = heading("Which image is more favored?", "h2");
    const layout = trialLayout(trial, {
      question,
      left: buttonRow("left", BUTTONS.slice(0, 3)),
      right: buttonRow("right", BUTTONS.slice(3)),
      extra: h("p", { class: "scale" }, "3 = very sure · 2 = somewhat sure · 1 = unsure"),
    });
    const screen = h("div", { class: "screen waiting" }, progressHeader(progress), layout);
    show(display, screen);
    await decoded(layout, trouble);
    fitShape(layout);
    screen.classList.remove("waiting");
    const start = await drawn();
    question.focus({ preventScroll: true });
    shown(start);
    onLoad();
    const { button, time } = await firstChoice(screen);
    const rt = time - start;
    const confirmed = answered(button, time, rt);
    if (practice) await feedbackOf(confirmed, layout);
    else await betweenTrials(display, progress);
    await confirmed;
    return { button, rt: Math.round(rt) };
  }
}

function buttonRow(side, buttons) {
  return h(
    "div",
    { class: "buttons", role: "group", "aria-label": `The ${side} image is more favored` },
    buttons.map((button) => {
      const confidence = Math.abs(button);
      const label = `${side} image, confidence ${confidence} of 3: ${CONFIDENCE[confidence]}`;
      return h(
        "button",
        { type: "button", "data-button": button, "aria-label": label, disabled: true },
        String(confidence),
      );
    }),
  );
}

/** The first click on a button, or the first of the keys 1 to 6: {button, time}. All that follow are ignored. */
function firstChoice(screen) {
  return new Promise((resolve) => {
    const elements = screen.querySelectorAll("[data-button]");
    const choose = (button, time) => {
      for (const element of elements) element.disabled = true;
      screen.classList.add("answered");
      screen.querySelector(`[data-button="${button}"]`).classList.add("chosen");
      resolve({ button, time });
    };
    for (const element of elements) {
      element.disabled = false;
      element.addEventListener("click", (event) => choose(Number(element.dataset.button), event.timeStamp));
    }
    whileShown(screen, "keydown", (event) => {
      const index = "123456".indexOf(event.key);
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || index < 0 || event.key.length > 1) return;
      choose(BUTTONS[index], event.timeStamp);
    });
  });
}

async function betweenTrials(display, progress) {
  const { button, pressed } = continueButton("Continue", { focus: true });
  show(display, h("div", { class: "screen" }, progressHeader(progress), h("div", { class: "centred" }, button)));
  await pressed;
}

async function feedbackOf(confirmed, layout) {
  const { feedback } = await confirmed;
  if (!feedback) return; // It was given before the page was loaded again.
  const { button: next, pressed } = continueButton("Continue", { focus: true });
  const right = feedback.target_side;
  layout.querySelector(`[data-side="${right}"]`).classList.add("target");
  const words = feedback.correct ? "✓ Correct." : "✗ Not correct.";
  const verdict = h(
    "p",
    { class: feedback.correct ? "verdict right" : "verdict wrong", role: "status" },
    h("strong", {}, words),
    ` It is the ${right} image.`,
  );
  layout.querySelector(".scale").replaceWith(h("div", { class: "feedback" }, verdict, next));
  await pressed;
}
