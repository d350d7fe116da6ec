/** The page of one model: estimates, interval by number of labels, strata, and answers that could not be used. */

import { dotPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { checksSection, runDetails } from "./evidence.js";
import { pictureOf } from "../core/figure.js";
import { count, percent } from "../core/format.js";
import { later } from "../core/later.js";
import { closingFigure, holdsText } from "./models.js";
import { modelStrip } from "./verdict.js";
import { noteList } from "../core/notes.js";
import { linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { foldedSection } from "../core/strip.js";
import { dataTable } from "../core/table.js";

export async function showModelPage({ name }, frame) {
  const overview = await readPart("overview");
  const model = overview.models?.find((each) => each.name === name);
  if (!model) return [el("h1", {}, name ?? "Model"), el("p", { class: "notice" }, overview.why ?? "There is no estimate for this model.")];
  return [
    el("h1", { class: "isolate" }, model.name),
    modelStrip(model, [[model.items_text, overview.asked, ...model.labels, ...model.reading].join(" · ")]),
    itemLinks(model, overview),
    estimatesSection(model),
    classesSection(model),
    foldedSection("Interval by number of labels",
      later(`closing-${name}`, () => readPart("closing", { model: name }),
        (found) => closingFigure([{ ...found, model: name, truth: model.truth }]))),
    frame.columns.map((column) => strataSection(name, column)),
    checksSection({ models: [model] }),
    unusedSection(model),
    runDetails(model),
  ];
}

function itemLinks(model, overview) {
  const outcomes = [["refuted", `refuted by an expert (${count(model.refuted)})`], ["confirmed", "confirmed by an expert"],
    ["unreadable", `unreadable (${count(model.items.unreadable)})`], ["failed", `failed (${count(model.items.failed)})`]];
  return el("p", {}, "Items: ", outcomes.map(([outcome, text], place) => [place ? " · " : "",
    el("a", { href: linkTo("items", { model: model.name, outcome }) }, text)]),
  overview.models.length > 1 && [" · ", el("a", { href: linkTo("compare", { first: model.name }) }, "beside another model")]);
}

function estimatesSection(model) {
  const rows = Object.entries(model.estimates).map(([name, estimate]) => ({ ...estimate, name, words: model.words[name] }));
  if (!rows.length) return null;
  const main = model.accuracy?.estimator;
  return el("section", {},
    el("h2", {}, "Estimates"),
    pictureOf({
      name: "estimates",
      title: "All estimates with their intervals",
      description: rows.map((row) => `${row.words.estimator}: ${row.words.value}, ${row.words.interval}`).join("; "),
      svg: dotPlot({
        rows: rows.map((row) => ({ label: row.words.estimator, value: row.estimate, low: row.low, high: row.high,
          holds: row.holds, mark: model.truth, series: row.name === main ? 0 : 5 })),
        axis: { title: "accuracy" },
      }),
      note: main && `Report this one: ${model.words[main].estimator}.`,
    }),
    dataTable({
      name: "estimates",
      caption: "Estimates",
      rows,
      rowClass: (row) => row.name === main && "main",
      columns: [
        { title: "estimator", value: (row) => row.words.estimator },
        { title: "accuracy", number: true, value: (row) => row.estimate, node: (row) => row.words.value },
        { title: "low", number: true, value: (row) => row.low, node: (row) => percent(row.low) },
        { title: "high", number: true, value: (row) => row.high, node: (row) => percent(row.high) },
        { title: "s.e.", number: true, value: (row) => row.se, node: (row) => percent(row.se) },
        { title: "method", value: (row) => row.words.method },
        { title: "holds", value: holdsText },
        ...["ordinary", "complementary", "abstained", "unreadable", "failed", "unlabelled", "unasked"].map((kind) =>
          ({ title: kind, number: true, value: (row) => row.n[kind] })),
      ],
    }),
    noteList([...doubtLines(rows, (row) => row.words.estimator), ...model.notes]),
    el("details", {}, el("summary", {}, "Assumptions of each estimator"), assumptionLists(rows)));
}

/** The assumptions, listed once for all estimators that share them. */
function assumptionLists(rows) {
  const lists = new Map();
  for (const row of rows) {
    const key = row.assumptions.join("\n");
    lists.set(key, { lines: row.assumptions, names: [...(lists.get(key)?.names ?? []), row.words.estimator] });
  }
  return [...lists.values()].map(({ lines, names }) => [
    el("h3", {}, lists.size === 1 ? "All estimators" : names.join(", ")), el("ul", {}, lines.map((line) => el("li", {}, line)))]);
}

function classesSection(model) {
  if (!model.by_class) return null;
  const { rows, notes } = model.by_class;
  return el("section", {},
    el("h2", {}, "Results by class"),
    rows.length > 0 && dataTable({
      name: "by-class",
      caption: "Results by class",
      rows,
      columns: [
        { title: "result", value: (row) => row.name },
        { title: "value", number: true, value: (row) => row.estimate, node: (row) => row.words.value },
        { title: "interval", value: (row) => row.words.interval },
        { title: "method", value: (row) => row.words.method },
        { title: "holds", value: holdsText },
      ],
    }),
    noteList([...doubtLines(rows, (row) => row.name), ...notes]));
}

/** Reasons why intervals may not be valid; one line per reason, with the estimates concerned. */
function doubtLines(rows, nameOf) {
  const about = new Map();
  for (const row of rows.filter((each) => !each.holds)) about.set(row.why, [...(about.get(row.why) ?? []), nameOf(row)]);
  return [...about].map(([why, names]) => `${names.length === rows.length ? "All of them" : names.join(", ")} may not hold: ${why}.`);
}

function strataSection(model, column) {
  return foldedSection(`By ${column}`,
    later(`strata\n${model}\n${column}`, () => readPart("strata", { column, model }), (found) => {
      if (found.why) return el("p", { class: "quiet" }, found.why);
      const rows = found.strata.filter((row) => row.estimate);
      return el("div", {},
        rows.length > 0 && pictureOf({
          name: `strata-${column}`.replace(/[^\w-]/g, "-"),
          title: `Accuracy by ${column}`,
          description: rows.map((row) => `${row.stratum}: ${row.value_text}, ${row.interval_text}`).join("; "),
          svg: dotPlot({
            rows: rows.map((row) => ({ label: row.stratum, value: row.estimate.estimate, low: row.estimate.low,
              high: row.estimate.high, holds: row.estimate.holds, href: linkTo("items", { column, stratum: row.stratum }) })),
            axis: { title: "accuracy" },
          }),
          note: "Each interval holds separately, not all of them together.",
        }),
        dataTable({
          name: `strata-${column}`,
          caption: `Accuracy by ${column}`,
          rows: found.strata,
          columns: [
            { title: column, value: (row) => row.stratum },
            { title: "accuracy", number: true, value: (row) => row.estimate?.estimate ?? null, node: (row) => row.value_text },
            { title: "low", number: true, value: (row) => row.estimate?.low ?? null, node: (row) => percent(row.estimate?.low) },
            { title: "high", number: true, value: (row) => row.estimate?.high ?? null, node: (row) => percent(row.estimate?.high) },
            { title: "items", number: true, value: (row) => row.items },
            { title: "answered by model", number: true, value: (row) => row.predicted },
            { title: "also by an expert", number: true, value: (row) => row.answered },
            { title: "holds", value: (row) => (row.estimate ? (row.estimate.holds ? "yes" : row.estimate.why) : row.why) },
          ],
        }));
    }));
}

function unusedSection(model) {
  const kinds = (outcome, counts) => Object.entries(counts).map(([reason, number]) => ({ outcome, reason, number }));
  const rows = [...kinds("unreadable", model.unreadable), ...kinds("failed", model.failed)];
  return el("section", {},
    el("h2", {}, "Unusable answers"),
    rows.length === 0 ? el("p", {}, `None: all ${count(model.items.predicted)} answers were readable.`) : dataTable({
      name: "unused",
      caption: "Unusable answers by reason",
      rows,
      columns: [
        { title: "reason", value: (row) => row.reason,
          node: (row) => el("a", { href: linkTo("items", { model: model.name, outcome: row.outcome }) }, row.reason) },
        { title: "what", value: (row) => (row.outcome === "failed" ? "failed: left out" : "unreadable: counts as wrong") },
        { title: "answers", number: true, value: (row) => row.number },
      ],
    }));
}
