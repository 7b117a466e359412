// One window at a time: the one that was opened last goes on, the others say so.

/** Announce this window; `onDisplaced()` is called once when another one of this study takes over. */
export function takeOver(study, onDisplaced) {
  const channel = new BroadcastChannel(`hms-study/${study}`);
  channel.addEventListener(
    "message",
    () => {
      channel.close();
      onDisplaced();
    },
    { once: true },
  );
  channel.postMessage("this window goes on");
}
