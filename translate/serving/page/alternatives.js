// Other translations of the sentence that the user clicked.

import { Problem, post } from "./api.js";
import { isTranslated, replace, rows } from "./output.js";
import { t } from "./texts.js";

const MOST = 3;

const card = document.querySelector("#alternatives");
const hint = card.querySelector("#alternatives-hint");
const list = card.querySelector("ol");

/** The card with the alternatives of one sentence. */
export class Alternatives {
  #most;
  #handlers;
  #row = null;
  #aborter = null;

  /**
   * @param {number} most alternatives that the server gives.
   * @param {{pair: () => {source: string, target: string}, pace: import("./requests.js").Pace, chosen: () => void,
   *   failed: (problem: Problem) => void}} handlers; `pair` returns the languages and form of address of the translation that is shown, `chosen` is called after the user chose.
   */
  constructor(most, handlers) {
    this.#most = Math.min(MOST, most);
    this.#handlers = handlers;
  }

  /** Hides the card. */
  clear() {
    this.#aborter?.abort();
    for (const side of ["source", "target"]) this.#row?.[side].classList.remove("picked");
    this.#row = null;
    card.hidden = true;
  }

  /** Asks for the alternatives of a sentence and shows them. */
  async pick(index) {
    const row = rows[index];
    const pair = this.#handlers.pair();
    if (!row || row === this.#row || !this.#most || !isTranslated(row.sentence) || pair.source === pair.target) return;
    this.clear();
    this.#row = row;
    row.target.classList.add("picked");
    list.replaceChildren();
    hint.textContent = t`Translating...`;
    card.hidden = false;
    const aborter = new AbortController();
    this.#aborter = aborter;
    this.#handlers.pace.note();
    try {
      const body = { q: row.sentence.source, ...pair, alternatives: this.#most };
      const answer = await post("translate", body, aborter.signal);
      if (this.#row === row) this.#show([answer.translatedText, ...answer.alternatives]);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.clear();
      if (error instanceof Problem) this.#handlers.failed(error);
      else throw error;
    }
  }

  #show(texts) {
    const row = this.#row;
    const others = texts.filter((text) => text !== row.sentence.text);
    hint.textContent = others.length ? t`Other translations of "${row.sentence.source.trim()}"` : t`The model has no other translation of this sentence.`;
    list.replaceChildren(
      ...others.map((text) => {
        const item = document.createElement("li");
        const words = document.createElement("span");
        const button = document.createElement("button");
        words.textContent = text;
        words.lang = row.target.parentElement.lang;
        button.type = "button";
        button.textContent = t`Use`;
        button.setAttribute("aria-label", t`Use: ${text}`);
        button.addEventListener("click", () => {
          replace(row, text);
          this.#show(texts);
          list.querySelector("button")?.focus(); // the one that had the focus is gone
          this.#handlers.chosen();
        });
        item.append(button, words);
        return item;
      }),
    );
  }
}
