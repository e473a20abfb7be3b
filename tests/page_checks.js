// What must not be on a page; each function returns what it finds.

/** Controls that are hard to press. */
function small() {
  const controls = document.querySelectorAll("a[href], button, select, textarea, input, summary, [data-set], [data-do], label.button");
  return [...controls].filter((one) => {
    if (one.matches("label.button input, p a, dd a") || one.closest(".skip")) return false;
    const box = one.getBoundingClientRect();
    return box.width && box.height && (box.width < 23.5 || box.height < 23.5);
  }).map((one) => `${one.outerHTML.slice(0, 90)} ${JSON.stringify(one.getBoundingClientRect())}`);
}

/** Controls, pictures and regions without a name. */
function nameless() {
  const some = document.querySelectorAll("a[href], button, select, textarea, input, [role=img], [role=group], [role=region]");
  return [...some].filter((one) => {
    if (!one.getClientRects().length) return false;
    const label = one.closest("label")?.textContent.trim(), title = one.querySelector("title")?.textContent;
    return !(one.getAttribute("aria-label") || one.textContent.trim() || label || title || one.title);
  }).map((one) => one.outerHTML.slice(0, 120));
}

/** Text with less contrast than 4.5. */
function pale() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const [r, g, b] = color.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color[3] > 250) return color;
    }
    return [255, 255, 255];
  };
  const found = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !one.getClientRects().length || one.closest("[disabled], svg, .skip")) continue;
    const a = light(rgb(getComputedStyle(one).color)), b = light(ground(one));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(`${contrast.toFixed(2)} ${one.outerHTML.slice(0, 100)}`);
  }
  return [...found];
}
