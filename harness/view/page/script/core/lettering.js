/** Texts in drawings: how wide they are, and what of them fits. */

import { el, svgEl } from "./dom.js";

export const LETTER_SIZE = 12.5;
let pen = null;

/** Width of a text in a drawing, in its units. */
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

/** A text that fits: cut with "…" where it is wider than the room. */
export function fittedText(attributes, text, room, size = LETTER_SIZE) {
  const whole = String(text);
  const shown = cutText(whole, room, size);
  return svgEl("text", attributes, shown, shown === whole ? null : svgEl("title", {}, whole));
}

/** The longest beginning that has room, of whole characters. */
function cutText(whole, room, size) {
  if (whole.length * size < room || textWidth(whole, size) <= room) return whole; // most are short: not measured
  const letters = [...whole.slice(0, 400)];
  let [fits, most] = [1, letters.length];
  while (fits < most) {
    const half = Math.ceil((fits + most) / 2);
    if (textWidth(`${letters.slice(0, half).join("")}…`, size) <= room) fits = half;
    else most = half - 1;
  }
  return `${letters.slice(0, fits).join("")}…`;
}
