/** Measure texts in charts, and shorten texts that do not fit. */

import { el, svgEl } from "./dom.js";

const LETTER_SIZE = 12.5;
let pen = null;

/** Width of a text in a chart, in the chart's units. */
export function textWidth(text, size = LETTER_SIZE) {
  if (!pen) {
    pen = el("canvas").getContext("2d");
    pen.font = `${LETTER_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  }
  return (pen.measureText(text).width * size) / LETTER_SIZE;
}

/** Width of the widest of some texts. */
export function widestText(texts) {
  return Math.max(0, ...texts.map((text) => textWidth(text)));
}

/** A text that fits into `room`; if it is too wide, its middle is replaced by "…". */
export function fittedText(attributes, text, room, size = LETTER_SIZE) {
  const whole = String(text);
  const shown = cutText(whole, room, size);
  return svgEl("text", attributes, shown, shown === whole ? null : svgEl("title", {}, whole));
}

/** The longest beginning and end that fit together. The end is kept, because names often differ only there. */
function cutText(whole, room, size) {
  if (whole.length * size < room || textWidth(whole, size) <= room) return whole; // measuring is slow, and most texts are short
  const letters = [...whole];
  const keep = (kept) => `${letters.slice(0, Math.ceil(kept / 2)).join("")}…${letters.slice(letters.length - Math.floor(kept / 2)).join("")}`;
  let [fits, most] = [1, Math.min(letters.length, 400)];
  while (fits < most) {
    const half = Math.ceil((fits + most) / 2);
    if (textWidth(keep(half), size) <= room) fits = half;
    else most = half - 1;
  }
  return keep(fits);
}
