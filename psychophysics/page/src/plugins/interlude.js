// A short text between parts of the study, with a centred button.

import { ParameterType } from "jspsych";
import { h, heading, show } from "../dom.js";
import { continueButton } from "./continue_button.js";

export class Interlude {
  static info = {
    name: "interlude",
    version: "1.0.0",
    parameters: {
      title: { type: ParameterType.STRING },
      paragraphs: { type: ParameterType.STRING, array: true },
    },
    data: {},
  };

  /** Ends after Continue. */
  async trial(display, { title, paragraphs }, onLoad) {
    const { button, pressed } = continueButton("Continue", { focus: true });
    const words = [heading(title), ...paragraphs.map((text) => h("p", {}, text))];
    show(display, h("div", { class: "screen" }, h("div", { class: "centred" }, ...words, button)));
    onLoad();
    await pressed;
    return {};
  }
}
