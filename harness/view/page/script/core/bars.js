/** Stacked bars: the parts of each bar are drawn from left to right in the order of the legend. */

import { SERIES, bottomAxis, drawing, linearScale, niceTicks, pictureWidth } from "./chart.js";
import { svgEl } from "./dom.js";
import { count } from "./format.js";
import { fittedText, textWidth, widestText } from "./lettering.js";

const BAR_ROW = 46;
const BAR_HEIGHT = 18;

/**
 * One bar per row, with the row's label above it, and the number of every part inside the part if it fits.
 *
 * rows: {label, parts: [number]}. names: names of the parts. A part whose name is in `hollow` is drawn as an outline.
 */
export function partBars({ rows, names, hollow = [], title }) {
  const width = pictureWidth();
  const bottom = 12 + BAR_ROW * rows.length;
  const most = Math.max(1, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part, 0)));
  const x = linearScale(0, most, 10, width - 16);
  const ticks = niceTicks(0, most, width < 560 ? 4 : 6).filter(Number.isInteger);
  const legend = barLegend(names, hollow, width, bottom + 56);
  return drawing(width, bottom + 56 + legend.height,
    bottomAxis({ x, ticks, format: count, title, top: 4, bottom, left: 10, right: width - 16 }),
    rows.map((row, place) => oneBar(row, 8 + BAR_ROW * place, { x, names, hollow, width })),
    legend.nodes);
}

function oneBar(row, top, { x, names, hollow, width }) {
  let before = 0;
  const parts = row.parts.map((part, place) => {
    const start = x(before);
    before += part;
    const room = x(before) - start;
    if (!part) return null;
    const words = `${count(part)} ${names[place]}`;
    const shown = [words, count(part)].find((text) => textWidth(text) + 8 < room);
    return svgEl("g", { class: `series-${place % SERIES}` },
      svgEl("rect", { x: start, y: top + 18, width: room, height: BAR_HEIGHT,
        class: hollow.includes(names[place]) ? "part hollow" : "part" }, svgEl("title", {}, `${row.label}: ${words}`)),
      shown && svgEl("text", { x: start + 4, y: top + 18 + BAR_HEIGHT / 2, "dominant-baseline": "central",
        class: hollow.includes(names[place]) ? "label" : "on-part" }, shown));
  });
  return svgEl("g", {}, fittedText({ x: 10, y: top + 12 }, row.label, width - 30), parts);
}

function barLegend(names, hollow, width, top) {
  const each = 38 + widestText(names);
  const abreast = Math.max(1, Math.floor((width - 20) / each));
  const nodes = names.map((name, place) => {
    const left = 10 + each * (place % abreast);
    const y = top + 20 * Math.floor(place / abreast);
    return svgEl("g", { class: `series-${place % SERIES}` },
      svgEl("rect", { x: left, y, width: 14, height: 12, class: hollow.includes(name) ? "part hollow" : "part" }),
      svgEl("text", { x: left + 20, y: y + 10, class: "label" }, name));
  });
  return { nodes, height: 20 * Math.ceil(names.length / abreast) };
}
