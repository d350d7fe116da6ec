/** The strip on top of a page: what speaks against the number, the verdict, and what it rests on. */

import { el } from "./dom.js";

/** `verdict` is a sentence or nodes; `warning` stands before it; empty details are left out. */
export function verdictStrip({ verdict, warning = null, details = [] }) {
  return el("section", { class: "strip", "aria-label": "verdict" },
    warning && el("p", { class: "caution" }, `! ${warning}`),
    el("p", { class: "verdict" }, verdict),
    details.filter(Boolean).map((detail) => el("p", { class: "quiet" }, detail)));
}

/** A section that the reader opens by its heading. */
export function foldedSection(title, ...content) {
  return el("details", { class: "fold" }, el("summary", {}, el("h2", {}, title)), content);
}
