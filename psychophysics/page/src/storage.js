// What the browser keeps for one study: the session, and the events that the server has not confirmed yet.

const withoutStorage = new Map();

/** A value that survives a reload, under the study's name. A browser that keeps nothing still works until a reload. */
export class Kept {
  constructor(study, what) {
    this.key = `hms-study/${study}/${what}`;
  }

  get() {
    try {
      return JSON.parse(localStorage.getItem(this.key));
    } catch {
      return withoutStorage.get(this.key) ?? null;
    }
  }

  set(value) {
    try {
      localStorage.setItem(this.key, JSON.stringify(value));
    } catch {
      withoutStorage.set(this.key, value);
    }
  }

  clear() {
    withoutStorage.delete(this.key);
    try {
      localStorage.removeItem(this.key);
    } catch {
      // Nothing was kept.
    }
  }
}
