// What the page is about (choices, texts, files), asking the server for its parts, and putting them in place.
import { swap } from "./morph.js";
import { LONGEST, pack, unpack } from "./link.js";

/** @typedef {{name: string, text: string}} NamedText */

export const page = document.body.dataset.page ?? "";
/** Choices, which are in the address. */
export const choices = new URLSearchParams(location.search);
/** Texts of input fields by name. @type {Record<string, string>} */
export const texts = {};
/** Files that were dropped. @type {NamedText[]} */
export const files = [];
/** Ids of what the server keeps for this page; forgotten by a reload. @type {Record<string, string>} */
export const kept = {};

/** @type {AbortController | null} */
let running = null;
let waiting = false; // a quick question is under way, and there is a newer one
let began = 0;

const WIDTHS = [1080, 720, 360];

/** @returns {Record<string, string>} */
export function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * @param {Record<string, unknown>} more
 * @returns {string}
 */
function question(more) {
  const room = document.getElementById("main")?.clientWidth ?? 720;
  const width = WIDTHS.find((one) => one <= room) ?? 360;
  return JSON.stringify({ choices: Object.fromEntries(choices), texts, files: kept.comparison ? [] : files, kept, width, ...more });
}

/**
 * Send a question about the page.
 * @param {string} path
 * @param {Record<string, unknown>} [more]
 * @param {AbortSignal} [signal]
 */
export function post(path, more = {}, signal) {
  return fetch(path, { method: "POST", body: question(more), headers: { "Content-Type": "application/json", ...headers() }, signal });
}

/**
 * Ask for the parts of the page; an older question is dropped.
 * @param {Record<string, unknown>} [more]
 */
export async function ask(more = {}) {
  running?.abort();
  const mine = running = new AbortController();
  const busy = setTimeout(() => document.body.setAttribute("aria-busy", "true"), 300);
  began = performance.now();
  try {
    await take(await post(`/view/${page}`, more, mine.signal), mine);
    if (more.fresh && document.querySelector("#start[hidden]") && !document.querySelector("#problem [role=alert]")) document.getElementById("entry")?.removeAttribute("open");
  } catch (error) {
    if (!mine.signal.aborted) fail("offline", error);
  } finally {
    clearTimeout(busy);
    if (running === mine) { running = null; document.body.removeAttribute("aria-busy"); }
  }
}

/**
 * Ask while a slider moves: one question at a time, the last one wins.
 */
export async function askQuickly() {
  if (waiting || running) { waiting = true; return; }
  await ask({ quick: true });
  if (waiting) { waiting = false; await askQuickly(); }
}

export const stop = () => { waiting = false; running?.abort(); };
export const isRunning = () => running !== null;

/**
 * @param {Response} response
 * @param {AbortController} mine
 */
async function take(response, mine) {
  const html = await response.text();
  if (mine.signal.aborted) return;
  if (response.status === 401) return fail("token");
  if (response.status === 429) return fail("busy");
  if (response.headers.get("Toledo-Kept") === "gone" && Object.keys(kept).length) {
    for (const name of Object.keys(kept)) delete kept[name];
    if (running === mine) return ask();
  }
  show(html);
}

/**
 * Put parts in place, and tell the other modules.
 * @param {string} html
 */
export function show(html) {
  const changed = swap(html);
  for (const part of changed) for (const one of [part, ...part.querySelectorAll("[data-kept]")]) {
    const own = one.getAttribute("data-kept");
    if (own) for (const [name, id] of new URLSearchParams(own)) kept[name] = id;
  }
  changed.find((part) => part.querySelector("[role=alert]"))?.querySelector("[role=alert]")?.focus();
  document.dispatchEvent(new CustomEvent("shown", { detail: { changed, milliseconds: performance.now() - began } }));
}

/**
 * Show what the page holds ready for when there is no answer.
 * @param {string} name
 * @param {unknown} [error]
 */
function fail(name, error) {
  const template = document.getElementById(`${name}-problem`);
  if (template instanceof HTMLTemplateElement) show(template.innerHTML);
  else throw error;
}

/**
 * Set choices from the form `name=value&other=value`; an empty value takes one away.
 * @param {string} wanted
 */
export function choose(wanted) {
  for (const [name, value] of new URLSearchParams(wanted)) { if (value === "") choices.delete(name); else choices.set(name, value); }
  remember();
}

let packed = "";
/** Write choices and texts into the address. */
export function remember() {
  const query = choices.toString();
  history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${packed ? `#text=${packed}` : ""}`);
}

/** Pack texts and files for the address, if they are not too long. @returns {Promise<boolean>} whether they were short enough */
export async function packTexts() {
  const some = Object.values(texts).some(Boolean) || files.length > 0;
  const found = some ? await pack(JSON.stringify({ texts, files })) : "";
  packed = found.length > LONGEST ? "" : found;
  remember();
  return packed === found;
}

/**
 * Take over what a link or a saved page holds.
 * @param {{choices?: Record<string, string>, texts?: Record<string, string>, files?: NamedText[]}} given
 */
export function take_over(given) {
  Object.assign(texts, given.texts ?? {});
  files.splice(0, files.length, ...(given.files ?? []));
  for (const [name, value] of Object.entries(given.choices ?? {})) choices.set(name, String(value));
  for (const field of document.querySelectorAll("textarea[name]"))
    if (field instanceof HTMLTextAreaElement && field.name in texts) field.value = texts[field.name];
}

/** Read the part of the address behind `#`: a token, which does not stay there, or texts. @returns {Promise<boolean>} whether there is something to show */
export async function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1)), token = given.get("token");
  if (token) { sessionStorage.setItem("token", token); given.delete("token"); }
  packed = given.get("text") ?? "";
  if (packed) try { take_over(JSON.parse(await unpack(packed))); } catch { packed = ""; }
  if (token) remember();
  return packed !== "";
}
