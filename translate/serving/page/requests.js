// Translation while typing: one request at a time, and no answer that is out of date.

import { Problem, post } from "./api.js";

/** Sends the newest request after a pause; a newer one aborts it. */
export class Requests {
  #timer = 0;
  #aborter = null;
  #pause;
  #handlers;

  /**
   * @param {number} pause in milliseconds.
   * @param {{body: () => object|null, busy: (busy: boolean) => void, done: (answer: object, body: object) => void,
   *   failed: (problem: Problem, seconds: number) => void}} handlers; `body` returns null if there is nothing to
   *   translate, `failed` receives the time until the next try, 0 if there is none.
   */
  constructor(pause, handlers) {
    this.#pause = pause;
    this.#handlers = handlers;
  }

  /** Aborts the running request and sends the next one after a pause. */
  later(pause = this.#pause) {
    this.stop();
    this.#timer = setTimeout(() => this.now(), pause);
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
