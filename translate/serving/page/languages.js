// The two lists of languages and the button that switches them.

import { recall, remember } from "./memory.js";
import { LOCALE, t } from "./texts.js";
import { languageName } from "./words.js";

const AUTO = "auto";

export const UNKNOWN = "unknown"; // what the server detects where no language is probable enough

/** The chosen languages; `changed` is called when the user chooses others. */
export class Languages {
  #source = document.querySelector("#source-language");
  #target = document.querySelector("#target-language");
  #swap = document.querySelector("#swap");
  #targets = new Map(); // of each source
  #names = new Map();
  #detected = "";
  #default;

  /**
   * @param {{code: string, name: string, targets: string[]}[]} languages of the server.
   * @param {{source: {code: string}, target: {code: string}}} preset pair.
   * @param {() => void} changed
   */
  constructor(languages, preset, changed) {
    for (const { code, name, targets } of languages) {
      this.#names.set(code, LOCALE === "en" ? name : languageName(code));
      if (targets.length) this.#targets.set(code, targets);
    }
    this.#default = preset.source.code;
    const sources = [[AUTO, t`Detect language`], ...[...this.#targets.keys()].map((code) => [code, this.name(code)])];
    fill(this.#source, sources, [recall("source"), this.#default]);
    this.#fillTargets([recall("target"), preset.target.code]);
    this.#source.addEventListener("change", () => this.#choose(changed));
    this.#target.addEventListener("change", () => this.#choose(changed));
  }

  get source() {
    return this.#source.value;
  }

  get target() {
    return this.#target.value;
  }

  /** The source language; without a choice, that of the first model. */
  get expected() {
    return this.source === AUTO ? this.#default : this.source;
  }

  /** Returns the name of a language of the server. */
  name(code) {
    return this.#names.get(code) ?? code;
  }

  /** Returns the language that the server translates a text from, which may be in an unknown one. */
  from(detected, target) {
    return detected === UNKNOWN ? [...this.#targets].find(([, targets]) => targets.includes(target))?.[0] : detected;
  }

  /** Notes the language that the server detected, "" for none. */
  detect(code) {
    this.#detected = code;
    this.#update();
  }

  /** The pair in the other direction, null if no model translates so. */
  get reversed() {
    const known = this.source === AUTO ? this.#detected || this.#default : this.source;
    // A text that is in the target language already is to be translated into another one.
    const target = known === this.target ? this.#targets.get(known)?.[0] : known;
    return this.#targets.get(this.target)?.includes(target) ? { source: this.target, target } : null;
  }

  /** Switches the direction. */
  reverse() {
    const { source, target } = this.reversed;
    this.#source.value = source;
    this.#fillTargets([target]);
    this.#remember();
  }

  #choose(changed) {
    this.#fillTargets([this.target]);
    this.#remember();
    changed();
  }

  #fillTargets(preferred) {
    const all = [...new Set([...this.#targets.values()].flat())].sort();
    const codes = this.source === AUTO ? all : this.#targets.get(this.source);
    fill(this.#target, codes.map((code) => [code, this.name(code)]), preferred);
    this.detect("");
  }

  #remember() {
    remember("source", this.source);
    remember("target", this.target);
  }

  #update() {
    this.#swap.disabled = this.reversed === null;
  }
}

/** Replaces the options of a list and selects the first preferred value that it has, else the first option. */
function fill(select, options, preferred) {
  select.replaceChildren(...options.map(([value, name]) => new Option(name, value)));
  const values = options.map(([value]) => value);
  select.value = preferred.find((value) => values.includes(value)) ?? values[0];
}
