// The translation, sentence by sentence, above a copy of the source that lies under the text field.

import { reasons } from "./words.js";

/**
 * A sentence on the page; once its alignment is known, it is divided into words.
 *
 * @typedef {{source: string, text: string, suspicious: boolean, flags: string[]}} Sentence
 * @typedef {{sentence: Sentence, source: HTMLElement, target: HTMLElement, asked?: Promise<object>, weights?: number[][],
 *   words?: {source: HTMLElement[], target: HTMLElement[]}}} Row
 */

const mirror = document.querySelector("#mirror");
const output = document.querySelector("#output");
const doubts = document.querySelector("#doubts");

/** The sentences that are shown. @type {Row[]} */
export let rows = [];

/** Shows the sentences of a translation. */
export function show(sentences, language) {
  rows = sentences.map((sentence, i) => ({
    sentence,
    source: span(sentence.source, i),
    target: span(sentence.text, i),
  }));
  mirror.replaceChildren(...rows.map((row) => row.source), "\n");
  output.replaceChildren(...rows.map((row) => row.target));
  output.lang = language;
  showDoubts();
}

/** Shows no translation. */
export function clear() {
  rows = [];
  output.replaceChildren();
  showDoubts();
}

/** Shows another translation of a sentence, which the user chose, wherever its paragraph is repeated. */
export function replace({ sentence }, text) {
  Object.assign(sentence, { text, suspicious: false, flags: [] });
  for (const row of rows.filter((row) => row.sentence === sentence)) {
    row.asked = row.weights = row.words = undefined;
    row.source.textContent = sentence.source;
    row.target.textContent = text;
    row.target.classList.remove("doubtful");
    row.target.removeAttribute("title");
  }
  showDoubts();
}

/** Copies the text of the text field, which changed: its sentences are no longer known. */
export function copySource(text) {
  mirror.textContent = `${text}\n`; // the last line break of a block element has no height
}

/** Returns the translation. */
export function text() {
  return rows.map((row) => row.sentence.text).join("");
}

/** Returns whether a model made the translation of a sentence. */
export function isTranslated({ source, text, flags }) {
  return source.trim() && text.trim() && !flags.includes("copied") && !flags.includes("language");
}

function span(text, i) {
  const element = document.createElement("span");
  element.textContent = text;
  element.dataset.sentence = i;
  return element;
}

function showDoubts() {
  const doubtful = rows.filter((row) => row.sentence.suspicious);
  doubts.hidden = !doubtful.length;
  doubts.querySelector("ul").replaceChildren(...doubtful.map(doubt));
}

function doubt({ sentence, target }) {
  const item = document.createElement("li");
  const quote = document.createElement("q");
  const reason = document.createElement("span");
  quote.lang = output.lang;
  quote.textContent = sentence.text.trim() || sentence.source.trim();
  reason.textContent = reasons(sentence.flags).join(" ");
  target.classList.add("doubtful");
  target.title = reason.textContent;
  item.append(quote, " ", reason);
  item.addEventListener("pointerenter", () => target.classList.add("found"));
  item.addEventListener("pointerleave", () => target.classList.remove("found"));
  return item;
}
