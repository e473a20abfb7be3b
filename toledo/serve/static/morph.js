// Put parts from the server in their places, and touch nothing that has not changed: the focus, a slider that is held,
// what is unfolded and where a list is scrolled to all stay.

/** What the reader owns: attributes of an element that the server does not set again once it is there. */
const OWN = new Map([["DETAILS", ["open"]], ["DIALOG", ["open"]]]);

/**
 * Replace elements of the page by those of the same id.
 * @param {string} html
 * @returns {Element[]} the elements of the page that the answer was for
 */
export function swap(html) {
  const parts = new DOMParser().parseFromString(html, "text/html").body.children;
  const changed = [];
  for (const part of [...parts]) {
    const old = part.id && document.getElementById(part.id);
    if (!old) continue;
    if (part.hasAttribute("data-replace")) old.replaceWith(part);
    else morph(old, part);
    changed.push(/** @type {Element} */ (document.getElementById(part.id)));
  }
  return changed;
}

/**
 * @param {Node} old
 * @param {Node} fresh
 */
function morph(old, fresh) {
  if (!(old instanceof Element && fresh instanceof Element)) {
    if (old.nodeType === fresh.nodeType) { if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue; }
    else old.parentNode?.replaceChild(fresh, old);
    return;
  }
  if (old.nodeName !== fresh.nodeName || old.id !== fresh.id || fresh.hasAttribute("data-replace")) return old.replaceWith(fresh);
  attributes(old, fresh);
  const wanted = [...fresh.childNodes], there = [...old.childNodes];
  wanted.forEach((child, place) => { if (there[place]) morph(there[place], child); else old.append(child); });
  for (const extra of there.slice(wanted.length)) extra.remove();
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function attributes(old, fresh) {
  const own = OWN.get(old.nodeName) ?? (old.getAttribute("data-own") ?? "").split(" ");
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !own.includes(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value && !own.includes(name)) old.setAttribute(name, value);
  if (old === document.activeElement) return;
  if (old instanceof HTMLInputElement && fresh instanceof HTMLInputElement) old.value = fresh.value;
  if (old instanceof HTMLOptionElement && fresh instanceof HTMLOptionElement) old.selected = fresh.selected;
}
