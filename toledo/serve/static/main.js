// The page listens: controls become choices, choices become questions, answers are put in place.
import * as core from "./core.js";
import { save } from "./link.js";
import * as list from "./list.js";
import * as picture from "./picture.js";
import { follow, only } from "./stream.js";

const REST = 150; // milliseconds after which a slider rests

/** @param {string} id */
const byId = (id) => document.getElementById(id);
/** @type {number | undefined} */
let resting;

/** @param {() => unknown} then @param {number} [after] */
function soon(then, after = REST) {
  clearTimeout(resting);
  resting = setTimeout(then, after);
}

/** @param {string} text */
function say(text) {
  const place = byId("message");
  if (place) place.textContent = text;
}

// Controls

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field instanceof HTMLTextAreaElement && field.name) { core.texts[field.name] = field.value; return; }
  if (!(field instanceof HTMLInputElement) || !field.name) return;
  if (field.type === "file") return;
  if (field.value === "") core.choices.delete(field.name); else core.choices.set(field.name, field.value);
  if (field.type === "range") core.askQuickly();
  soon(() => { core.remember(); core.ask(); });
});

document.addEventListener("change", async (event) => {
  const field = event.target;
  if (field instanceof HTMLSelectElement && field.name) {
    core.choose(`${encodeURIComponent(field.name)}=${encodeURIComponent(field.value)}`);
    if ("fresh" in field.dataset) actions.go(field); else core.ask();
  }
  if (!(field instanceof HTMLInputElement)) return;
  if (field.type === "file" && field.files) { await read(field.files, field.dataset.as); field.value = ""; }
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const control = event.target.closest("[data-set], [data-do]");
  if (!control || control.hasAttribute("disabled")) return;
  const wanted = control.getAttribute("data-set");
  if (wanted !== null) { event.preventDefault(); core.choose(wanted); core.ask(); }
  const action = control.getAttribute("data-do");
  if (action && action in actions) actions[action](/** @type {HTMLElement} */ (control));
});

/** @type {Record<string, (control: HTMLElement) => unknown>} */
const actions = {
  theme() {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  },
  async go() {
    for (const field of document.querySelectorAll("textarea[name]")) if (field instanceof HTMLTextAreaElement) core.texts[field.name] = field.value;
    for (const name of Object.keys(core.kept)) delete core.kept[name];
    core.choose("segment=&against=&first=");
    await core.packTexts();
    await core.ask({ fresh: true });
  },
  async link() {
    if (!await core.packTexts()) return actions.saveState();
    try { await navigator.clipboard.writeText(location.href); say("Link copied"); } catch { say(location.href); }
  },
  saveState() {
    const state = { toledo: core.page, choices: Object.fromEntries(core.choices), texts: core.texts, files: core.files };
    save(`${core.page}.toledo.json`, new Blob([JSON.stringify(state)], { type: "application/json" }));
    say("Too long for a link: saved as a file that can be dropped here");
  },
  export: () => download(`${core.page}.html`),
  save: (control) => download(control.dataset.name ?? "table.tsv", control.dataset.part),
  async stop(control) {
    core.stop();
    const job = control.dataset.job;
    if (job) await fetch(`/api/v1/jobs/${job}`, { method: "DELETE", headers: core.headers() });
  },
  clear() { core.files.splice(0); for (const name of Object.keys(core.texts)) core.texts[name] = ""; location.assign(location.pathname); },
  async example() {
    const response = await fetch(`/view/example/${core.page}`, { headers: core.headers() });
    if (!response.ok) return;
    core.take_over(await response.json());
    await actions.go(document.body);
  },
  line(control) {
    const field = document.querySelector("textarea[name]"), number = Number(control.dataset.line);
    if (!(field instanceof HTMLTextAreaElement)) return;
    const lines = field.value.split("\n"), start = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
    field.closest("details")?.setAttribute("open", "");
    field.focus();
    field.setSelectionRange(start, start + (lines[number - 1]?.length ?? 0));
  },
  closer: (control) => picture.zoom(box(control), 0.8),
  farther: (control) => picture.zoom(box(control), 1.25),
  fit: (control) => picture.fit(box(control)),
  close: (control) => control.closest("dialog")?.close(),
  keys() { const dialog = byId("keys"); if (dialog instanceof HTMLDialogElement) dialog.showModal(); },
};

