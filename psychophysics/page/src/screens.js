// Screens before and after the experiment, and those that end it early.

import { h, heading, show } from "./dom.js";
import { continueButton } from "./plugins/continue_button.js";

/** Resolves with true (agreed) or false. */
export async function consent(place, study) {
  const { title, paragraphs, contact } = study.consent;
  const { button: agree, pressed } = continueButton("I agree", { asleep: 0 });
  const decline = h("button", { type: "button", class: "quiet" }, "I do not agree");
  show(
    place,
    h(
      "div",
      { class: "screen text" },
      h("p", { class: "study-title" }, study.title),
      heading(title),
      study.rehearsal && h("p", {}, h("strong", {}, "This is a rehearsal: its answers are not part of the study.")),
      paragraphs.map((text) => h("p", {}, text)),
      h("p", {}, "Contact: ", contact),
      h("p", { class: "choices" }, agree, decline),
    ),
  );
  const declined = new Promise((resolve) => decline.addEventListener("click", () => resolve(false)));
  return Promise.race([pressed.then(() => true), declined]);
}

/** A last word: a title, paragraphs, and perhaps buttons [text, function]. */
export function farewell(place, title, paragraphs, ...buttons) {
  show(
    place,
    h(
      "div",
      { class: "screen text" },
      heading(title),
      paragraphs.map((text) => h("p", {}, text)),
      buttons.map(([text, onclick]) => h("p", {}, h("button", { type: "button", class: "continue", onclick }, text))),
    ),
  );
}

/** The end: completion code, withdrawal code. `onAnother`: on a computer of the laboratory, the next participant. */
export function done(place, study, session, state, onAnother) {
  const { code, url } = state.completion ?? {};
  const thanks = state.practice_failed
    ? "No round of the practice was without a mistake, so there is no main part. This counts as full participation."
    : "Your answers are stored.";
  show(
    place,
    h(
      "div",
      { class: "screen text" },
      heading("Thank you for taking part"),
      h("p", {}, thanks),
      code &&
        h(
          "section",
          { class: "code" },
          h("h2", {}, "Completion code"),
          h("p", {}, h("code", { id: "completion-code" }, code), copyButton(code)),
          h("p", {}, "Enter this code where you were invited, to show that you took part."),
        ),
      url && h("p", {}, h("a", { class: "continue", href: url }, "Return with this code")),
      h(
        "section",
        { class: "code" },
        h("h2", {}, "Withdrawal code"),
        h("p", {}, h("code", { id: "withdrawal-code" }, session.withdrawal_code), copyButton(session.withdrawal_code)),
        h(
          "p",
          {},
          "Keep this code if you may want your answers erased later: enter it ",
          h("a", { href: "/withdraw", target: "_blank", rel: "noopener" }, "on this page"),
          ". It is shown only here.",
        ),
      ),
      h("p", {}, "Questions: ", study.consent.contact),
      onAnother &&
        h(
          "p",
          {},
          h("button", { type: "button", class: "quiet", onclick: onAnother }, "Start for another participant"),
        ),
    ),
  );
}

function copyButton(code) {
  if (!navigator.clipboard) return null; // Browsers offer it on secure pages only.
  const button = h("button", { type: "button", class: "quiet" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code);
    button.textContent = "Copied";
  });
  return button;
}
