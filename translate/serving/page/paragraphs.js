// The text in paragraphs: only those that changed are sent to the server.

const BREAK = /(\n(?:[^\S\n]*\n)+)/;
const MOST = 1000; // paragraphs that are remembered, unless the text itself has more

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
    }
  }

  /** Returns the sentences of a text whose paragraphs are all known, and its detected language. */
  all(text, pair) {
    const found = parts(text, pair).map((part) => this.#used(key(part, pair)) ?? { sentences: [between(part)] });
    this.#forget(Math.max(MOST, found.length));
    return { sentences: found.flatMap(({ sentences }) => sentences), detected: found.find((one) => one.detected)?.detected };
  }

  /** Returns a known paragraph, which becomes the last one to be forgotten. */
  #used(name) {
    const found = this.#known.get(name);
    if (found) {
      this.#known.delete(name);
      this.#known.set(name, found);
    }
    return found;
  }

  /** Forgets the paragraphs that were used longest ago, as far as there are more than `most`. */
  #forget(most) {
    const names = [...this.#known.keys()];
    for (const name of names.slice(0, Math.max(0, names.length - most))) this.#known.delete(name);
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
