// The only script of the page: search, and links that open what they lead to. Without it the page shows everything.
"use strict";
const field = document.getElementById("find");
const parts = [...document.querySelectorAll(".of")];
const home = (part) => part.dataset.of ? document.getElementById(part.dataset.of) : part;
const texts = new Map();
const said = (part) => {
  if (!texts.has(part)) texts.set(part, part.textContent.toLowerCase());
  return texts.get(part);
};
function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const part of parts) part.hidden = !words.every((word) => said(home(part)).includes(word));
  const shown = parts.filter((part) => !part.hidden && part.tagName === "TR").length;
  document.getElementById("found").textContent = words.length ? `${shown} found` : "";
}
function lead() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (!target.checkVisibility()) {
    document.getElementById("show-all")?.click();
    if (field) { field.value = ""; search(); }
  }
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView();
}
if (field) {
  field.closest("label").hidden = false;
  field.addEventListener("input", search);
}
addEventListener("hashchange", lead);
lead();
