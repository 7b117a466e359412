// One trial: what it is, how it goes, and the end of its log.

import { columns } from "./columns.js";
import { find, make, NOTHING } from "./dom.js";
import { search } from "./search.js";

const AGAIN = 3000; // ms
let shown = null;
let timer = 0;

/** The trial that is open, or null. */
export const openTrial = () => shown;

/** Open it; `changed()` when it was opened or closed. */
export function showTrial(tid, changed) {
  shown = tid;
  const dialog = find("trial");
  find("trial-title").textContent = `Trial ${tid}`;
  find("trial-log").textContent = "";
  find("trial-log-link").href = `/log/${tid}`;
  refreshTrial();
  if (!dialog.open) dialog.showModal();
  dialog.onclose = () => {
    clearTimeout(timer);
    shown = null;
    changed();
  };
  readLog(tid);
  changed();
}

/** Fill it from the newest answer. */
export function refreshTrial() {
  const trial = search.trials.get(shown);
  if (!trial) return;
  const facts = columns([trial]).slice(1).filter(({ text }) => ![NOTHING, ""].includes(text(trial)));
  find("trial-facts").replaceChildren(...facts.map(({ title, text }) => make("div", {}, make("dt", {}, title), make("dd", {}, text(trial)))));
}

async function readLog(tid) {
  clearTimeout(timer);
  const box = find("trial-log"), atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
  let text;
  try {
    text = await (await fetch(`/log/${tid}`)).text();
  } catch {
    text = "hms serve does not answer";
  }
  if (shown !== tid) return;
  if (box.textContent !== text) box.textContent = text;
  if (atEnd) box.scrollTop = box.scrollHeight;
  if (["NEW", "RUNNING"].includes(search.trials.get(tid)?.state)) timer = setTimeout(() => readLog(tid), AGAIN);
}
