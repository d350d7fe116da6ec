/** Whether a model is better than the average annotator: the verdict, its conditions, and all bounds. */

import { dotPlot, lineChart } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { count, decimal, isNumber, levelText, percent, plural } from "../core/format.js";
import { clusterNote, noteList } from "../core/notes.js";
import { dataTable } from "../core/table.js";

const CEILING_SIGNS = { U_star: "U*", U_e: "U(e)", U_panel: "U(p)", U_t: "U(t)" };

export function drawCertificate({ name, file, certificate: found, undefined: why }, ceilings) {
  return [
    found.conditions.length > 0 && el("ul", {}, found.conditions.map((condition) =>
      el("li", {}, "It is not known whether the certificate's condition is met: "
        + `${condition.unseen}. The condition would be refuted by ${condition.refuted_by}.`))),
    boundsPicture(name, file, found),
    boundsTable(file, found, ceilings),
    found.growth.length > 1 ? growthPicture(name, file, found)
      : why.growth && el("p", { class: "quiet" }, `No picture by annotators per item: ${why.growth}`),
    noteList([
      ...clusterNote(found.N, found.clusters),
      ...found.notes,
      ...Object.entries(found.undefined).map(([what, reason]) => `${what}: not available, ${reason}`),
    ]),
    assumptionLines(name, found),
    directTable(file, found),
  ];
}

function boundsPicture(name, file, found) {
  const rows = [
    { label: "the model, at least", value: found.L, low: found.L_low, high: found.L, series: 0 },
    ...Object.keys(CEILING_SIGNS).filter((key) => found.against[key]).map((key) => ({
      label: `annotators, at most ${CEILING_SIGNS[key]}${found.certified.includes(key) ? " ✓" : ""}`,
      value: found.against[key].bound, low: found.against[key].bound, high: found.against[key].high,
      series: found.valid.includes(key) ? 1 : 5,
    })),
  ];
  const least = Math.min(...rows.map((row) => row.low));
  return pictureOf({
    name: `certificate-${file}`,
    title: `Accuracy of ${name} and of the average annotator: bounds from ${plural(found.N, "item")}`,
    description: rows.map((row) => `${row.label} ${percent(row.value)}, with confidence `
      + percent(row.value === row.high ? row.low : row.high)).join("; "),
    svg: dotPlot({
      rows,
      axis: { title: "accuracy (share of items)", low: Math.max(0, Math.floor(10 * least) / 10), high: 1 },
    }),
    note: `A bar ends at the one-sided ${levelText(found.level)} confidence bound. The model is shown better where its `
      + "bar lies right of an annotators' bar; ✓ marks what is certified.",
  });
}

function boundsTable(file, found, ceilings) {
  const rows = [
    { what: "the model, at least", bound: found.L, confident: found.L_low, confidence: null, note: "its agreement with the vote" },
    ...Object.keys(CEILING_SIGNS).filter((key) => found.against[key]).map((key) => ({
      what: `the average annotator, at most ${ceilings[key]}`,
      bound: found.against[key].bound,
      confident: found.against[key].high,
      confidence: found.against[key].confidence,
      note: found.certified.includes(key) ? "certified" : found.valid.includes(key) ? "not certified" : "does not hold here",
    })),
  ];
  return dataTable({
    name: `certificate-${file}`,
    caption: `Bounds, from ${plural(found.N, "item")}, annotators per item: ${found.annotators || "varying"}`,
    columns: [
      { title: "accuracy of", value: (row) => row.what },
      { title: "bound", number: true, value: (row) => row.bound, node: (row) => percent(row.bound, 2) },
      { title: `at ${levelText(found.level)}`, number: true, value: (row) => row.confident, hint: "one-sided confidence bound",
        node: (row) => percent(row.confident, 2) },
      { title: "confidence that the model is above", number: true, value: (row) => row.confidence,
        node: (row) => (row.confidence === null ? "" : row.confidence > 0 ? percent(row.confidence, 2) : "none") },
      { title: "what it is", value: (row) => row.note },
    ],
    rows,
  });
}

function growthPicture(name, file, { growth }) {
  const lines = { L: "the model, at least", ...Object.fromEntries(Object.entries(CEILING_SIGNS)
    .map(([key, sign]) => [key, `annotators, at most ${sign}`])) };
  const series = Object.entries(lines).map(([key, label]) => ({
    name: label,
    points: growth.filter((point) => isNumber(point[key])).map((point) => ({ x: point.annotators, y: point[key] })),
  })).filter((line) => line.points.length);
  const values = series.flatMap((line) => line.points.map((point) => point.y));
  return pictureOf({
    name: `growth-${file}`,
    title: `Bounds of ${name} and the average annotator, with more annotators per item`,
    description: series.map((line) => `${line.name}: ${line.points.map((point) => percent(point.y)).join(", ")}`).join("; "),
    svg: lineChart({
      series,
      axes: {
        x: { title: "annotators per item", format: (tick) => (Number.isInteger(tick) ? count(tick) : "") },
        y: { title: "accuracy (share of items)", low: Math.max(0, Math.floor(10 * Math.min(...values)) / 10), high: 1 },
      },
    }),
    note: "Means over shuffles of the annotators; these lines have no intervals.",
  });
}

function assumptionLines(name, found) {
  const check = found.check
    ? [`Of ${plural(found.check.oracle_items, "item")} the truth is known: annotators ${percent(found.check.human_accuracy)}, `
      + `model ${percent(found.check.model_accuracy)}, vote ${percent(found.check.aggregate_accuracy)} right.`]
    : ["Not checked: no item's truth is known here. oversight panel certify --oracle FILE, with the truth of some items drawn "
      + "at random, checks the assumptions."];
  return el("details", {}, el("summary", {},
    `What ${name}'s certificate assumes (${found.assumptions.length}), and published scores`),
    noteList([...found.assumptions, ...check,
      `published scores against U(e): HMS ${decimal(found.hms, 4)}, OMS ${decimal(found.oms, 4)}, OMS at its optimum `
      + decimal(found.oms_exact, 4)]));
}

function directTable(file, found) {
  if (!found.direct.length) return null;
  return dataTable({
    name: `direct-${file}`,
    caption: "The direct route, without these assumptions: ask experts about items on which model and a random annotator differ "
      + `(${percent(found.disagreement)} of items)`,
    columns: [
      { title: "share of these items on which the model is right", value: (row) => row.win_share, node: (row) => percent(row.win_share, 0) },
      { title: "questions for 80 % power", number: true, value: (row) => row.questions },
      { title: "items screened", number: true, value: (row) => row.screened },
    ],
    rows: found.direct,
  });
}