/** @param {Element} control */
const box = (control) => /** @type {Element} */ (control.closest(".card")?.querySelector("[data-picture]"));

/**
 * Save what the server gives for the choices of the page.
 * @param {string} name
 * @param {string} [part]
 */
async function download(name, part) {
  const response = await core.post(`/view/${core.page}`, { save: part ?? "page" });
  const found = response.headers.get("Toledo-Name") ?? name;
  if (response.headers.has("Toledo-Name")) save(found, await response.blob()); else core.show(await response.text());
}

// Files

/**
 * @param {Iterable<File>} some
 * @param {string} [as] what the files are, where the page has several places for them
 */
async function read(some, as) {
  for (const file of some) {
    const text = await file.text();
    if (file.name.endsWith(".toledo.json")) { core.take_over(JSON.parse(text)); core.remember(); continue; }
    const place = core.files.findIndex((one) => one.name === file.name);
    const found = { name: as ? `${as}:${file.name}` : file.name, text };
    if (place >= 0) core.files[place] = found; else core.files.push(found);
  }
  for (const name of Object.keys(core.kept)) delete core.kept[name];
  core.choose("segment=&first=");
  await core.packTexts();
  await core.ask({ fresh: true });
}

document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  if (event.dataTransfer?.files.length) read(event.dataTransfer.files);
});

// Keys

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return actions.go(target); }
  if ((event.key === "Enter" || event.key === " ") && target.matches("[data-set]:not(button, a, input, select)")) { event.preventDefault(); target.dispatchEvent(new MouseEvent("click", { bubbles: true })); return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("textarea, select, input:not([type=range])") && event.key !== "Escape") return;
  if (event.key === "?") return actions.keys(target);
  if (event.key === "Escape" && target.matches("input, textarea")) target.blur();
  const control = document.querySelector(`[data-key="${CSS.escape(event.key)}"]:not([disabled])`);
  if (control instanceof HTMLInputElement) { event.preventDefault(); control.focus(); control.select(); }
  else if (control instanceof HTMLElement) { event.preventDefault(); control.click(); }
  else if (event.key === "Escape") core.stop();
  else if ((event.key === "j" || event.key === "k") && list.walk(event.key === "j" ? 1 : -1)) event.preventDefault();
});

// What belongs together: the words of a phrase and their source words.

/** @param {Event} event */
function point(event) {
  const word = event.target instanceof Element ? event.target.closest("[data-source]") : null;
  for (const one of document.querySelectorAll(".on")) one.classList.remove("on");
  if (!word) return;
  const span = word.getAttribute("data-source") ?? "", [from, to] = span.split("-").map(Number);
  for (const one of document.querySelectorAll("[data-at]")) { const at = Number(one.getAttribute("data-at")); one.classList.toggle("on", at >= from && at < to); }
  for (const one of word.parentElement?.querySelectorAll("[data-source]") ?? []) one.classList.toggle("on", one.getAttribute("data-source") === span);
}
document.addEventListener("pointerover", point);
document.addEventListener("focusin", point);

// After each answer

function attach() {
  picture.attach();
  list.attach();
  const followed = [...document.querySelectorAll("[data-events]")].map((one) => one.getAttribute("data-events") ?? "");
  only(followed);
  let asked = 0;
  for (const path of followed) follow(path, ({ event }) => {
    const now = performance.now(), last = event === "done" || event === "problem";
    if (core.isRunning() && !last) return;
    if (last || now - asked > 200) { asked = now; core.ask(); }
  });
}
document.addEventListener("shown", attach);

async function waitUntilReady() {
  while (document.querySelector("#ready[data-wait]")) {
    await new Promise((after) => setTimeout(after, 1000));
    const response = await core.post("/view/ready");
    if (response.ok) core.show(await response.text());
  }
}

async function begin() {
  const current = document.querySelector("nav [aria-current]");
  if (current instanceof HTMLElement && current.parentElement) current.parentElement.scrollLeft = current.offsetLeft - 60;
  const given = await core.readAddress();
  if (given || byId("main")?.hasAttribute("data-ask")) await core.ask({ fresh: given });
  else attach();
  document.body.dataset.begun = "true";
  await waitUntilReady();
}
begin();
