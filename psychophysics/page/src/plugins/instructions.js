// What the task is, with one worked example. The words differ where no favorite images are shown.

import { ParameterType } from "jspsych";
import { h, heading, show } from "../dom.js";
import { decoded, fitShape, picture, referenceGrid, trialLayout } from "../pictures.js";
import { continueButton } from "./continue_button.js";

export class Instructions {
  static info = {
    name: "instructions",
    version: "1.0.0",
    parameters: {
      /** A trial with target_side. */
      example: { type: ParameterType.OBJECT },
      counts: { type: ParameterType.OBJECT },
      trouble: { type: ParameterType.FUNCTION },
      /** Called when the first page is on the screen. */
      shown: { type: ParameterType.FUNCTION },
    },
    data: {},
  };

  /** Ends after the last page. One can go back. */
  async trial(display, { example, counts, trouble, shown }, onLoad) {
    const pages = [favorites, covered, workedExample, answering];
    for (let page = 0; page < pages.length;) {
      page += await this.#page(display, pages[page](example, counts), page, pages.length, trouble, () => {
        if (page === 0) {
          shown();
          onLoad();
        }
      });
    }
    return {};
  }

  async #page(display, content, page, of, trouble, onShown) {
    const last = page === of - 1;
    const { button: next, pressed } = continueButton(last ? "Start" : "Next", { focus: true });
    const back = h("button", { type: "button", class: "quiet" }, "Back");
    const navigation = h(
      "nav",
      { "aria-label": "Pages of the instructions" },
      page > 0 && back,
      h("span", {}, `Page ${page + 1} of ${of}`),
      next,
    );
    show(display, h("div", { class: "screen instructions" }, content, navigation));
    await decoded(display, trouble);
    for (const layout of display.querySelectorAll(".trial")) fitShape(layout);
    onShown();
    const turned = new Promise((resolve) => back.addEventListener("click", () => resolve(-1)));
    return Promise.race([pressed.then(() => 1), turned]);
  }
}

function favorites(example) {
  const known = example.references.length > 0;
  return h(
    "div",
    { class: "words-and-picture" },
    h(
      "div",
      {},
      heading("What is it about?"),
      h("p", {}, "A computer program has learned to look at images. It consists of many small parts, called units."),
      h(
        "p",
        {},
        "Each unit has favorite images: it reacts strongly when something that it likes is in an image, such as ",
        "a texture, a shape, or a thing. It reacts weakly to other images.",
      ),
      known
        ? h(
            "p",
            {},
            "Here are favorite images of one unit. Look for what they have in common: that is what this unit likes.",
          )
        : h("p", {}, "You are not told what a unit likes. Go by what you see in the images and by your intuition."),
    ),
    known && referenceGrid(example.references, { class: "grid small" }),
  );
}

function covered(example) {
  const shown = [
    ["Original image", example.base],
    ["A part is covered", example.left],
    ["Another part is covered", example.right],
  ];
  return h(
    "div",
    {},
    heading("What will you see?"),
    h("p", {}, "You see an image, and two copies of it. In each copy a square part is covered with a plain color."),
    h(
      "div",
      { class: "row" },
      shown.map(([caption, url]) => h("figure", {}, picture(url, caption), h("figcaption", {}, caption))),
    ),
    h(
      "p",
      {},
      "When the square covers what the unit likes, the unit reacts less. When it covers something else, the unit ",
      "reacts as before, or even more. ",
      h("strong", {}, "The copy to which the unit reacts more is the more favored one."),
    ),
  );
}

function workedExample(example) {
  const side = example.target_side;
  const other = side === "left" ? "right" : "left";
  const known = example.references.length > 0;
  const layout = trialLayout(example, {
    question: h("h2", {}, "Which image is more favored?"),
    extra: h(
      "p",
      { class: "verdict right" },
      h("strong", {}, `Here it is the ${side} image.`),
      known
        ? ` The square in the ${other} image covers more of what the favorite images have in common.`
        : ` The square in the ${other} image covers more of what this unit likes.`,
    ),
  });
  layout.querySelector(`[data-side="${side}"]`).classList.add("target");
  return h("div", {}, heading("An example"), layout);
}

function answering(example, counts) {
  const buttons = (numbers) =>
    h(
      "span",
      { class: "buttons shown" },
      numbers.map((number) => h("span", { class: "key" }, number)),
    );
  const practice =
    counts.practice > 0
      ? `First you practice with ${counts.practice} images, and are told after each whether you were correct. When ` +
        "all are correct, the main part follows; otherwise you practice again. In the main part there are " +
        `${counts.main} images, and you are not told.`
      : `There are ${counts.main} images. You are not told whether you were correct.`;
  return h(
    "div",
    {},
    heading("How do you answer?"),
    h(
      "p",
      {},
      "Below each copy are three buttons. Click below the copy that you think is more favored. ",
      "The number says how sure you are:",
    ),
    h(
      "div",
      { class: "explained-buttons" },
      h("div", {}, buttons(["3", "2", "1"]), h("p", {}, "the left image")),
      h("div", {}, buttons(["1", "2", "3"]), h("p", {}, "the right image")),
    ),
    h(
      "p",
      {},
      h("strong", {}, "3"),
      " very sure · ",
      h("strong", {}, "2"),
      " somewhat sure · ",
      h("strong", {}, "1"),
      " unsure. There is always one correct answer: if you do not know, choose the more likely one.",
    ),
    h("p", {}, "You can also press the keys 1 to 6, from the leftmost button to the rightmost, and Enter to continue."),
    h("p", {}, practice, " Please answer without long breaks."),
  );
}
