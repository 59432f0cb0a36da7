// The page: wires the text field, the languages, the translation, the settings and the files.

import { Alternatives } from "./alternatives.js";
import { get, Problem } from "./api.js";
import { Attention } from "./attention.js";
import { acceptFiles } from "./files.js";
import { Formality } from "./formality.js";
import { Languages, UNKNOWN } from "./languages.js";
import { keepText, keptText, recall, remember } from "./memory.js";
import { showModels } from "./models.js";
import * as output from "./output.js";
import { Paragraphs } from "./paragraphs.js";
import { Pace, Requests } from "./requests.js";
import { LOCALE, showInOwnLanguage, t } from "./texts.js";
import { examples, languageName, number } from "./words.js";

const $ = (id) => document.getElementById(id);
const field = $("source-text");
const NEAR = 0.8; // part of the limit of characters from which on the counter is shown
const isMac = /^Mac/.test(navigator.platform); // Alt+S types a letter there, such as the German sharp s

showInOwnLanguage();
const settings = await patiently("frontend/settings");
const languages = new Languages(await patiently("languages"), settings.language, () => renew());
showModels(settings.models, (code) => languages.name(code));
const formality = new Formality(settings.formality, () => renew());
const paragraphs = new Paragraphs();
const pace = new Pace(settings.requestLimit ?? 0);
const requests = new Requests(settings.frontendTimeout, pace, { body, busy, done, failed: fail });
let shown = { source: "", target: "", formality: "" }; // of the translation that is shown
let cleared = ""; // the text that *Clear* took away
const alternatives = new Alternatives(settings.alternatives, { pair: () => shown, pace, chosen: announce, failed: fail });
const attention = settings.alignment ? new Attention(() => shown, pace, (index) => alternatives.pick(index)) : null;

/** Returns the answer to a GET request; asks a server that is busy, or not there yet, again and again. */
async function patiently(path) {
  for (;;) {
    try {
      const answer = await get(path);
      problem("");
      return answer;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fail(error, error.seconds);
      if (!error.seconds) throw error;
      await new Promise((resume) => setTimeout(resume, 1000 * error.seconds));
    }
  }
}

/** Returns what a translation is asked for besides its text. */
function pair() {
  const { source, target } = languages;
  return { source, target, formality: formality.value };
}

/** Returns the request for the paragraphs that are not translated yet, null if there are none. */
function body() {
  const q = paragraphs.missing(field.value, pair());
  return q.length ? { q, ...pair(), sentences: true } : null;
}

function done(answer, { q, ...pair }) {
  paragraphs.add(q, answer.sentences, answer.detectedLanguage, pair);
  show();
}

function show() {
  const asked = pair();
  const { source, target } = asked;
  const { sentences, detected } = paragraphs.all(field.value, asked);
  shown = { ...asked, source: languages.from(detected?.language ?? source, target) };
  problem("");
  alternatives.clear();
  output.show(sentences, target);
  showDetected(detected);
  if (shown.source !== "auto") field.lang = shown.source;
  $("copy").hidden = false;
  $("output-hint").hidden = !settings.alignment || shown.source === shown.target;
  announce();
}

function announce() {
  say(output.text(), shown.target);
}

/** Lets a screen reader read a text, in the voice of its language. */
function say(text, language = LOCALE) {
  $("announcement").lang = language;
  $("announcement").textContent = text;
}

/** Translates again, at once or after a pause. */
function renew(pause) {
  const { source, target } = languages;
  formality.show(source, target);
  attention?.clear();
  alternatives.clear();
  output.copySource(field.value);
  field.lang = languages.expected;
  showCount();
  if (field.value) cleared = "";
  $("clear").hidden = !field.value && !cleared;
  $("clear").textContent = cleared ? t`Undo` : t`Clear`;
  showExamples();
  if (!field.value.trim()) empty();
  else if (paragraphs.missing(field.value, pair()).length) requests.later(pause ?? 0);
  else {
    requests.stop();
    show();
  }
}

