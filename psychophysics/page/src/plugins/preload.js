// All images of the session, before it begins: trials must not wait for the network.

import { ParameterType } from "jspsych";
import { h, heading, pause, show } from "../dom.js";

const AT_ONCE = 6;

export class Preload {
  static info = {
    name: "preload",
    version: "1.0.0",
    parameters: {
      images: { type: ParameterType.IMAGE, array: true },
      /** Called with seconds when an image does not come, and with null when it did. */
      trouble: { type: ParameterType.FUNCTION },
    },
    data: { images: { type: ParameterType.INT } },
  };

  /** Ends when every image is there. */
  async trial(display, { images, trouble }, onLoad) {
    const bar = h("progress", { max: images.length, value: 0, "aria-label": "Images loaded" });
    const count = h("p", { role: "status" });
    show(display, h("div", { class: "screen text" }, heading("Loading the images"), bar, count));
    onLoad();
    const waiting = [...images];
    const loadAll = async () => {
      for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
        await loaded(url, trouble);
        bar.value += 1;
        count.textContent = `${bar.value} of ${images.length}`;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, loadAll));
    return { images: images.length };
  }
}

const kept = []; // Holding them keeps the browser from dropping the decoded images.

async function loaded(url, trouble) {
  for (let attempt = 0; ; attempt += 1) {
    const image = new Image();
    image.src = url;
    try {
      await image.decode();
      kept.push(image);
      if (attempt) trouble(null);
      return;
    } catch {
      const wait = Math.min(10_000, 500 * 2 ** attempt);
      trouble(wait / 1000);
      await pause(wait);
    }
  }
}
