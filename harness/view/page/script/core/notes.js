/** Notes on numbers, and texts of intervals and p-values. */

import { el } from "./dom.js";
import { count, decimal, isNumber, percent, plural, points } from "./format.js";

/** Notes as a list, one per line; null without notes. */
export function noteList(notes) {
  return notes.length ? el("ul", {}, notes.map((note) => el("li", {}, note))) : null;
}

/** A sentence on the independent units if items are in clusters (`clusters` is not null). */
export function clusterNote(items, clusters) {
  return clusters === null ? [] : [`${count(items)} items in ${plural(clusters, "cluster")}, which are the independent units`];
}

/** An interval of shares, in percent; "(!)" marks an interval that may not hold. */
export function percentInterval({ low, high, holds }) {
  return `${percent(low)} – ${percent(high)}${holds ? "" : " (!)"}`;
}

/** An interval of differences, in percentage points; "(!)" marks an interval that may not hold. */
export function pointInterval({ low, high, holds }) {
  return `${points(low)} – ${points(high)}${holds ? "" : " (!)"}`;
}

/** A p-value with 3 decimal places, or 4 if it is below 0.01. */
export function pValue(p) {
  return isNumber(p) && p < 0.0001 ? "< 0.0001" : decimal(p, p < 0.01 ? 4 : 3);
}