function empty() {
  requests.stop();
  output.clear();
  problem("");
  showDetected(null);
  $("copy").hidden = true;
  $("output-hint").hidden = true;
}

function showExamples() {
  const sentences = field.value ? [] : examples(languages.expected);
  $("examples").hidden = !sentences.length;
  $("examples").replaceChildren(
    ...sentences.map((sentence) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sentence;
      button.lang = languages.expected;
      button.addEventListener("click", () => {
        field.value = sentence;
        renew();
        if (hasMouse()) field.focus(); // a keyboard on the screen would hide the answer
      });
      item.append(button);
      return item;
    }),
  );
}

function showCount() {
  const n = [...field.value].length;
  $("count").hidden = n < NEAR * settings.charLimit;
  $("count").textContent = t`${number(n)} / ${number(settings.charLimit)} characters`;
  $("count").classList.toggle("over", n > settings.charLimit);
}

function showDetected(detected) {
  if (detected?.language === UNKNOWN) {
    languages.detect(""); // the choice of the user stays
    $("detected").textContent = t`Language unknown, translated from ${languageName(shown.source)}`;
    return;
  }
  languages.detect(detected?.language ?? "");
  $("detected").textContent = detected ? t`${languageName(detected.language)} detected` : "";
  if (detected && detected.language === languages.target && languages.reversed) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = t`Translate into ${languages.name(languages.reversed.target)}`;
    button.addEventListener("click", () => {
      languages.reverse();
      renew();
      field.focus();
    });
    $("detected").append(" ", button);
  }
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
  const next = seconds === 1 ? t`The next try is in 1 second.` : t`The next try is in ${seconds} seconds.`;
  problem(seconds ? `${error.message} ${next}` : error.message);
  if (error.needsKey) showKey(true);
}

/** Returns whether there is a mouse, and so most likely a keyboard. */
function hasMouse() {
  return matchMedia("(hover: hover)").matches;
}

/** Copies the text of an element. */
async function copy(element, button) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = t`Copied`;
    say(t`Copied`);
  } catch {
    // Without HTTPS, a browser allows this only on the machine itself.
    getSelection().selectAllChildren(element);
    button.textContent = hasMouse() ? t`Selected: press Ctrl+C` : t`Selected`;
  }
  setTimeout(() => (button.textContent = t`Copy`), 2000);
}

function swap() {
  if (!languages.reversed) return;
  const text = body() ? "" : output.text(); // what is not translated yet would be lost
  languages.reverse();
  if (text) field.value = text;
  renew();
  say(t`${languages.name(languages.source)} to ${languages.name(languages.target)}`);
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

setUpTheme();
setUpKey();
if (settings.filesTranslation) acceptFiles(settings, pair, pace, fail);
field.addEventListener("input", () => renew(settings.frontendTimeout));
$("swap").addEventListener("click", swap);
if (isMac) {
  $("alt").textContent = t`Ctrl+Alt`;
  $("swap").title = t`Switch the languages (Ctrl+Alt+S)`;
  $("swap").setAttribute("aria-keyshortcuts", "Control+Alt+S");
}
$("copy").addEventListener("click", () => copy($("output"), $("copy")));
$("output").addEventListener("click", (event) => {
  const sentence = event.target.closest("[data-sentence]");
  if (sentence && getSelection().isCollapsed) alternatives.pick(Number(sentence.dataset.sentence));
});
$("clear").addEventListener("click", () => {
  [field.value, cleared] = [cleared, field.value];
  renew();
  field.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    requests.now();
  }
  if (event.code === "KeyS" && event.altKey && event.ctrlKey === isMac) {
    event.preventDefault();
    swap();
  }
});
addEventListener("pagehide", () => keepText(field.value));
field.value ||= keptText(); // some browsers keep it themselves
renew();
