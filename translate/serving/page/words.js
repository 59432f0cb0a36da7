// What the page says: names of languages, reasons to doubt a sentence, errors.

import { LOCALE, t } from "./texts.js";

const REASONS = {
  language: t`It does not seem to be in the source language, so it was left as it is.`,
  empty: t`The model gave no translation at first, so it was asked again in another way.`,
  symbol: t`The model wrote a sign that stands for a link, a tag or the like, and the text has none there.`,
  repetition: t`The model repeated itself here.`,
  length: t`The translation was cut off: it became too long for its source.`,
  missing: t`A number, a name or a sign of the source is missing or wrong.`,
  term: t`A term of the glossary is missing.`,
  echo: t`Most words were left untranslated.`,
  tags: t`A format or a note of the document lost its place, so the text was left as it is.`,
  confidence: t`The model is unsure about this sentence.`,
};

// Sentences to try, by language.
const EXAMPLES = {
  de: [
    "Kannst du mir helfen, diesen Satz zu übersetzen?",
    "Wir haben uns lange nicht gesehen.",
    "Der Zug nach Hamburg fährt heute erst um halb neun.",
  ],
  en: [
    "Could you help me to translate this sentence?",
    "We have not seen each other for a long time.",
    "The train to Hamburg leaves at half past eight today.",
  ],
};

/** Returns sentences to try in a language, none if there are none. */
export function examples(language) {
  return EXAMPLES[language] ?? [];
}

let names;
try {
  names = new Intl.DisplayNames([LOCALE], { type: "language" });
} catch {
  names = { of: (code) => code };
}

/** Returns the name of a language. */
export function languageName(code) {
  try {
    return names.of(code) ?? code;
  } catch {
    return code; // not a code
  }
}

/** Returns the reasons to doubt a sentence, given its flags. */
export function reasons(flags) {
  return flags.filter((flag) => flag in REASONS).map((flag) => REASONS[flag]);
}

const PATTERNS = [
  [/exceeds text limit \((\d+)\)/, (n) => t`The text is too long: this server translates up to ${number(n)} characters at a time.`],
  [/exceeds size limit \((\d+)\)/, (n) => t`The file is too large: this server takes files of up to ${number(n)} bytes.`],
  [/^([\w-]+) is not supported$/, (code) => t`No model on this server translates ${languageName(code)}.`],
  [/contact the server operator/, () => t`This server needs an API key.`],
  [/^Invalid API key/, () => t`The API key is wrong or was revoked.`],
  [/^Invalid request: the body exceeds/, () => STATUSES[413]],
  [/file format not supported/, () => t`This kind of file cannot be translated.`],
  [/empty file/, () => t`The file is empty.`],
  [/^Internal error$/, () => t`The server made a mistake. Its log says more.`],
  [/^Slowdown: (\d+) characters/, (n) => t`Too much text: this server translates up to ${number(n)} characters a minute.`],
  [/^Slowdown: (\d+)/, (n) => t`Too many requests: this server answers ${number(n)} a minute.`],
];

// Of proxies, whose answers are no messages for users.
const STATUSES = {
  413: t`This is too large for the server.`,
  429: t`Too many requests.`,
  502: t`The server is not running.`,
  503: t`The server is busy.`,
  504: t`The translation took too long and was stopped. Try a shorter text.`,
};

/** Returns what an error of the server means, as one or more sentences. */
export function explained(status, message) {
  for (const [pattern, say] of PATTERNS) {
    const match = pattern.exec(message);
    if (match) return say(...match.slice(1));
  }
  const said = message.replace(/^Invalid request: /, "");
  const first = /^[^:;]*\.\w+: /.test(said) ? said[0] : said[0]?.toUpperCase(); // not of the name of a file
  if (said) return first + said.slice(1).replace(/[^.!?]$/, "$&."); // other sentences may follow
  return STATUSES[status] ?? t`The server answered with status ${status}.`;
}

/** Returns a number with separators. */
export function number(value) {
  return Number(value).toLocaleString(LOCALE);
}
