// What the browser remembers: settings, and the text of a page that is loaded again; nothing where storage is turned off.

const PREFIX = "translate.";

/** Returns a remembered value, or "". */
export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name) ?? "";
  } catch {
    return "";
  }
}

/** Remembers a value; "" forgets it. */
export function remember(name, value) {
  try {
    if (value) localStorage.setItem(PREFIX + name, value);
    else localStorage.removeItem(PREFIX + name);
  } catch {
    // The setting holds until the page is closed.
  }
}

/** Returns the text that was kept for this tab if it is loaded again, or "". */
export function keptText() {
  const [navigation] = performance.getEntriesByType("navigation");
  try {
    return navigation?.type === "reload" ? (sessionStorage.getItem(`${PREFIX}text`) ?? "") : "";
  } catch {
    return "";
  }
}

/** Keeps a text, and none that was kept before, until the tab is closed. */
export function keepText(text) {
  try {
    sessionStorage.removeItem(`${PREFIX}text`);
    sessionStorage.setItem(`${PREFIX}text`, text);
  } catch {
    // It is longer than the browser allows, or storage is turned off.
  }
}
