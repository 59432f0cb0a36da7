// Pointing at a word lights up the words that the model looked at for it.

import { post } from "./api.js";
import { isTranslated, rows } from "./output.js";
import { t } from "./texts.js";

const DWELL = 120; // milliseconds on a sentence before its alignment is requested
const FAINT = 0.12; // weights below this part of the largest are not shown

const field = document.querySelector("#source-text");
const mirror = document.querySelector("#mirror");
const output = document.querySelector("#output");
const announcement = document.querySelector("#announcement");

/** Lights up words while the user points at the translation or its source, taps them, or moves with arrow keys. */
export class Attention {
  #pair;
  #pace;
  #picked;
  #timer = 0;
  #turn = 0; // raised by every tap and key: an answer to an earlier one comes too late
  #isTouched = false; // whether the last pointer was a finger, which moves only to scroll
  #lit = [];
  #cursor = null; // the word of the keyboard

  /**
   * @param {() => {source: string, target: string}} pair returns the languages of the translation that is shown.
   * @param {import("./requests.js").Pace} pace of the requests of this page.
   * @param {(index: number) => void} picked is called with the sentence of the word at which Enter was pressed.
   */
  constructor(pair, pace, picked) {
    this.#pair = pair;
    this.#pace = pace;
    this.#picked = picked;
    // The copy of the source lies under the text field, which gets the events.
    for (const [element, side] of [[output, output], [field, mirror]]) {
      element.addEventListener("pointerdown", (event) => (this.#isTouched = event.pointerType === "touch"));
      element.addEventListener("pointermove", (event) => event.pointerType === "touch" || this.#point(event, side));
      element.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.clear());
      element.addEventListener("click", (event) => this.#isTouched && this.#tap(event, side));
    }
    output.addEventListener("keydown", (event) => this.#press(event));
    output.addEventListener("blur", () => this.clear());
  }

  /** Darkens all words. */
  clear() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#turn += 1;
    for (const word of this.#lit) word.classList.remove("lit", "chosen");
    this.#lit = [];
    this.#cursor = null;
  }

  #point(event, side) {
    const word = under(event, side, "word");
    if (word) {
      if (this.#lit[0] !== word) this.#light(word);
      return;
    }
    this.clear();
    const row = rows[under(event, side, "sentence")?.dataset.sentence];
    if (!row || row.weights) return;
    const timer = setTimeout(async () => {
      const isDivided = await this.#divide(row);
      if (isDivided && this.#timer === timer) this.#point(event, side); // the pointer stayed
    }, Math.max(DWELL, this.#pace.wait));
    this.#timer = timer;
  }

  async #tap(event, side) {
    const turn = ++this.#turn;
    const row = rows[under(event, side, "sentence")?.dataset.sentence];
    const isDivided = row && (await this.#divide(row));
    if (turn !== this.#turn) return;
    const word = isDivided && under(event, side, "word");
    if (word && rows[word.parentElement.dataset.sentence] === row) this.#light(word); // or the page was scrolled
    else this.clear();
  }

  /** Divides a sentence into words and returns whether that is possible, null if the server refuses it for now. */
  async #divide(row) {
    if (row.weights) return true;
    const pair = this.#pair();
    if (!isTranslated(row.sentence) || pair.source === pair.target) return false;
    const { source, text } = row.sentence;
    if (!row.asked) {
      this.#pace.note();
      row.asked = post("alignment", { q: source, translation: text, ...pair });
    }
    let found;
    try {
      found = await row.asked;
    } catch (error) {
      if (!error.seconds) return false; // the translation is of use without
      row.asked = undefined; // pointing at it again asks again
      return null;
    }
    if (!row.weights && row.sentence.text === text) {
      row.words = { source: wrapped(row.source, found.source), target: wrapped(row.target, found.target) };
      row.weights = found.weights;
    }
    return Boolean(row.weights); // not if another translation was chosen meanwhile
  }

  #light(word) {
    this.clear();
    const row = rows[word.parentElement.dataset.sentence];
    const i = Number(word.dataset.word);
    const isTarget = output.contains(word);
    const weights = isTarget ? row.weights[i] : row.weights.map((of) => of[i]);
    const others = isTarget ? row.words.source : row.words.target;
    const most = Math.max(...weights, Number.MIN_VALUE);
    word.classList.add("chosen");
    this.#lit = [word];
    for (const [j, other] of others.entries()) {
      if (weights[j] < FAINT * most) continue;
      other.style.setProperty("--weight", (weights[j] / most).toFixed(3));
      other.classList.add("lit");
      this.#lit.push(other);
    }
    return others[weights.indexOf(most)];
  }

  async #press(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.clear();
    if (event.key === "Enter" && this.#cursor?.isConnected) this.#picked(Number(this.#cursor.parentElement.dataset.sentence));
    if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const turn = ++this.#turn;
    const next = await this.#neighbour(step);
    if (turn !== this.#turn || !next?.isConnected) return;
    const from = this.#light(next);
    this.#cursor = next;
    next.scrollIntoView({ block: "nearest" });
    announcement.lang = output.lang;
    announcement.textContent = from ? t`${next.textContent}, from ${from.textContent}` : next.textContent;
  }

  /** Returns the word before or after the keyboard's; sentences without words are skipped. */
  async #neighbour(step) {
    const here = this.#cursor?.isConnected ? this.#cursor : null;
    let sentence = here ? Number(here.parentElement.dataset.sentence) : step > 0 ? 0 : rows.length - 1;
    let word = here ? Number(here.dataset.word) + step : null;
    for (; rows[sentence]; sentence += step, word = null) {
      const row = rows[sentence];
      const isDivided = await this.#divide(row);
      if (isDivided === null) return null; // the next sentence would be refused as well
      if (!isDivided) continue;
      const found = word === null ? row.words.target.at(step > 0 ? 0 : -1) : row.words.target[word];
      if (found) return found;
    }
    return null;
  }
}

/** Returns the word or the sentence of a side under the pointer. */
function under({ clientX, clientY }, side, attribute) {
  return document.elementsFromPoint(clientX, clientY).find((e) => side.contains(e) && e.dataset[attribute] !== undefined);
}

/** Puts each word of an element into an element of its own and returns those. */
function wrapped(element, words) {
  const text = element.textContent;
  const parts = [];
  let done = 0;
  const spans = words.map((word, i) => {
    const start = text.indexOf(word, done);
    const span = document.createElement("span");
    span.textContent = word;
    span.dataset.word = i;
    parts.push(text.slice(done, start), span);
    done = start + word.length;
    return span;
  });
  element.replaceChildren(...parts, text.slice(done));
  return spans;
}
