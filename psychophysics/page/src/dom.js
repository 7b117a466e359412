// Elements and listeners, without HTML from strings: nothing that a configuration says can become markup.

/** An element: h("p", { class: "text", onclick: f }, "words", child, [more]); null and false children are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Show one screen in `place`, from its top, with the focus where a person reads first. */
export function show(place, ...screen) {
  place.replaceChildren(...screen);
  window.scrollTo(0, 0);
  place.querySelector("[data-focus]")?.focus({ preventScroll: true });
}

/** A heading that can take the focus, so that a screen reader begins there. */
export function heading(text, level = "h1") {
  return h(level, { tabindex: "-1", "data-focus": true }, text);
}

/** Listen on the whole document for as long as `root` is shown. */
export function whileShown(root, type, handler) {
  const listener = (event) => {
    if (root.isConnected) handler(event);
    else document.removeEventListener(type, listener);
  };
  document.addEventListener(type, listener);
}

/** Resolves after the next picture of the screen was drawn, with its time (ms, the clock of performance.now). */
export function drawn() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
