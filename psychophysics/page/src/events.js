// The queue of events: each is kept in the browser before it is sent, and until the server has confirmed it.

import { Refusal } from "./api.js";

const LARGEST_BATCH = 50;

export class EventQueue {
  /** `onConflict()`: the server holds other events than these. `onFatal(error)`: it does not take them. Both end the
   * queue. */
  constructor(api, kept, session, { onConflict, onFatal }) {
    Object.assign(this, { api, kept, onConflict, onFatal, state: session.state, nextSeq: session.next_seq });
    const before = kept.get();
    const own = before?.token === session.token ? before.events : [];
    // Those that the server has are confirmed; a gap cannot be sent any more.
    this.pending = own.filter((event) => event.seq >= session.next_seq);
    if (this.pending.length && this.pending[0].seq !== session.next_seq) this.pending = [];
    this.nextSeq += this.pending.length;
    this.token = session.token;
    this.feedback = null;
    this.stopped = false;
    this.sending = null;
    this.#keep();
  }

  /** Keep an event, and send it as soon as possible. */
  add(kind, content = {}, time = performance.now()) {
    const at_ms = Math.round(performance.timeOrigin + time);
    this.pending.push({ seq: this.nextSeq, kind, at_ms, content });
    this.nextSeq += 1;
    this.#keep();
    this.#send();
  }

  /** Resolves when the server has confirmed all events: {state, feedback} of its last answer. */
  async confirmed() {
    while (this.pending.length && !this.stopped) await this.#send();
    if (this.stopped) await new Promise(() => {}); // Another screen has taken the stage.
    const { state, feedback } = this;
    this.feedback = null;
    return { state, feedback };
  }

  /** Send nothing any more: another window goes on with this session. */
  stop() {
    this.stopped = true;
  }

  #send() {
    this.sending ??= this.#sendAll().finally(() => {
      this.sending = null;
    });
    return this.sending;
  }

  async #sendAll() {
    while (this.pending.length && !this.stopped) {
      const events = this.pending.slice(0, LARGEST_BATCH);
      try {
        const answer = await this.api.request("POST", "/api/session/events", { events }, () => this.stopped);
        this.pending = this.pending.filter((event) => event.seq >= answer.next_seq);
        this.state = answer.state;
        this.feedback = answer.feedback ?? this.feedback;
        this.#keep();
      } catch (error) {
        if (this.stopped) return;
        this.#refused(error);
      }
    }
  }

  #refused(error) {
    const conflict = error instanceof Refusal && error.status === 409;
    if (conflict) this.kept.clear();
    this.stop();
    if (conflict) this.onConflict();
    else this.onFatal(error);
  }

  #keep() {
    if (!this.stopped) this.kept.set({ token: this.token, events: this.pending });
  }
}
