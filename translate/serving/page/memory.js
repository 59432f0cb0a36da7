// Settings of the page that the browser remembers; none where storage is turned off.

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
