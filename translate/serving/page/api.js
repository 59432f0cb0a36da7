// Requests to the server. Addresses are relative, so that the page works behind a proxy with a prefix.

import { recall } from "./memory.js";
import { t } from "./texts.js";
import { explained } from "./words.js";

/** An answer other than 200, or none: `message` is for the user. */
export class Problem extends Error {
  /**
   * @param {number} status of HTTP; 0 if the server cannot be reached.
   * @param {string} message in plain words.
   * @param {number} seconds after which to try again; 0 if that is of no use.
   * @param {boolean} needsKey whether an API key would help.
   */
  constructor(status, message, seconds = 0, needsKey = false) {
    super(message);
    this.status = status;
    this.seconds = seconds;
    this.needsKey = needsKey;
  }
}

/** Returns the answer to a GET request. */
export function get(path) {
  return answered(path, {});
}

/** Returns the answer to a POST request with JSON; an AbortError if the signal stops it. */
export function post(path, body, signal) {
  const key = recall("key");
  const headers = { "Content-Type": "application/json" };
  return answered(path, { method: "POST", headers, body: JSON.stringify(key ? { ...body, api_key: key } : body), signal });
}

/** Returns the answer to a POST request with a form. */
export function postForm(path, fields, signal) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (recall("key")) form.append("api_key", recall("key"));
  return answered(path, { method: "POST", body: form, signal });
}

async function answered(path, request) {
  let answer;
  try {
    answer = await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, t`The server cannot be reached. Check that it is running.`, 5);
  }
  const body = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    if (answer.ok) throw new Problem(0, t`The answer of the server cannot be read.`, 5);
    return {};
  });
  if (answer.ok) return body;
  const seconds = [429, 502, 503].includes(answer.status) ? Number(answer.headers.get("Retry-After")) || 5 : 0;
  const said = String(body.error ?? "");
  throw new Problem(answer.status, explained(answer.status, said), seconds, /API key/.test(said));
}
