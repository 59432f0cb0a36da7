// The texts of the page in the language of the browser: German, or else English.

import { GERMAN } from "./german.js";

const LANGUAGES = { de: GERMAN, en: {} }; // their texts by the English ones
const NAMED = ["aria-label", "placeholder", "title"]; // attributes with texts

/** The language of the page. */
export const LOCALE = navigator.languages.map((code) => code.split("-")[0]).find((code) => code in LANGUAGES) ?? "en";

/** Returns a text of the page, as in t`${name} detected`; {} stands for each value in the tables. */
export function t(parts, ...values) {
  return own(parts.join("{}"))
    .split("{}")
    .map((part, i) => part + (values[i] ?? ""))
    .join("");
}

function own(text) {
  return LANGUAGES[LOCALE][text] ?? text;
}

/** Puts the texts of index.html, which are English, into the language of the page. */
export function showInOwnLanguage() {
  document.documentElement.lang = LOCALE;
  document.title = own(document.title);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const text = node.data.trim();
    if (text) node.data = node.data.replace(text, () => own(text));
  }
  for (const name of NAMED) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, own(element.getAttribute(name)));
    }
  }
}
