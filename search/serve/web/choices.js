// What the reader chose: filters, columns, order. Kept in the address, so that a reload or a sent link shows the same.

const start = { states: [], finishes: [], ranges: {}, values: {}, columns: null, sort: ["tid", false] };

export const choices = { ...structuredClone(start), ...read() };

function read() {
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

/** Put the choices into the address; the token, once given, is no longer needed there. */
export function keep() {
  const differing = Object.entries(choices).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(start[key]));
  const hash = differing.length ? "#" + encodeURIComponent(JSON.stringify(Object.fromEntries(differing))) : "";
  history.replaceState(null, "", location.pathname + hash);
}

/** Forget the filters. */
export function showAll() {
  for (const key of ["states", "finishes", "ranges", "values"]) choices[key] = structuredClone(start[key]);
  keep();
}

/** Whether anything is filtered. */
export const filtered = () => [choices.states, choices.finishes, Object.keys(choices.ranges), Object.keys(choices.values)].some((chosen) => chosen.length);

/** Whether a trial is among those to show. An empty choice means all. */
export function shows(trial) {
  if (choices.states.length && !choices.states.includes(trial.state)) return false;
  if (choices.finishes.length && !choices.finishes.includes(trial.finish)) return false;
  for (const [name, [low, high]] of Object.entries(choices.ranges)) {
    const value = trial.params[name];
    if (typeof value !== "number" || (low !== null && value < low) || (high !== null && value > high)) return false;
  }
  return Object.entries(choices.values).every(([name, values]) => values.includes(String(trial.params[name])));
}
