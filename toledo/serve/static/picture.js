// Pictures that are larger than their window: drag, Ctrl-wheel, two fingers, arrows, + − 0. Only the viewBox changes.

/** @typedef {{x: number, y: number, width: number, height: number}} View */

/** @type {WeakMap<Element, View>} */
const views = new WeakMap();

/** @param {Element} box */
function drawn(box) {
  const svg = box.querySelector("svg");
  if (!svg) return null;
  return { svg, width: Number(svg.dataset.width ?? svg.getAttribute("width")), height: Number(svg.dataset.height ?? svg.getAttribute("height")) };
}

/**
 * @param {Element} box
 * @param {View} view
 */
function show(box, view) {
  views.set(box, view);
  box.querySelector("svg")?.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
}

/** Letters in their own size, from the left. @param {Element} box */
export function natural(box) {
  const found = drawn(box);
  if (!found) return;
  const first = Number(found.svg.querySelector("circle")?.getAttribute("cy") ?? 0), room = box.clientHeight;
  const y = found.height <= room ? (found.height - room) / 2 : Math.min(Math.max(first - room / 2, 0), found.height - room);
  show(box, { x: 0, y, width: box.clientWidth, height: room });
}

/** All of it. @param {Element} box */
export function fit(box) {
  const found = drawn(box);
  if (!found) return;
  const factor = Math.max(found.width / box.clientWidth, found.height / box.clientHeight, 0.5);
  const width = box.clientWidth * factor, height = box.clientHeight * factor;
  show(box, { x: (found.width - width) / 2, y: (found.height - height) / 2, width, height });
}

/**
 * @param {Element} box
 * @param {number} factor below 1 comes closer
 * @param {number} [x] the point that stays, as a share of the width
 * @param {number} [y]
 */
export function zoom(box, factor, x = 0.5, y = 0.5) {
  const view = views.get(box);
  if (!view) return;
  const by = Math.min(Math.max(view.width * factor, 60), 60_000) / view.width;
  show(box, { x: view.x + view.width * x * (1 - by), y: view.y + view.height * y * (1 - by), width: view.width * by, height: view.height * by });
}

/**
 * @param {Element} box
 * @param {number} x in pixels
 * @param {number} y
 */
function move(box, x, y) {
  const view = views.get(box);
  if (view) show(box, { ...view, x: view.x + x * view.width / box.clientWidth, y: view.y + y * view.height / box.clientHeight });
}

/** @type {Map<number, {x: number, y: number}>} */
const fingers = new Map();

/** @param {HTMLElement} box */
function listen(box) {
  box.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY }, other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) zoom(box, Math.hypot(before.x - other.x, before.y - other.y) / Math.max(Math.hypot(now.x - other.x, now.y - other.y), 1));
    else move(box, before.x - now.x, before.y - now.y);
    fingers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, (event) => fingers.delete(/** @type {PointerEvent} */ (event).pointerId));
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const place = box.getBoundingClientRect();
    zoom(box, event.deltaY > 0 ? 1.15 : 1 / 1.15, (event.clientX - place.x) / place.width, (event.clientY - place.y) / place.height);
  }, { passive: false });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] }[event.key];
    if (step) move(box, step[0], step[1]);
    else if (event.key === "+" || event.key === "=") zoom(box, 0.8);
    else if (event.key === "-") zoom(box, 1.25);
    else if (event.key === "0") natural(box);
    else return;
    event.preventDefault();
  });
}

/** @type {WeakSet<Element>} */
const known = new WeakSet();

/** Make all pictures of the page movable; one that was moved stays where it is. */
export function attach() {
  for (const box of document.querySelectorAll("[data-picture]")) {
    if (!known.has(box) && box instanceof HTMLElement) { known.add(box); listen(box); }
    const name = box.querySelector("svg")?.dataset.name ?? "", view = views.get(box);
    if (!view || box.getAttribute("data-picture") !== name) { box.setAttribute("data-picture", name); natural(box); } else show(box, view);
  }
}
