// The page: wires the text field, the languages, the translation, the settings and the files.

import { get } from "./api.js";
import { Attention } from "./attention.js";
import { acceptFiles } from "./files.js";
import { Languages } from "./languages.js";
import { recall, remember } from "./memory.js";
import * as output from "./output.js";
import { Requests } from "./requests.js";
import { languageName, number } from "./words.js";

const $ = (id) => document.getElementById(id);
const field = $("source-text");
const alternatives = $("alternatives");
const N_ALTERNATIVES = 3;

const [settings, known] = await Promise.all([get("frontend/settings"), get("languages")]).catch((problem) => {
  fail(problem);
  throw problem;
});
const languages = new Languages(known, settings.language, () => renew());
const requests = new Requests(settings.frontendTimeout, { body, busy, done, failed: fail });
let shown = { source: "", target: "" }; // the languages of the translation that is shown
const attention = new Attention(() => shown);

function pair() {
  return { source: languages.source, target: languages.target };
}

function body() {
  const text = field.value;
  if (!text.trim()) return null;
  const request = { q: text, ...pair(), sentences: true };
  return alternatives.open ? { ...request, alternatives: Math.min(N_ALTERNATIVES, settings.alternatives) } : request;
}

function done(answer, { source, target }) {
  const detected = answer.detectedLanguage;
  shown = { source: detected?.language ?? source, target };
  problem("");
  output.show(answer.sentences, target);
  showDetected(detected, target);
  showAlternatives(answer.alternatives ?? []);
  $("copy").hidden = false;
  $("announcement").textContent = answer.translatedText;
}

/** Translates again, at once or after a pause. */
function renew(pause) {
  attention.clear();
  output.copySource(field.value);
  showCount();
  $("clear").hidden = !field.value;
  if (field.value.trim()) requests.later(pause ?? 0);
  else empty();
}

function empty() {
  requests.stop();
  output.clear();
  problem("");
  showDetected(null);
  showAlternatives([]);
  $("copy").hidden = true;
}

function showCount() {
  const n = [...field.value].length;
  $("count").textContent = `${number(n)} / ${number(settings.charLimit)} characters`;
  $("count").classList.toggle("over", n > settings.charLimit);
}

function showDetected(detected, target) {
  languages.detect(detected?.language ?? "");
  $("detected").textContent = detected ? `${languageName(detected.language)} detected` : "";
  if (detected?.language === target && languages.reversed) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Translate into ${languages.name(languages.reversed.target)}`;
    button.addEventListener("click", () => {
      languages.reverse();
      renew();
      field.focus();
    });
    $("detected").append(" ", button);
  }
}

function showAlternatives(texts) {
  $("no-alternatives").hidden = texts.length > 0;
  alternatives.querySelector("ol").replaceChildren(
    ...texts.map((text) => {
      const item = document.createElement("li");
      const words = document.createElement("span");
      const button = document.createElement("button");
      words.textContent = text;
      button.type = "button";
      button.textContent = "Copy";
      button.setAttribute("aria-label", `Copy: ${text}`);
      button.addEventListener("click", () => copy(words, button));
      item.append(words, button);
      return item;
    }),
  );
}

function busy(isBusy) {
  $("progress").hidden = !isBusy;
  $("output").ariaBusy = String(isBusy);
}

function problem(message) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
}

function fail(error, seconds = 0) {
  problem(seconds ? `${error.message} The next try is in ${seconds} seconds.` : error.message);
  if (error.needsKey) showKey(true);
}

/** Copies the text of an element. */
async function copy(element, button) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = "Copied";
    $("announcement").textContent = "Copied";
  } catch {
    // Without HTTPS, a browser allows this only on the machine itself.
    getSelection().selectAllChildren(element);
    button.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

function swap() {
  if (!languages.reversed) return;
  const text = output.text();
  languages.reverse();
  if (text && field.value.trim()) field.value = text;
  renew();
  $("announcement").textContent = `${languages.name(languages.source)} to ${languages.name(languages.target)}`;
}

function showKey(isShown) {
  $("key-form").hidden = !isShown;
  $("key-button").ariaExpanded = String(isShown);
}

function setUpKey() {
  $("key-button").hidden = !settings.apiKeys;
  $("key").value = recall("key");
  $("key-button").addEventListener("click", () => {
    showKey($("key-form").hidden);
    if (!$("key-form").hidden) $("key").focus();
  });
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    remember("key", $("key").value.trim());
    showKey(false);
    problem("");
    renew();
    field.focus();
  });
  if (settings.keyRequired && !recall("key")) showKey(true);
}

function setUpTheme() {
  const select = $("theme");
  select.value = recall("theme") || "system";
  select.addEventListener("change", () => {
    const theme = select.value === "system" ? "" : select.value;
    remember("theme", theme);
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  });
}

function setUpAlternatives() {
  alternatives.hidden = !settings.alternatives;
  alternatives.open = recall("alternatives") === "open";
  alternatives.addEventListener("toggle", () => {
    remember("alternatives", alternatives.open ? "open" : "");
    const isMissing = alternatives.open && !alternatives.querySelector("li");
    if (isMissing && field.value.trim()) requests.later(0);
  });
}

setUpTheme();
setUpKey();
setUpAlternatives();
if (settings.filesTranslation) acceptFiles(settings.supportedFilesFormat, pair, fail);
field.addEventListener("input", () => renew(settings.frontendTimeout));
$("swap").addEventListener("click", swap);
$("copy").addEventListener("click", () => copy($("output"), $("copy")));
$("clear").addEventListener("click", () => {
  field.value = "";
  renew();
  field.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    requests.now();
  }
  if (event.code === "KeyS" && event.altKey) {
    event.preventDefault();
    swap();
  }
});
renew(); // a browser may have kept the text of the last visit
