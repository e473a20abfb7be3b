// Long lists: the server sends blocks of rows, and only those near the window are in the page.
import { page, post } from "./core.js";

const GUESS = 132; // pixels of a row that was not yet seen

/** @type {IntersectionObserver | null} */
let watcher = null;
/** @type {WeakMap<Element, number>} */
const heights = new WeakMap();

/** Make room for all blocks of the list, and load those that are seen. */
export function attach() {
  const list = document.querySelector("[data-list]");
  if (!(list instanceof HTMLElement) || list.dataset.ready) return;
  list.dataset.ready = "true";
  watcher?.disconnect();
  watcher = new IntersectionObserver((entries) => entries.forEach(seen), { root: list, rootMargin: "600px 0px" });
  const total = Number(list.dataset.found), count = Number(list.dataset.count);
  const blocks = [...list.children];
  for (let first = blocks.length * count; first < total; first += count) blocks.push(placeholder(list, first, Math.min(count, total - first)));
  for (const block of blocks) watcher.observe(block);
}

/**
 * @param {Element} list
 * @param {number} first
 * @param {number} rows
 */
function placeholder(list, first, rows) {
  const block = document.createElement("div");
  block.className = "block";
  block.dataset.first = String(first);
  block.style.height = `${rows * GUESS}px`;
  list.append(block);
  return block;
}

/** @param {IntersectionObserverEntry} entry */
async function seen({ target, isIntersecting }) {
  if (!(target instanceof HTMLElement)) return;
  if (isIntersecting && !target.firstElementChild && !target.dataset.loading) {
    target.dataset.loading = "true";
    const response = await post(`/view/${page}`, { first: Number(target.dataset.first) });
    if (response.ok) fill(target, await response.text());
    delete target.dataset.loading;
  } else if (!isIntersecting && target.firstElementChild && !target.contains(document.activeElement)) {
    heights.set(target, target.offsetHeight);
    target.style.height = `${target.offsetHeight}px`;
    target.replaceChildren();
  }
}

/**
 * @param {HTMLElement} block
 * @param {string} html
 */
function fill(block, html) {
  const rows = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
  block.replaceChildren(...(rows?.children ?? []));
  block.style.height = "";
}

/**
 * Move the focus to the next or the previous row.
 * @param {number} step
 * @returns {boolean} whether there is a list
 */
export function walk(step) {
  const rows = [...document.querySelectorAll("[data-list] .segment")];
  if (!rows.length) return false;
  const at = rows.indexOf(/** @type {Element} */ (document.activeElement?.closest(".segment")));
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)];
  if (next instanceof HTMLElement) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: "nearest" }); }
  return true;
}
