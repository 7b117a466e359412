// Puts the parts together: what changed is drawn again, whether the search changed it or the reader.

import { filtered, keep, shows } from "./choices.js";
import { showCurves } from "./curves.js";
import { find } from "./dom.js";
import { offer, onClear } from "./filters.js";
import { follow, search } from "./search.js";
import { outage, showSummary } from "./summary.js";
import { showTable } from "./table.js";
import { openTrial, refreshTrial, showTrial } from "./trial.js";

async function draw() {
  const known = [...search.trials.values()].sort((a, b) => a.tid - b.tid);
  const trials = known.filter(shows);
  offer(known, draw);
  find("shown").textContent = filtered() ? `${trials.length} of ${known.length} trials are shown.` : `All ${known.length} trials are shown.`;
  showTable(trials, known, open, draw);
  links(trials.map(({ tid }) => tid));
  refreshTrial();
  await showCurves(trials, openTrial(), open);
  document.documentElement.dataset.ready = "true";
}

const open = (tid) => showTrial(tid, draw);

/** The downloads hold what is shown. */
function links(tids) {
  const query = filtered() ? `?tid=${spans(tids)}` : "";
  find("trials-csv").href = `/download/trials.csv${query}`;
  find("epochs-csv").href = `/download/epochs.csv${query}`;
}

/** `0-5,7` of sorted numbers. */
function spans(tids) {
  const found = [];
  for (const tid of tids) {
    const last = found.at(-1);
    if (last && last[1] === tid - 1) last[1] = tid;
    else found.push([tid, tid]);
  }
  return found.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join();
}

keep(); // the token leaves the address
onClear(draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
follow(
  (tids) => {
    showSummary();
    if (tids.length || !document.documentElement.dataset.ready) return draw();
  },
  (why) => outage(why),
);
