"use strict";
// Search, sort and filter the segments of a page, all of which are in it. Marks of a segment are words in data-marks.
const list = document.querySelector(".segments"), all = [...list.children], controls = document.querySelector(".controls");
const find = controls.querySelector("input"), sort = controls.querySelector("select");
const chips = controls.querySelector(".chips"), found = controls.querySelector("output");
const texts = new Map(all.map((one) => [one, one.textContent.toLowerCase()]));
const chosen = new Map(); // marks and their names

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let number = 0;
  for (const one of all) {
    const marks = one.dataset.marks.split(" ");
    one.hidden = ![...chosen.keys()].every((mark) => marks.includes(mark)) || !words.every((word) => texts.get(one).includes(word));
    number += !one.hidden;
  }
  found.textContent = `${number.toLocaleString("en")} of ${all.length.toLocaleString("en")}`;
  chips.replaceChildren(...[...chosen].map(([mark, name]) => {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "chip";
    chip.textContent = `${name} ×`;
    chip.setAttribute("aria-label", `show segments without “${name}”, too`);
    chip.addEventListener("click", () => { chosen.delete(mark); show(); });
    return chip;
  }));
}

function order() {
  const [what, sign] = sort.value.split(" ");
  const value = (one) => what === "line" ? Number(one.id.slice(5)) : Number(one.dataset.gains.split(" ")[what]);
  const sorted = what === "size" ? all : [...all].sort((a, b) => sign * (value(a) - value(b)));
  list.append(...sorted);
  list.scrollTop = 0;
}

controls.hidden = false;
find.addEventListener("input", show);
sort.addEventListener("change", order);
addEventListener("click", (event) => {
  const link = event.target.closest("[data-show]");
  if (!link) return;
  event.preventDefault();
  chosen.set(link.dataset.show, link.dataset.name);
  show();
  list.scrollTop = 0;
  controls.scrollIntoView();
});
addEventListener("hashchange", () => { // a link to a segment that a filter hides
  if (document.querySelector(":target[hidden]")) { chosen.clear(); find.value = ""; show(); document.querySelector(":target").scrollIntoView(); }
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target !== find) { event.preventDefault(); find.focus(); }
});
show();
