/** Candidates as a tree: generations from left to right, siblings together; arrow keys move between candidates. */

import { el, svgEl } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { NOTHING, percent, scored } from "../core/format.js";
import { fittedText } from "../core/lettering.js";
import { linkTo } from "../core/route.js";

const LINEAGE_BOXED = 60;
const LINEAGE_LARGE = { column: 200, row: 46, width: 168, height: 38, edge: 4 };
const LINEAGE_SMALL = { column: 74, row: 17, width: 10, height: 10, edge: 6 };

/** Compute the position of each candidate: right of its parents, in depth-first order from the roots. */
function placeLineage(rows) {
  const known = new Set(rows.map((row) => row.id));
  const depth = new Map();
  const children = new Map();
  for (const row of rows) {
    const parents = row.parents.filter((parent) => depth.has(parent));
    depth.set(row.id, 1 + Math.max(-1, ...parents.map((parent) => depth.get(parent))));
    const first = known.has(row.parents[0]) ? row.parents[0] : "";
    if (!children.has(first)) children.set(first, []);
    children.get(first).push(row.id);
  }
  const lines = new Map();
  const order = [];
  let used = 0;
  const waiting = [...(children.get("") ?? [])].reverse().map((id) => [id, null]);
  while (waiting.length) {
    const [id, line] = waiting.pop();
    lines.set(id, line ?? used++); // a first child is in the line of its parent, each further child in a new line below
    order.push(id);
    const family = children.get(id) ?? [];
    for (let place = family.length - 1; place >= 0; place--) waiting.push([family[place], place ? null : lines.get(id)]);
  }
  return { order, depth, lines, children, height: used, width: 1 + Math.max(0, ...depth.values()) };
}

/** A candidate with all its ancestors and its children, of which only as many as fit into `LINEAGE_BOXED`. */
export function familyOf(rows, id) {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const kept = new Set();
  const climb = [id];
  while (climb.length) {
    const name = climb.pop();
    if (kept.has(name) || !byId.has(name)) continue;
    kept.add(name);
    climb.push(...byId.get(name).parents);
  }
  for (const row of rows) if (row.parents.includes(id) && kept.size < LINEAGE_BOXED) kept.add(row.id);
  return rows.filter((row) => kept.has(row.id));
}

/** Score of a candidate as a short text. */
function standingText(row) {
  const found = row.standing;
  if (!found) return row.answers ? "all its answers failed" : "no answers yet";
  if (found.scale === "q") return `${scored(found.mean, "q")} (${found.low.toFixed(3)}–${found.high.toFixed(3)})`;
  return `${percent(found.mean, 0)} (${(100 * found.low).toFixed(0)}–${(100 * found.high).toFixed(0)})`;
}

/** The tree as a figure that scrolls in a separate box; arrow keys move between candidates. */
export function lineageFigure({ name, title, rows, search, winner, here = null }) {
  const placed = placeLineage(rows);
  const boxed = rows.length <= LINEAGE_BOXED;
  const size = boxed ? LINEAGE_LARGE : LINEAGE_SMALL;
  const byId = new Map(rows.map((row) => [row.id, row]));
  const at = (id) => [size.edge + placed.depth.get(id) * size.column, size.edge + placed.lines.get(id) * size.row];
  const width = 2 * size.edge + (placed.width - 1) * size.column + (boxed ? size.width : 150);
  const height = 2 * size.edge + placed.height * size.row;
  const svg = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "lineage" });
  svg.append(svgEl("path", { class: "descent", d: descentPath(rows, at, size) }));
  const nodes = new Map();
  const address = linkTo("search", { id: search, candidate: "-" }).slice(0, -1);
  for (const id of placed.order) {
    const node = lineageNode(byId.get(id), { at: at(id), size, boxed, address, winner, here });
    nodes.set(id, node);
    svg.append(node);
  }
  letArrowsMove(svg, nodes, placed, byId, here ?? winner);
  const figure = pictureOf({
    name,
    title,
    description: `${rows.length} candidates, each to the right of its parent. `
      + "Arrow keys go to the next, the parent and the first child.",
    svg,
    note: boxed
      ? "Thick frame: on the front of scores and tokens. Filled: the winner. Broken frame: dropped in the race."
      : "Large dot: on the front of scores and tokens. Ringed and named: the winner. Hollow: dropped in the race.",
  });
  const box = el("div", { class: "scroll lineage-box", onscroll: () => lineageScroll.set(name, [box.scrollLeft, box.scrollTop]) });
  svg.replaceWith(box);
  box.append(svg);
  if (nodes.has(here)) requestAnimationFrame(() => showInBox(box, at(here), size));
  return figure;
}

function showInBox(box, [x, y], size) {
  box.scrollTo(x + size.width / 2 - box.clientWidth / 2, y + size.height / 2 - box.clientHeight / 2);
}

