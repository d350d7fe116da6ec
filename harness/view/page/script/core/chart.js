/** Charts in SVG: axes, rows with intervals, lines with confidence bands, points with error bars. */

import { svgEl } from "./dom.js";
import { isNumber, percent } from "./format.js";
import { fittedText, textWidth, widestText } from "./lettering.js";

const WIDEST = 860;
const NARROW = 560;
const ROW = 26;
export const SERIES = 6;

/** Width of a chart in pixels: the width of the page, between 300 and `WIDEST`. */
export function pictureWidth() {
  const room = document.getElementById("main")?.clientWidth ?? WIDEST;
  return Math.max(300, Math.min(WIDEST, room));
}

/** Round values at which an axis gets ticks. */
export function niceTicks(low, high, most = 6) {
  const span = high - low || 1;
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step)
    ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

/** A function from a number to its position on an axis. */
export function linearScale(low, high, start, end) {
  return (value) => start + ((value - low) / (high - low || 1)) * (end - start);
}

/** Whether both ends of an interval are known; a missing end must not be drawn at 0. */
function hasInterval({ low, high }) {
  return isNumber(low) && isNumber(high);
}

/** An SVG element of this size, which shrinks on narrow pages and never grows. */
export function drawing(width, height, ...children) {
  const svg = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, class: "drawing" }, ...children);
  svg.style.maxWidth = `${width}px`;
  return svg;
}

