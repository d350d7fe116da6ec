/** The strip at the top of a page: a warning, the verdict, and the data behind the verdict. */

import { el } from "./dom.js";

/** `verdict` is a sentence or nodes; `warning` is shown above it; empty `details` are left out. */
export function verdictStrip({ verdict, warning = null, details = [] }) {
  return el("section", { class: "strip", "aria-label": "verdict" },
    warning && el("p", { class: "caution" }, `! ${warning}`),
    el("p", { class: "verdict" }, verdict),
    details.filter(Boolean).map((detail) => el("p", { class: "quiet" }, detail)));
}

/** A collapsible section, which the reader opens by its heading. */
export function foldedSection(title, ...content) {
  return el("details", { class: "fold" }, el("summary", {}, el("h2", {}, title)), content);
}
