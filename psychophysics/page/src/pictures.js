// Images of the trials: how they are laid out, and that all of them can be seen before a trial begins.

import { h, pause } from "./dom.js";

export function picture(url, alt, attributes = {}) {
  return h("img", { src: url, alt, draggable: "false", decoding: "sync", ...attributes });
}

/** Wait until every image below `root` is decoded; those that failed are asked for again, until they come. */
export function decoded(root, onTrouble) {
  return Promise.all([...root.querySelectorAll("img")].map((image) => decodedOne(image, onTrouble)));
}

async function decodedOne(image, onTrouble) {
  const url = image.getAttribute("src");
  for (let attempt = 0; ; attempt += 1) {
    try {
      await image.decode();
      if (attempt) onTrouble(null);
      return;
    } catch {
      const wait = Math.min(10_000, 500 * 2 ** attempt);
      onTrouble(wait / 1000);
      await pause(wait);
      image.src = "";
      image.src = url;
    }
  }
}

/** Favorite images in a square grid, three beside each other for nine. */
export function referenceGrid(urls, attributes = { class: "grid" }) {
  const grid = h(
    "div",
    attributes,
    urls.map((url, i) => picture(url, `Favorite ${i + 1} of ${urls.length}`)),
  );
  grid.style.setProperty("--columns", String(Math.ceil(Math.sqrt(urls.length))));
  return grid;
}

/** Where everything of a trial goes. `trial`: {references, base, left, right}; `left`, `right`: what stands under each
 * query; `question` above them, `extra` below. */
export function trialLayout(trial, { left = null, right = null, question = null, extra = null }) {
  const grid = trial.references.length ? referenceGrid(trial.references) : null;
  const base = h(
    "figure",
    { class: "base" },
    h("figcaption", {}, "Original image"),
    picture(trial.base, "Original image"),
  );
  const pair = h(
    "div",
    { class: "pair" },
    h("div", { class: "side", "data-side": "left" }, picture(trial.left, "Left image, partly covered"), left),
    h("div", { class: "side", "data-side": "right" }, picture(trial.right, "Right image, partly covered"), right),
  );
  return h(
    "div",
    { class: trial.references.length ? "trial" : "trial without-grid" },
    grid && h("div", { class: "favorites" }, h("h2", {}, "Favorite images of this unit"), grid),
    h("div", { class: "queries" }, base, question, pair, extra),
  );
}

/** Give the layout the shape of its images, once they are loaded: all of a trial have the same size. */
export function fitShape(layout) {
  const { naturalWidth: width, naturalHeight: height } = layout.querySelector(".base img");
  layout.style.setProperty("--shape", String(width / height));
}