const lineageScroll = new Map();

/** Restore the scroll position of a tree after it was inserted into the page again. */
export function keepLineageScroll(name, figure) {
  const place = lineageScroll.get(name);
  if (place) requestAnimationFrame(() => figure.querySelector(".lineage-box").scrollTo(...place));
}

function descentPath(rows, at, size) {
  const known = new Set(rows.map((row) => row.id));
  const parts = [];
  for (const row of rows)
    for (const parent of row.parents) {
      if (!known.has(parent)) continue;
      const [x0, y0] = [at(parent)[0] + size.width, at(parent)[1] + size.height / 2];
      const [x1, y1] = [at(row.id)[0], at(row.id)[1] + size.height / 2];
      const bend = (x0 + x1) / 2;
      parts.push(`M${x0},${y0}C${bend},${y0} ${bend},${y1} ${x1},${y1}`);
    }
  return parts.join("");
}

function lineageNode(row, { at: [x, y], size, boxed, address, winner, here }) {
  const won = row.id === winner;
  const state = [won && "winner", row.on_front && "on the front", row.raced_out && "dropped in the race"];
  const words = [row.name, standingText(row), row.op, ...state].filter(Boolean).join(", ");
  const kinds = ["candidate", won && "won", row.on_front && "front", row.raced_out && "out", row.id === here && "here"];
  const link = svgEl("a", {
    id: `candidate-${row.id}`,
    "data-id": row.id,
    href: `${address}${row.id}`,
    class: kinds.filter(Boolean).join(" "),
    "aria-current": row.id === here && "page",
    tabindex: "-1",
  }, svgEl("title", {}, row.note ? `${words}: ${row.note}` : words));
  if (boxed)
    link.append(
      svgEl("rect", { x, y, width: size.width, height: size.height, rx: 5 }),
      fittedText({ x: x + 8, y: y + 16 }, row.name, size.width - 14),
      fittedText({ x: x + 8, y: y + 31, class: "small" }, `${standingText(row)} · ${row.op}`, size.width - 14, 11));
  else {
    const centre = { cx: x + size.width / 2, cy: y + size.height / 2 };
    link.append(svgEl("circle", { ...centre, r: row.on_front || won ? 5.5 : 3.5 }));
    if (won) link.append(svgEl("circle", { ...centre, r: 8, class: "ring" }));
    if (won || row.id === here) link.append(fittedText({ x: x + 18, y: y + 9 }, row.name, 130));
  }
  return link;
}

/** Make one node reachable with Tab; from there, arrow keys go to neighbours, the parent and the first child. */
function letArrowsMove(svg, nodes, placed, byId, start) {
  const place = new Map(placed.order.map((id, index) => [id, index]));
  let stop = nodes.has(start) ? start : placed.order[0];
  if (stop === undefined) return;
  nodes.get(stop).setAttribute("tabindex", "0");
  const steps = {
    ArrowDown: (id) => placed.order[place.get(id) + 1],
    ArrowUp: (id) => placed.order[place.get(id) - 1],
    ArrowLeft: (id) => byId.get(id).parents.find((parent) => nodes.has(parent)),
    ArrowRight: (id) => placed.children.get(id)?.[0],
    Home: () => placed.order[0],
    End: () => placed.order.at(-1),
  };
  svg.addEventListener("focusin", (event) => {
    const id = event.target.closest?.("a.candidate")?.dataset.id;
    if (!id || id === stop) return;
    nodes.get(stop).setAttribute("tabindex", "-1");
    stop = id;
    nodes.get(stop).setAttribute("tabindex", "0");
  });
  svg.addEventListener("keydown", (event) => {
    const id = event.target.closest?.("a.candidate")?.dataset.id;
    const next = id && !event.ctrlKey && !event.metaKey && !event.altKey && steps[event.key]?.(id);
    if (!next) return;
    event.preventDefault();
    nodes.get(next).focus();
    nodes.get(next).scrollIntoView?.({ block: "nearest", inline: "nearest" });
  });
}

/** A candidate's accuracy, rounded so that equal accuracies do not differ by floating-point errors. */
export function exactMean(row) {
  return row.standing ? Math.round(1e9 * row.standing.mean) : -1;
}

/** Badges of a candidate: winner, on the front, dropped in the race. */
export function candidateBadges(row, winner) {
  return [
    row.id === winner && el("span", { class: "badge confirmed" }, "winner"),
    row.on_front && el("span", { class: "badge" }, "on the front"),
    row.raced_out && el("span", { class: "badge" }, "dropped in the race"),
  ].filter(Boolean).flatMap((badge) => [badge, " "]);
}

/** The verdict on a candidate against its parent, as text. */
export function verdictText(row) {
  const found = row.standing;
  if (!found?.verdict) return NOTHING;
  return `${found.verdict} (P ${found.p_better.toFixed(2)})`;
}
