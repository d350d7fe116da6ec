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
  openDialog("Before you begin", prose("div", { class: "prose", tabindex: "0" }, text), "Go on", closed);
}

/** List earlier answers; `choose` is called with the id of one. */
export function showGiven(given, choose, closed) {
  const dialog = part("instructions");
  const entries = given.map(({ id, question, excerpt, value }) => el("li", {}, el("button", { class: "plain given",
    onclick: () => {
      dialog.close();
      choose(id);
    } }, el("b", {}, value), " ", prose("span", {}, question), " ", prose("span", { class: "quiet" }, excerpt))));
  const list = entries.length ? el("ul", { class: "prose", tabindex: "0" }, entries)
    : el("p", {}, "You have not answered anything here yet.");
  openDialog("Your answers, newest first", list, "Close", closed);
}

function openDialog(title, content, leave, closed) {
  const dialog = part("instructions");
  if (dialog.open) return;
  refill(dialog,
    el("h2", { id: "instructions-title" }, title),
    content,
    el("div", { class: "row" }, el("button", { class: "answer", autofocus: true, onclick: () => dialog.close() }, leave)));
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
