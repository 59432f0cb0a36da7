// The form of address, a choice for the languages whose model has it.

import { recall, remember } from "./memory.js";

/** The chosen form of address; `changed` is called when the user chooses another one. */
export class Formality {
  #choice = document.querySelector("#formality-choice");
  #select = document.querySelector("#formality");
  #pairs;

  /**
   * @param {{source: string, target: string}[]} pairs of languages for which it can be chosen.
   * @param {() => void} changed
   */
  constructor(pairs, changed) {
    this.#pairs = pairs;
    const known = [...this.#select.options].find(({ value }) => value === recall("formality"));
    if (known) known.selected = true;
    this.#select.addEventListener("change", () => {
      remember("formality", this.#select.value);
      changed();
    });
  }

  /** Shows the choice where it can be made; a detected source language may be any. */
  show(source, target) {
    this.#choice.hidden = !this.#pairs.some((pair) => pair.target === target && [pair.source, "auto"].includes(source));
  }

  /** What a request asks for. */
  get value() {
    return this.#choice.hidden ? "default" : this.#select.value;
  }
}
