// The text in paragraphs: only those that changed are sent to the server.

const BREAK = /(\n(?:[^\S\n]*\n)+)/;
const MOST = 1000; // paragraphs that are remembered

/** Translated paragraphs, by languages and text. */
export class Paragraphs {
  #known = new Map();

  /** Returns the paragraphs that are not known yet, each once. */
  missing(text, pair) {
    return [...new Set(parts(text, pair).filter((part) => part.trim() && !this.#known.has(key(part, pair))))];
  }

  /**
   * Remembers the sentences of paragraphs.
   *
   * @param {string[]} texts
   * @param {object[][]} sentences of each.
   * @param {{confidence: number, language: string}[]|undefined} detected language of each.
   * @param {{source: string, target: string}} pair
   */
  add(texts, sentences, detected, pair) {
    for (const [i, text] of texts.entries()) {
      this.#known.set(key(text, pair), { sentences: sentences[i], detected: detected?.[i] });
      if (this.#known.size > MOST) this.#known.delete(this.#known.keys().next().value);
    }
  }

  /** Returns the sentences of a text whose paragraphs are all known, and its detected language. */
  all(text, pair) {
    const found = parts(text, pair).map((part) => this.#known.get(key(part, pair)) ?? { sentences: [between(part)] });
    return { sentences: found.flatMap(({ sentences }) => sentences), detected: found.find((one) => one.detected)?.detected };
  }
}

/** Divides a text at blank lines. The language of a text is detected from all of it, so it stays whole for that. */
function parts(text, { source }) {
  return (source === "auto" ? [text] : text.split(BREAK)).filter((part) => part);
}

function key(text, { source, target }) {
  return `${source} ${target} ${text}`;
}

function between(text) {
  return { source: text, text, suspicious: false, flags: [] };
}
