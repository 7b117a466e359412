// Who can take part: a computer with a window that is large enough, now and during the whole study.

import { h } from "./dom.js";

/** Telephones and tablets; an iPad calls itself a Mac, but has a touch screen. */
export function isMobile() {
  const { userAgent, userAgentData, maxTouchPoints } = navigator;
  if (userAgentData) return userAgentData.mobile || /Android/.test(userAgent);
  return /Mobi|Android|iPhone|iPad|iPod|Tablet/.test(userAgent) || (/Macintosh/.test(userAgent) && maxTouchPoints > 1);
}

/** Cover the page while the window is smaller than `minimum` {width, height}, CSS pixels. `onChange(largeEnough)`. */
export function watchSize(minimum, cover, onChange) {
  let before = null;
  const check = () => {
    const { innerWidth: width, innerHeight: height } = window;
    const enough = width >= minimum.width && height >= minimum.height;
    document.querySelector("#stage").inert = !enough;
    cover.hidden = enough;
    if (!enough) cover.replaceChildren(...tooSmall(minimum, width, height));
    if (before !== null && before !== enough) onChange(enough);
    before = enough;
  };
  window.addEventListener("resize", check);
  check();
  return () => before;
}

function tooSmall(minimum, width, height) {
  return [
    h("h1", {}, "Please make this window larger"),
    h("p", {}, `The images need a window of at least ${minimum.width} × ${minimum.height} pixels.`),
    h(
      "p",
      {},
      `Now it has ${width} × ${height}. Enlarge it, or zoom out (Ctrl and −). The study goes on by itself then.`,
    ),
  ];
}
