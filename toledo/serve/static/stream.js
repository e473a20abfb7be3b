// Events of jobs and runs, read over fetch, which can send a token; a connection that breaks is taken up where it ended.
import { headers } from "./core.js";

/** @typedef {{id: string, event: string, data: string}} Message */

/** @type {Map<string, AbortController>} */
const open = new Map();

/**
 * Follow the events of a path until one of them is `done` or `problem`.
 * @param {string} path
 * @param {(message: Message) => void} told
 */
export async function follow(path, told) {
  if (open.has(path)) return;
  const mine = new AbortController();
  open.set(path, mine);
  let last = "", ended = false;
  while (!ended && !mine.signal.aborted) {
    try {
      const response = await fetch(path, { signal: mine.signal, headers: { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}), ...headers() } });
      if (!response.ok || !response.body) break;
      for await (const message of messages(response.body)) {
        last = message.id || last;
        told(message);
        if (message.event === "done" || message.event === "problem") { ended = true; break; }
      }
    } catch { if (mine.signal.aborted) break; }
    if (!ended) await new Promise((after) => setTimeout(after, 1000));
  }
  mine.abort();
  open.delete(path);
}

/** End all streams but those of some paths. @param {string[]} paths */
export function only(paths) {
  for (const [path, control] of open) if (!paths.includes(path)) control.abort();
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<Message>}
 */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value.replaceAll("\r\n", "\n");
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const message = { id: "", event: "message", data: "" };
      for (const line of text.slice(0, end).split("\n")) {
        const [name, ...rest] = line.split(":"), content = rest.join(":").replace(/^ /, "");
        if (name === "data") message.data += content; else if (name === "id") message.id = content; else if (name === "event") message.event = content;
      }
      text = text.slice(end + 2);
      if (message.data) yield message;
    }
  }
}
