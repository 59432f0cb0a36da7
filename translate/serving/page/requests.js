// Translation while typing: one request at a time, no answer that is out of date, and no more requests than allowed.

import { Problem, post } from "./api.js";

const MINUTE = 60_000;

/** Spreads the requests of this page over a minute, so that the server refuses none. */
export class Pace {
  #most; // requests that may follow each other at once
  #perMillisecond;
  #tokens;
  #time = Date.now();

  /** @param {number} limit of requests per minute; 0 is none. */
  constructor(limit) {
    this.#most = limit ? Math.max(1, Math.floor(limit / 4)) : Infinity;
    this.#perMillisecond = (limit - this.#most || 0.5) / MINUTE;
    this.#tokens = this.#most;
  }

  /** Counts a request. */
  note() {
    this.#refill();
    this.#tokens -= 1;
  }

  /** Milliseconds until the next request. */
  get wait() {
    this.#refill();
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) / this.#perMillisecond);
  }

  #refill() {
    const now = Date.now();
    if (this.#most < Infinity) this.#tokens = Math.min(this.#most, this.#tokens + (now - this.#time) * this.#perMillisecond);
    this.#time = now;
  }
}

/** Sends the newest request after a pause; a newer one aborts it. */
export class Requests {
  #timer = 0;
  #aborter = null;
  #pause;
  #pace;
  #handlers;

  /**
   * @param {number} pause in milliseconds.
   * @param {Pace} pace
   * @param {{body: () => object|null, busy: (busy: boolean) => void, done: (answer: object, body: object) => void,
   *   failed: (problem: Problem, seconds: number) => void}} handlers; `body` returns null if there is nothing to
   *   translate, `failed` receives the time until the next try, 0 if there is none.
   */
  constructor(pause, pace, handlers) {
    this.#pause = pause;
    this.#pace = pace;
    this.#handlers = handlers;
  }

  /** Aborts the running request and sends the next one after a pause. */
  later(pause = this.#pause) {
    this.stop();
    this.#timer = setTimeout(() => this.now(), Math.max(pause, this.#pace.wait));
  }

  /** Aborts the running request and forgets the waiting one. */
  stop() {
    clearTimeout(this.#timer);
    this.#aborter?.abort();
    this.#aborter = null;
    this.#handlers.busy(false);
  }

  /** Sends a request at once. */
  async now() {
    this.stop();
    const body = this.#handlers.body();
    if (!body) return;
    const aborter = new AbortController();
    this.#aborter = aborter;
    this.#handlers.busy(true);
    this.#pace.note();
    try {
      const answer = await post("translate", body, aborter.signal);
      if (aborter === this.#aborter) this.#end(() => this.#handlers.done(answer, body));
    } catch (error) {
      if (aborter === this.#aborter) this.#end(() => this.#fail(error));
    }
  }

  #end(report) {
    this.#aborter = null;
    this.#handlers.busy(false);
    report();
  }

  #fail(error) {
    if (!(error instanceof Problem)) throw error;
    if (error.seconds) this.#timer = setTimeout(() => this.now(), 1000 * error.seconds);
    this.#handlers.failed(error, error.seconds);
  }
}
