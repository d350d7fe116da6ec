/** What a reader must know of numbers, in words. */

import { el } from "./dom.js";
import { count, decimal, percent, plural, points } from "./format.js";

/** Sentences that a reader must know, one a line. */
export function noteList(notes) {
  return notes.length ? el("ul", {}, notes.map((note) => el("li", {}, note))) : null;
}

/** What is independent, where items come in clusters. */
export function clusterNote(items, clusters) {
  return clusters === null ? [] : [`${count(items)} items in ${plural(clusters, "cluster")}, which are the independent units`];
}

/** Two ends of an interval of shares. */
export function percentInterval(low, high) {
  return `${percent(low)} – ${percent(high)}`;
}

/** Two ends of an interval of differences, in percentage points. */
export function pointInterval(low, high) {
  return `${points(low)} – ${points(high)}`;
}

/** A p-value with as many digits as it is worth. */
export function pValue(p) {
  return p < 0.0001 ? "< 0.0001" : decimal(p, p < 0.01 ? 4 : 3);
}
