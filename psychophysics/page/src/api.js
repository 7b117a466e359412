// Requests to the server of the study. What may pass by itself is tried again; everything else becomes a Refusal.

import { pause } from "./dom.js";

const TIMEOUT_MS = 20_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/** The server answered, and trying again would change nothing. `status`, `body` as it sent them. */
export class Refusal extends Error {
  constructor(status, body) {
    super(`the server refused: ${status} ${body?.error ?? ""}`);
    this.status = status;
    this.body = body ?? {};
  }
}

export class Api {
  /** `onTrouble(seconds | null)`: the connection is lost and tried again after so long; null: it works again. */
  constructor(onTrouble) {
    this.onTrouble = onTrouble;
    this.token = null;
  }

  /** A JSON request, repeated until the server answers. Every request of this page may be sent twice. */
  async request(method, path, body, stopped = () => false) {
    for (let attempt = 0; ; attempt += 1) {
      const { wait, result } = await this.#once(method, path, body, attempt);
      if (wait === null) {
        this.onTrouble(null);
        return result;
      }
      if (stopped()) throw new Refusal(0, { error: "stopped" });
      this.onTrouble(wait / 1000);
      await Promise.race([pause(wait), online()]);
      if (stopped()) throw new Refusal(0, { error: "stopped" });
    }
  }

  async #once(method, path, body, attempt) {
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.75 + Math.random() / 2);
    const headers = {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    let response;
    let answer;
    try {
      const options = { method, headers, body: body && JSON.stringify(body), cache: "no-store" };
      response = await fetch(path, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) });
      answer = await response.json();
    } catch {
      // No connection, no answer in time, or half of one; a proxy's page of an error is no JSON either.
      if (!response || response.ok || response.status >= 500) return { wait };
      throw new Refusal(response.status, {});
    }
    if (response.ok) return { wait: null, result: answer };
    if (response.status === 429) {
      return { wait: Math.max(wait, 1000 * (Number(response.headers.get("Retry-After")) || 0)) };
    }
    if (response.status >= 500) return { wait };
    throw new Refusal(response.status, answer);
  }
}

function online() {
  return new Promise((resolve) => window.addEventListener("online", resolve, { once: true }));
}