/** An axis along the bottom, with tick labels, vertical grid lines and a title. */
export function bottomAxis({ x, ticks, format, title, top, bottom, left, right }) {
  return [
    ...ticks.map((tick) => svgEl("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "grid" })),
    ...ticks.map((tick) => svgEl("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, format(tick))),
    svgEl("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }),
    svgEl("text", { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, title),
  ];
}

function leftAxis({ y, ticks, format, title, left, right, top, bottom }) {
  return [
    ...ticks.map((tick) => svgEl("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" })),
    ...ticks.map((tick) =>
      svgEl("text", { x: left - 6, y: y(tick), "text-anchor": "end", "dominant-baseline": "middle" }, format(tick))),
    svgEl("line", { x1: left, x2: left, y1: top, y2: bottom, class: "axis" }),
    svgEl("text", { x: left - 46, y: top - 10, "text-anchor": "start" }, title),
  ];
}

/**
 * A chart with one row per value and its interval, from top to bottom.
 *
 * rows: {label, value, low, high, series?, holds?, mark?, href?}. An interval that may not be valid is dashed and
 * marked "(!)"; `mark` is drawn as a vertical line. axis: {title, low?, high?, format?, line?: {value, title}}.
 */
export function dotPlot({ rows, axis }) {
  const width = pictureWidth();
  const narrow = width < NARROW;
  const left = narrow ? 22 : Math.min(width * 0.36, 40 + widestText(rows.map((row) => row.label)));
  const each = narrow ? ROW + 16 : ROW;
  const right = width - 30;
  const bottom = 8 + each * rows.length;
  const { low = 0, high = 1, format = (tick) => percent(tick, 0) } = axis;
  const x = linearScale(low, high, left, right);
  const inside = (value) => x(Math.min(high, Math.max(low, value)));
  const ticks = niceTicks(low, high, narrow ? 4 : 6);
  const svg = drawing(width, bottom + 44, bottomAxis({ x, ticks, format, title: axis.title, top: 4, bottom, left, right }));
  if (axis.line)
    svg.append(svgEl("line", { x1: x(axis.line.value), x2: x(axis.line.value), y1: 4, y2: bottom, class: "reference" },
      svgEl("title", {}, axis.line.title)));
  rows.forEach((row, place) => {
    const y = 8 + each * place + (narrow ? each - 12 : each / 2);
    const label = row.label + (row.holds === false ? " (!)" : "");
    const text = narrow
      ? fittedText({ x: 8, y: y - 14 }, label, right - 8)
      : fittedText({ x: left - 10, y, "text-anchor": "end", "dominant-baseline": "middle" }, label, left - 14);
    svg.append(row.href ? svgEl("a", { href: row.href }, text) : text);
    svg.append(svgEl("g", { class: `series-${(row.series ?? 0) % SERIES}` },
      !hasInterval(row) ? null
        : svgEl("line", { x1: inside(row.low), x2: inside(row.high), y1: y, y2: y,
          class: row.holds === false ? "interval unsure" : "interval" }),
      svgEl("circle", { cx: inside(row.value), cy: y, r: 5, class: "dot" })));
    if (row.mark !== null && row.mark !== undefined)
      svg.append(svgEl("line", { x1: inside(row.mark), x2: inside(row.mark), y1: y - 9, y2: y + 9, class: "truth" }));
  });
  return svg;
}

/**
 * A line chart; a line has a confidence band if its points have intervals.
 *
 * series: {name, points: [{x, y, low?, high?}], reference?: y}. axes: {x: {title, format?}, y: {title, low?, high?,
 * format?}}. Each series has a different colour and dash pattern, and its name is in the legend.
 */
export function lineChart({ series, axes, height = 320 }) {
  const xs = series.flatMap((line) => line.points).map((point) => point.x);
  const legend = legendLines(series.map((line) => line.name), pictureWidth(), height);
  const plane = drawPlane({ axes, first: Math.min(...xs), last: Math.max(...xs), height, below: legend.height });
  plane.svg.append(...series.map((line, place) => oneLine(line, place, plane)), ...legend.nodes);
  return plane.svg;
}

/** An SVG element with both axes, and functions from values to positions; `y` keeps positions inside the chart. */
function drawPlane({ axes, first, last, height, below = 0 }) {
  const width = pictureWidth();
  const { low = 0, high = 1, format = (tick) => percent(tick, 0) } = axes.y;
  const [left, right, top, bottom] = [54, width - 26, 28, height - 46];
  const [firstX, lastX] = [axes.x.low ?? first, axes.x.high ?? last];
  const x = linearScale(firstX, lastX, left, right);
  const y = linearScale(low, high, bottom, top);
  const svg = drawing(width, height + below,
    bottomAxis({ x, ticks: niceTicks(firstX, lastX, width < NARROW ? 4 : 6), title: axes.x.title, top, bottom, left,
      right, format: axes.x.format ?? ((tick) => tick.toLocaleString("en-US")) }),
    leftAxis({ y, ticks: niceTicks(low, high, 5), format, title: axes.y.title, left, right, top, bottom }));
  return { svg, x, y: (value) => y(Math.min(high, Math.max(low, value))), left, right };
}

function oneLine(line, place, { x, y, left, right }) {
  const group = svgEl("g", { class: `series-${place % SERIES}` });
  const banded = line.points.filter(hasInterval);
  if (banded.length > 1)
    group.append(svgEl("polygon", { class: "band", points: [
      ...banded.map((point) => `${x(point.x)},${y(point.high)}`),
      ...banded.toReversed().map((point) => `${x(point.x)},${y(point.low)}`)].join(" ") }));
  group.append(svgEl("polyline", { class: "line",
    points: line.points.map((point) => `${x(point.x)},${y(point.y)}`).join(" ") }));
  if (line.points.length < 40)
    group.append(...line.points.map((point) => svgEl("circle", { cx: x(point.x), cy: y(point.y), r: 2.5, class: "dot" })));
  if (line.reference !== null && line.reference !== undefined)
    group.append(svgEl("line", { x1: left, x2: right, y1: y(line.reference), y2: y(line.reference), class: "reference" }));
  return group;
}

function legendLines(names, width, top) {
  if (names.length < 2) return { nodes: [], height: 0 };
  const each = Math.max(90, Math.min(width - 20, 50 + widestText(names)));
  const abreast = Math.max(1, Math.floor((width - 20) / each));
  const nodes = names.map((name, place) => {
    const x = 14 + each * (place % abreast);
    const y = top + 10 + 20 * Math.floor(place / abreast);
    return svgEl("g", { class: `series-${place % SERIES}` },
      svgEl("line", { x1: x, x2: x + 26, y1: y, y2: y, class: "line" }),
      fittedText({ x: x + 34, y, "dominant-baseline": "middle", class: "label" }, name, each - 40));
  });
  return { nodes, height: 12 + 20 * Math.ceil(names.length / abreast) };
}

/**
 * A scatter plot with error bars.
 *
 * points: {name, x, y, low?, high?, hollow?, ring?, href?, series?, named?}; a point with `named` shows its name.
 * axes: as in `lineChart`. steps: points joined by a step line, in the given order.
 */
export function scatterPlot({ points, axes, steps = [], height = 340 }) {
  const last = Math.max(...points.map((point) => point.x)) || 1;
  const { svg, x, y, right } = drawPlane({ axes, first: 0, last, height });
  if (steps.length > 1)
    svg.append(svgEl("path", { class: "stairs", d: steps.map((point, place) => (place
      ? `H${x(point.x)} V${y(point.y)}` : `M${x(point.x)},${y(point.y)}`)).join(" ") }));
  svg.append(...points.map((point) => onePoint(point, x, y, right)));
  return svg;
}

function onePoint(point, x, y, right) {
  const at = { cx: x(point.x), cy: y(point.y) };
  const flip = at.cx > right / 2 && at.cx + textWidth(String(point.name)) > right;
  const room = (flip ? at.cx : right + 26 - at.cx) - 12;
  const mark = svgEl("g", { class: `series-${(point.series ?? 0) % SERIES}` },
    !hasInterval(point) ? null
      : svgEl("line", { x1: at.cx, x2: at.cx, y1: y(point.low), y2: y(point.high), class: "bar" }),
    svgEl("circle", { ...at, r: 5, class: point.hollow ? "dot hollow" : "dot" }, svgEl("title", {}, point.name)),
    point.ring ? svgEl("circle", { ...at, r: 9, class: "ring" }) : null,
    point.named ? fittedText({ x: at.cx + (flip ? -8 : 8), y: at.cy - 8, "text-anchor": flip ? "end" : "start" },
      point.name, room) : null);
  return point.href ? svgEl("a", { href: point.href, "aria-label": point.name }, mark) : mark;
}
