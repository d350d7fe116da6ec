/** A chart of accuracy against cost, with the Pareto front: no other candidate is both better and cheaper. */

import { scatterPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { NOTHING, scored } from "../core/format.js";
import { linkTo } from "../core/route.js";

const BARS_AT_MOST = 120;

/** Candidates as points; the winner and candidates on the front link to their pages. */
export function frontFigure(search) {
  const shown = search.rows.filter((row) => row.standing && row.standing.tokens !== null);
  if (!shown.length) return el("p", { class: "quiet" }, NOTHING);
  const front = shown.filter((row) => row.on_front).sort((a, b) => a.standing.tokens - b.standing.tokens);
  const marked = (row) => row.on_front || row.id === search.winner;
  const barred = (row) => shown.length <= BARS_AT_MOST || marked(row);
  const hasRoom = roomForNames(shown);
  const points = [...shown].sort((a, b) => marked(a) - marked(b)).map((row) => ({
    name: row.name,
    x: row.standing.tokens,
    y: row.standing.mean,
    low: barred(row) ? row.standing.low : null,
    high: barred(row) ? row.standing.high : null,
    hollow: row.raced_out,
    ring: row.id === search.winner,
    named: marked(row) && hasRoom(row),
    series: row.on_front ? 0 : 5,
    href: marked(row) ? linkTo("search", { id: search.id, candidate: row.id }) : null,
  }));
  const ends = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  const [low, high] = [Math.floor(10 * Math.min(...ends)) / 10, Math.ceil(10 * Math.max(...ends)) / 10];
  const svg = scatterPlot({
    points,
    axes: {
      x: { title: "tokens per item", low: firstToken(shown) },
      y: { title: `${search.scale}, shrunken`, low, high, format: (tick) => scored(tick, search.scale, 0) },
    },
    steps: front.map((row) => ({ x: row.standing.tokens, y: row.standing.mean })),
  });
  return pictureOf({
    name: "front",
    title: `${search.scale === "q" ? "q" : "Accuracy"} against tokens per item`,
    description: `${shown.length} candidates; ${front.length} of them are on the front: no other candidate is both better and cheaper.`,
    svg,
    note: "Bars: about 95 %. Line: the best candidates for their cost. Hollow: dropped in the race, "
      + `on fewer items. Ringed: the winner.${shown.length > BARS_AT_MOST ? " Bars are drawn for the front and the winner." : ""}`,
  });
}

/** Start of the token axis: 0, or near the smallest value if all values are far from 0. */
function firstToken(shown) {
  const tokens = shown.map((row) => row.standing.tokens);
  const [least, most] = [Math.min(...tokens), Math.max(...tokens)];
  return least > 0.6 * most ? Math.max(0, Math.floor(least - 0.1 * (most - least))) : 0;
}

/** Return a function: whether a point's name is shown. Names on the front that overlap a better one's are not. */
function roomForNames(shown) {
  const tokens = shown.map((row) => row.standing.tokens);
  const span = Math.max(...tokens) - firstToken(shown) || 1;
  const taken = [];
  const named = new Set();
  for (const row of [...shown].filter((each) => each.on_front).sort((a, b) => b.standing.mean - a.standing.mean)) {
    const [x, y] = [row.standing.tokens / span, row.standing.mean];
    if (taken.some(([otherX, otherY]) => Math.abs(otherX - x) < 0.14 && Math.abs(otherY - y) < 0.03)) continue;
    taken.push([x, y]);
    named.add(row.id);
  }
  return (row) => named.has(row.id) || !row.on_front;
}
