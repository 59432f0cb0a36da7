// Files: chosen or dropped, translated one after the other, offered for download.

import { Problem, postForm } from "./api.js";
import { t } from "./texts.js";
import { explained } from "./words.js";

const card = document.querySelector("#files");
const list = card.querySelector("ul");
const drop = document.querySelector("#drop");

/**
 * Lets the user choose and drop files.
 *
 * @param {{supportedFilesFormat: string[], fileSizeLimit: number}} settings of the server.
 * @param {() => {source: string, target: string}} pair returns the chosen languages.
 * @param {import("./requests.js").Pace} pace of the requests of this page.
 * @param {(problem: Problem) => void} failed
 */
export function acceptFiles({ supportedFilesFormat: formats, fileSizeLimit: limit }, pair, pace, failed) {
  const input = card.querySelector("#file"), earlier = card.querySelector("#earlier");
  let last = Promise.resolve();
  const add = (files) => {
    const chosen = pair(); // those of now, whatever is chosen while the files wait
    const kept = earlier.files[0]; // goes with the files of its format, and with none that is added later
    const fits = (file) => kept !== undefined && suffix(file) === suffix(kept);
    if ([...files].some(fits)) earlier.value = "";
    for (const file of files) {
      const item = new Item(file, fits(file) ? kept : null);
      last = last.catch(() => {}).then(() => item.translate(chosen, limit, pace, failed)); // no file stops those after it
    }
  };
  card.hidden = false;
  card.querySelector("#formats").textContent = t`Drop files anywhere on this page. Formats: ${formats.join(", ")}`;
  input.accept = formats.join(",");
  input.addEventListener("change", () => {
    add(input.files);
    input.value = ""; // the same file may be chosen again
  });
  acceptDrops(add);
}

function acceptDrops(add) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.hidden = true; // left the window
  });
  addEventListener("drop", (event) => {
    drop.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    add(event.dataTransfer.files);
    card.scrollIntoView({ block: "nearest" });
  });
}

/** A file in the list. */
class Item {
  #file;
  #earlier;
  #state = document.createElement("span");
  #stop = document.createElement("button");
  #aborter = new AbortController();

  /** @param {?File} earlier its translation until now. */
  constructor(file, earlier) {
    const item = document.createElement("li");
    const name = document.createElement("span");
    this.#file = file;
    this.#earlier = earlier;
    name.textContent = earlier ? t`${file.name}, with ${earlier.name}` : file.name;
    name.className = "name";
    this.#state.textContent = t`Waiting`;
    this.#state.setAttribute("role", "status");
    this.#stop.textContent = t`Stop`;
    this.#stop.type = "button";
    this.#stop.setAttribute("aria-label", t`Stop the translation of ${file.name}`);
    this.#stop.addEventListener("click", () => {
      this.#aborter.abort();
      this.#state.textContent = t`Stopped`;
      this.#stop.remove();
    });
    item.append(name, this.#state, this.#stop);
    list.append(item);
  }

  /** Sends the file and shows a link to its translation; tries again as long as the server is busy. */
  async translate(pair, limit, pace, failed) {
    const { signal } = this.#aborter;
    try {
      for (let wait = pace.wait; wait !== null; ) {
        await pause(wait, signal);
        if (signal.aborted) return;
        wait = await this.#send(pair, limit, pace, failed, signal);
      }
    } finally {
      this.#stop.remove();
    }
  }

  /** Sends the file once; returns the milliseconds until the next try, null if there is none. */
  async #send(pair, limit, pace, failed, signal) {
    this.#state.textContent = t`Translating...`;
    try {
      const fields = { file: await readable(this.#file, limit), ...pair };
      if (this.#earlier) fields.earlier = await readable(this.#earlier, limit, this.#file.size);
      if (signal.aborted) return null;
      pace.note();
      const answer = await postForm("translate_file", fields, signal);
      this.#state.replaceChildren(link(answer.translatedFileUrl));
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (!(error instanceof Problem)) throw error;
      this.#state.textContent = error.message;
      if (error.status && error.seconds) return Math.max(1000 * error.seconds, pace.wait);
      this.#state.className = "refused";
      failed(error);
    }
    return null;
  }
}

/** Returns a copy of a file in memory; a Problem if it is too large to send, or cannot be read: sending would not say so. */
async function readable(file, limit, used = 0) {
  if (used + file.size > limit) throw new Problem(413, explained(413, `exceeds size limit (${limit})`));
  try {
    return new File([await file.arrayBuffer()], file.name);
  } catch {
    throw new Problem(0, t`The file cannot be read: it may be a folder, or have been moved or changed.`);
  }
}

/** Returns the end of the name of a file, such as ".json", in small letters. */
function suffix(file) {
  return file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
}

/** Waits some milliseconds, or until a signal. */
function pause(milliseconds, signal) {
  return new Promise((resume) => {
    if (signal.aborted) resume();
    setTimeout(resume, milliseconds);
    signal.addEventListener("abort", resume, { once: true });
  });
}

/** Returns the link to a translated file, relative to this page, whatever the server takes for its own address. */
function link(url) {
  const name = new URL(url).pathname.split("/").at(-1);
  const anchor = document.createElement("a");
  anchor.href = `download_file/${name}`;
  anchor.download = decodeURIComponent(name).replace(/^[^.]*\./, "");
  anchor.textContent = t`Download ${anchor.download}`;
  return anchor;
}
