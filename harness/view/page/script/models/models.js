/** Tables and charts of all models: main estimates, ranks, differences, costs, and intervals by number of labels. */

import { dotPlot, lineChart, scatterPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { NOTHING, count, dollars, isNumber, levelText, percent, points } from "../core/format.js";
import { pValue } from "../core/notes.js";
import { linkTo } from "../core/route.js";
import { foldedSection } from "../core/strip.js";
import { dataTable } from "../core/table.js";

const NAMED = 12;

/** The main estimate of a model with its texts; null if the model has no estimate. */
export function headlineOf(model) {
  const name = model.accuracy?.estimator;
  return name ? { ...model.estimates[name], words: model.words[name] } : null;
}

/** The reason why a model has no estimate; empty if none is known. */
export function reasonOf(model) {
  return model.unusable || Object.values(model.undefined)[0] || "";
}

/** A table of models, the best first; models that the data cannot distinguish share ranks. */
export function rankingTable(overview, found) {
  const ranks = new Map((found.ranking ?? []).map((row) => [row.model, row.ranks]));
  const value = (model) => headlineOf(model)?.estimate ?? -1;
  const rows = overview.models.toSorted((a, b) => (ranks.get(a.name)?.[0] ?? 1e9) - (ranks.get(b.name)?.[0] ?? 1e9)
    || value(b) - value(a));
  const opened = rows.some((model) => isNumber(model.truth));
  const rankText = (model) => {
    const rank = ranks.get(model.name);
    if (!rank) return found.comparisons?.length ? twoModels(model.name, found.comparisons) : NOTHING;
    return rank[0] === rank[1] ? String(rank[0]) : `${rank[0]}–${rank[1]}`;
  };
  return el("section", {},
    el("h2", {}, "Models"),
    dataTable({
      name: "models",
      caption: "Accuracy by experts' answers, best first",
      rows,
      columns: [
        { title: "model", value: (m) => m.name, node: (m) => el("a", { href: linkTo("model", { name: m.name }) }, m.name) },
        { title: "rank", value: rankText, hint: "models with the same rank cannot be told apart" },
        { title: "accuracy", number: true, value: (m) => headlineOf(m)?.estimate ?? null,
          node: (m) => headlineOf(m)?.words.value ?? NOTHING },
        { title: "interval, low", number: true, value: (m) => headlineOf(m)?.low ?? null,
          node: (m) => percent(headlineOf(m)?.low) },
        { title: "high", number: true, value: (m) => headlineOf(m)?.high ?? null,
          node: (m) => percent(headlineOf(m)?.high) },
        { title: "checks", value: checkCounts,
          node: (m) => el("span", { class: checkCounts(m).includes("FAILED") && "caution" }, checkCounts(m)) },
        { title: "holds", value: (m) => holdsText(headlineOf(m)) ?? reasonOf(m) },
        { title: "items answered", number: true, value: (m) => `${count(m.items.predicted)} of ${count(m.items.of)}` },
        { title: "unreadable", number: true, value: (m) => m.items.unreadable, hint: "counts as wrong" },
        ...(opened ? [{ title: "by the key", number: true, value: (m) => m.truth, node: (m) => percent(m.truth) }] : []),
        ...(rows.some((m) => m.usd) ? [{ title: "cost", number: true, value: (m) => m.usd, node: (m) => dollars(m.usd) }] : []),
      ],
    }),
    found.why && overview.models.length > 1 && el("p", { class: "quiet" }, `Not ranked: ${found.why}`),
    found.ranking && el("p", { class: "quiet" },
      `All ranks hold jointly at ${levelText(found.level)}; models with the same rank cannot be told apart.`, found.remark && ` Note: ${found.remark}.`));
}

function twoModels(name, [pair]) {
  if (name !== pair.first && name !== pair.second) return NOTHING;
  if (pair.verdict === "tie") return "tie";
  return pair.verdict === name ? "1" : "2";
}

/** Whether an interval is valid, as text; the table lists the reasons once below its rows. */
export function holdsText(quoted) {
  return quoted && (quoted.holds ? "yes" : "may not hold");
}

function checkCounts(model) {
  const number = (state) => model.checks.filter((check) => check.state === state).length;
  if (!model.checks.length) return "none";
  return number("failed") ? `${number("failed")} FAILED` : `${number("passed")} passed`;
}

/** A chart of the main estimate of every model with its interval. */
export function intervalsFigure(overview) {
  const models = overview.models.filter(headlineOf).toSorted((a, b) => headlineOf(b).estimate - headlineOf(a).estimate);
  if (!models.length) return null;
  const opened = models.some((model) => isNumber(model.truth));
  const rows = models.map((model) => {
    const quoted = headlineOf(model);
    return { label: model.name, value: quoted.estimate, low: quoted.low, high: quoted.high, holds: quoted.holds,
      mark: model.truth, href: linkTo("model", { name: model.name }) };
  });
  return pictureOf({
    name: "intervals",
    title: "Accuracy of every model with its interval",
    description: rows.map((row) => `${row.label}: ${percent(row.value)}, ${percent(row.low)} to ${percent(row.high)}`)
      .join("; "),
    svg: dotPlot({ rows, axis: { title: "accuracy" } }),
    note: [`${levelText(headlineOf(models[0]).level)} intervals`, opened && "upright line: by the opened key",
      rows.some((row) => !row.holds) && "dashed, (!): may not hold"].filter(Boolean).join(" · "),
  });
}

/** A chart of the intervals of several models by number of labels. */
export function closingFigure(closings) {
  const drawn = closings.filter((closing) => closing.points.length);
  const reasons = closings.filter((closing) => closing.why)
    .map((closing) => el("p", { class: "quiet" }, `${closing.model}: ${closing.why}`));
  if (!drawn.length) return el("div", {}, el("p", { class: "quiet" }, "Nothing to draw yet."), reasons);
  const series = drawn.map((closing) => ({
    name: markedName(closing),
    reference: closing.truth,
    points: closing.points.map((point) => ({ x: point.labels, y: point.estimate, low: point.low, high: point.high })),
  }));
  const doubtful = drawn.filter(doubtOf);
  const doubts = doubtful.map((closing) =>
    el("p", {}, `(!) ${closing.model}: the interval may not hold: ${doubtOf(closing)}`));
  const watchable = drawn.every((closing) => closing.watchable);
  const last = drawn.map((closing) => closing.points.at(-1));
  const each = doubtful.length ? "Each interval without (!)" : "Each interval";
  const kind = doubtful.length === drawn.length ? "" : watchable
    ? `${each} holds at every number of answers: you may look at any time, and stop when you like.`
    : `${each} holds at a number of answers that was fixed beforehand, not where it looks best.`;
  return el("div", {}, pictureOf({
    name: `closing-${drawn.map((closing) => closing.model).join("-")}`.replace(/[^\w-]/g, "-"),
    title: "Accuracy and its interval by number of labels",
    description: drawn.map((closing, place) =>
      `${markedName(closing)}: with ${last[place].labels} answers ${percent(last[place].low)} to ${percent(last[place].high)}`)
      .join("; "),
    svg: lineChart({ series, axes: { x: { title: "answers, in the order of the draw" }, y: { title: "accuracy" } } }),
    note: [kind, "Answers are in the order of the draw, not in the order of arrival."].filter(Boolean).join(" "),
  }), doubts, reasons);
}

/** The reason why an interval by number of labels may not hold, the newest one; empty if all of them hold. */
function doubtOf(closing) {
  return closing.points.findLast((point) => !point.holds)?.why ?? "";
}

function markedName(closing) {
  return doubtOf(closing) ? `${closing.model} (!)` : closing.model;
}

/** A chart of accuracy against the cost of a model's run; null if no cost is known. */
export function costFigure(overview) {
  const known = overview.models.filter((model) => model.usd && headlineOf(model));
  if (!known.length) return null;
  const chart = known.map((model) => {
    const quoted = headlineOf(model);
    return { name: model.name, x: model.usd, y: quoted.estimate, low: quoted.low, high: quoted.high,
      named: known.length <= NAMED, href: linkTo("model", { name: model.name }) };
  });
  const unknown = overview.models.length - known.length;
  return el("section", {}, el("h2", {}, "Cost and accuracy"), pictureOf({
    name: "cost",
    title: "Accuracy against the cost of the run",
    description: chart.map((point) => `${point.name}: ${dollars(point.x)}, ${percent(point.y)}`).join("; "),
    svg: scatterPlot({ points: chart,
      axes: { x: { title: "cost of the run, US dollars", format: dollars }, y: { title: "accuracy" } } }),
    note: unknown ? `${unknown} of ${overview.models.length} models have no known cost.` : null,
  }));
}

/** Whether the intervals of all pairs are simultaneous: other adjustments than max-z change only the p-values. */
export function isJoint(pair) {
  return pair.adjusted === "max-z";
}

/** Name of the kind of a pair's interval. */
export function intervalKind(pair) {
  return isJoint(pair) ? "joint (simultaneous) interval" : "interval";
}

/** All pairs of models, compared on the same items and answers. */
export function differencesSection(found) {
  if (found.why || !found.comparisons?.length) return el("div", {});
  const pairs = found.comparisons;
  const shown = pairs.toSorted((a, b) => a.p_value - b.p_value);
  return foldedSection(`Differences: ${count(pairs.length)} ${pairs.length === 1 ? "pair" : "pairs"} of models`,
    el("p", { class: "quiet" },
      `${count(found.items.predicted)} of ${count(found.items.of)} items were answered by all models; `
      + `${count(found.questions.answered)} of ${count(found.questions.drawn)} questions answered. Each pair links to its page.`),
    dataTable({
      name: "differences",
      caption: `Differences in accuracy, percentage points, with ${levelText(pairs[0].level)} ${intervalKind(pairs[0])}s`,
      rows: shown,
      columns: [
        { title: "pair", value: (c) => `${c.first} − ${c.second}`,
          node: (c) => el("a", { href: linkTo("compare", { first: c.first, second: c.second }) }, `${c.first} − ${c.second}`) },
        { title: "better?", value: (c) => (c.verdict === "tie" ? "tie" : `${c.verdict} is better`) },
        { title: "difference", number: true, value: (c) => c.difference, node: (c) => points(c.difference) },
        { title: "low", number: true, value: (c) => c.low, node: (c) => points(c.low) },
        { title: "high", number: true, value: (c) => c.high, node: (c) => points(c.high) },
        { title: "p", number: true, value: (c) => c.p_value, node: (c) => pValue(c.p_value) },
        { title: "method", value: (c) => c.method + (c.adjusted === "none" ? "" : `, ${c.adjusted}`) },
        { title: "items", number: true, value: (c) => c.items },
        { title: "answers", number: true, value: (c) => c.questions },
        { title: "holds", value: holdsText },
      ],
    }));
}
