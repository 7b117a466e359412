// Free text at the end; both questions may be left empty.

import { ParameterType } from "jspsych";
import { h, heading, show } from "../dom.js";

const QUESTIONS = {
  strategy: "How did you decide between the two images? Did you use a strategy?",
  comments: "Was anything unclear, or did anything not work? Other comments?",
};
const LONGEST = 2000;

export class Questions {
  static info = {
    name: "questions",
    version: "1.0.0",
    parameters: {
      /** Called with {strategy, comments}; its promise ends when the server has them. */
      answered: { type: ParameterType.FUNCTION },
    },
    data: {},
  };

  /** Ends when the answers are stored. */
  async trial(display, { answered }, onLoad) {
    const fields = Object.entries(QUESTIONS).map(([name, text]) =>
      h("p", {}, h("label", { for: name }, text), h("textarea", { id: name, name, rows: 4, maxlength: LONGEST })),
    );
    const send = h("button", { type: "submit", class: "continue" }, "Finish");
    const form = h(
      "form",
      { class: "screen text" },
      heading("Two last questions"),
      h("p", {}, "You may leave them empty."),
      fields,
      send,
    );
    show(display, form);
    onLoad();
    await new Promise((resolve) =>
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        send.disabled = true;
        resolve();
      }),
    );
    const words = new FormData(form);
    await answered(Object.fromEntries(Object.keys(QUESTIONS).map((name) => [name, words.get(name).trim()])));
    return {};
  }
}
