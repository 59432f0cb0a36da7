// The text in paragraphs: only those that changed are sent to the server.

const BREAK = /(\n(?:[^\S\n]*\n)+)/;
// What is remembered, unless the text itself has more:
const MOST = 1000; // paragraphs
const SIZE = 2_000_000; // their characters

/** Translated paragraphs, by languages, form of address and text. */
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
   * @param {{source: string, target: string, formality: string}} pair
   */
  add(texts, sentences, detected, pair) {
    for (const [i, text] of texts.entries()) {
      this.#known.set(key(text, pair), { sentences: sentences[i], detected: detected?.[i] });
    }
  }

  /** Returns the sentences of a text whose paragraphs are all known, and its detected language. */
  all(text, pair) {
    const found = parts(text, pair).map((part) => this.#used(key(part, pair)) ?? { sentences: [between(part)] });
    this.#forget(found.length);
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

  /** Forgets the paragraphs that were used longest ago if there are too many, but not the last `n`, those of the text. */
  #forget(n) {
    const names = [...this.#known.keys()];
    let size = names.reduce((sum, name) => sum + name.length, 0);
    for (const name of names.slice(0, Math.max(0, names.length - n))) {
      if (this.#known.size <= MOST && size <= SIZE) return;
      this.#known.delete(name);
      size -= name.length;
    }
  }
}

/** Divides a text at blank lines. The language of a text is detected from all of it, so it stays whole for that. */
function parts(text, { source }) {
  return (source === "auto" ? [text] : text.split(BREAK)).filter((part) => part);
}

function key(text, { source, target, formality }) {
  return `${source} ${target} ${formality} ${text}`;
}

function between(text) {
  return { source: text, text, suspicious: false, flags: [] };
}
