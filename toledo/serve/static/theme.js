"use strict";
// Before anything is drawn: the theme of the address, or the reader's own, or that of the system.
(() => {
  const asked = new URLSearchParams(location.search).get("theme") ?? localStorage.getItem("theme");
  if (asked === "dark" || asked === "light") document.documentElement.dataset.theme = asked;
})();
