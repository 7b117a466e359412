// The search as far as it is known here, kept up to date by asking for what changed.

const WHILE_RUNNING = 2000, ONCE_FINISHED = 10000; // ms

export const settings = JSON.parse(document.getElementById("settings").textContent);
export const search = { trials: new Map(), curves: new Map(), summary: null, revision: "", trouble: null };

/** Calls `changed(tids)` after every answer, and `silent(why)` when this page's server does not answer. */
export async function follow(changed, silent) {
  for (;;) {
    try {
      const response = await fetch(`/api/changes?since=${search.revision}`);
      if (!response.ok) throw new Error(await response.text());
      changed(take(await response.json()));
    } catch (error) {
      if (!(error instanceof TypeError)) console.warn(error);
      silent(error instanceof TypeError ? "hms serve does not answer: it was ended, or this machine cannot reach it." : error.message);
    }
    await pause(search.summary?.finished ? ONCE_FINISHED : WHILE_RUNNING);
  }
}

function take(answer) {
  if (answer.whole) {
    search.trials.clear();
    search.curves.clear();
  }
  for (const trial of answer.trials) search.trials.set(trial.tid, trial);
  for (const [tid, curve] of Object.entries(answer.curves)) search.curves.set(Number(tid), curve);
  Object.assign(search, { summary: answer.summary, revision: answer.revision, trouble: answer.trouble, age: answer.age });
  return answer.trials.map((trial) => trial.tid);
}

/** A hidden page asks nothing until it is looked at again. */
async function pause(milliseconds) {
  await new Promise((next) => setTimeout(next, milliseconds));
  if (document.hidden) await new Promise((next) => document.addEventListener("visibilitychange", next, { once: true }));
}
