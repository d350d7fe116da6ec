/** The instructions: shown once in a browser, and whenever somebody asks for them. */

import { el, part, prose, refill } from "./dom.js";
import { keep, kept } from "./keeping.js";
import { updateWatch } from "./stopwatch.js";

/** Show instructions that were not shown here yet; `closed` is called at the end. */
export function showNewInstructions(link, text, closed) {
  if (!text.trim() || kept(`${link}:read`) === text) return;
  showInstructions(text, () => {
    keep(`${link}:read`, text);
    closed();
  });
}

export function showInstructions(text, closed = () => {}) {
  const dialog = part("instructions");
  if (dialog.open) return;
  refill(dialog,
    el("h2", { id: "instructions-title" }, "Before you begin"),
    prose("div", { class: "prose", tabindex: "0" }, text),
    el("div", { class: "row" }, el("button", { class: "answer", autofocus: true, onclick: () => dialog.close() }, "Go on")));
  dialog.addEventListener("close", () => {
    updateWatch();
    closed();
  }, { once: true });
  dialog.showModal();
  updateWatch();
}

export function areInstructionsOpen() {
  return part("instructions").open;
}
