// Waits until the server has all events and has said what comes next.

import { ParameterType } from "jspsych";
import { h, show } from "../dom.js";

export class Confirmed {
  static info = {
    name: "confirmed",
    version: "1.0.0",
    parameters: { confirm: { type: ParameterType.FUNCTION } },
    data: {},
  };

  async trial(display, { confirm }, onLoad) {
    show(display, h("div", { class: "screen" }, h("div", { class: "centred" }, h("p", {}, "One moment …"))));
    onLoad();
    await confirm();
    return {};
  }
}
