/** How well annotators agree: overall, per class, and per annotator. */

import { dotPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { NOTHING, count, decimal, isNumber, levelText, percent, plural } from "../core/format.js";
import { clusterNote, noteList } from "../core/notes.js";
import { dataTable } from "../core/table.js";

const MOST_DRAWN = 40;

export function drawAgreement(found, reliable) {
  const { alpha } = found;
  const notes = [
    ...clusterNote(found.items, found.clusters),
    ...found.assumptions.map((assumed) => `assumed: ${assumed}`),
    ...Object.entries(found.undefined).map(([name, why]) => `${name}: not computed, ${why}`),
    ...(alpha?.notes ?? []),
  ];
  return [
    agreementPicture(found, reliable),
    noteList(notes),
    coefficientTable(found),
    classTable(found, reliable),
    peopleTable(found),
  ];
}

function agreementPicture({ alpha, categories, level, items, annotators }, reliable) {
  const known = Object.entries(categories).filter(([, value]) => isNumber(value)).sort((a, b) => b[1] - a[1]);
  const classes = known.slice(-MOST_DRAWN);
  const undrawn = Object.keys(categories).length - known.length;
  const rows = [
    ...(alpha ? [{ label: `all classes (${count(alpha.items)} items)`, value: alpha.value, low: alpha.low,
      high: alpha.high, series: 1 }] : []),
    ...classes.map(([name, value]) => ({ label: `${name} against the rest`, value, series: 0 })),
  ];
  if (!rows.length) return null;
  const least = Math.min(0, ...rows.map((row) => Math.min(row.value, row.low ?? row.value)));
  return pictureOf({
    name: "agreement",
    title: `Agreement of ${plural(annotators, "annotator")} on ${plural(items, "item")}`,
    description: `Krippendorff's α of all classes ${intervalWords(alpha)}; of single classes `
      + `${classes.map(([name, value]) => `${name} ${decimal(value)}`).join(", ")}.`,
    svg: dotPlot({
      rows,
      axis: { title: `Krippendorff's α, ${level} (1 perfect, 0 as by chance)`, low: Math.floor(10 * least) / 10, high: 1,
        format: (tick) => decimal(tick, 2), line: { value: reliable, title: `reliable from ${reliable}` } },
    }),
    note: `Dashed: ${reliable}, from which a class counts as reliable (a rule of thumb). `
      + `${alpha?.low === null || !alpha ? "There is no interval" : `Interval ${levelText(alpha.level)}, of all classes`}.`
      + (undrawn ? ` Not drawn: ${plural(undrawn, "class", "classes")} whose α is undefined.` : "")
      + (known.length > MOST_DRAWN ? ` Not drawn: ${plural(known.length - MOST_DRAWN, "class", "classes")} of higher α.` : ""),
  });
}

function intervalWords(alpha) {
  if (!alpha) return "not computed";
  const ends = isNumber(alpha.low) ? `, ${levelText(alpha.level)} interval ${decimal(alpha.low)} to ${decimal(alpha.high)}` : "";
  return `${decimal(alpha.value)}${ends}`;
}

function coefficientTable(found) {
  const { alpha } = found;
  const rows = [
    { name: `Krippendorff's α, ${found.level}`, value: alpha?.value ?? null, low: alpha?.low ?? null, high: alpha?.high ?? null,
      of: alpha ? `${plural(alpha.pairable, "rating")} of ${plural(alpha.items, "item")} with two or more` : null },
    { name: "Fleiss' κ", value: found.fleiss },
    { name: "Gwet's AC1", value: found.ac1 },
    { name: "Cohen's κ, mean of pairs", value: found.mean_cohen },
    { name: "share of agreeing pairs", value: found.observed },
  ];
  return dataTable({
    name: "agreement-coefficients",
    caption: "Coefficients",
    columns: [
      { title: "coefficient", value: (row) => row.name },
      { title: "value", number: true, value: (row) => row.value, node: (row) => decimal(row.value) },
      { title: "from", number: true, value: (row) => row.low, node: (row) => decimal(row.low) },
      { title: "to", number: true, value: (row) => row.high, node: (row) => decimal(row.high) },
      { title: "counted", value: (row) => row.of },
    ],
    rows,
  });
}

function classTable({ categories, unreliable }, reliable) {
  return dataTable({
    name: "agreement-classes",
    caption: "Class by class, against the rest",
    columns: [
      { title: "class", value: ([name]) => name },
      { title: "α", number: true, value: ([, value]) => value, node: ([, value]) => decimal(value) },
      { title: "counts as", value: ([name, value]) => (value === null ? "undefined: all ratings of it are alike"
        : unreliable.includes(name) ? `below ${reliable}: not reliable` : "reliable") },
    ],
    rows: Object.entries(categories),
  });
}

function peopleTable({ people }) {
  return dataTable({
    name: "agreement-people",
    caption: "Annotators, each against the others",
    columns: [
      { title: "annotator", value: (row) => row.name, node: (row) => el("span", { class: "isolate" }, row.name) },
      { title: "ratings", number: true, value: (row) => row.ratings },
      { title: "agrees with others", number: true, value: (row) => row.agreement, hint: "share of common items",
        node: (row) => percent(row.agreement) },
      { title: "median κ", number: true, value: (row) => row.median_kappa,
        node: (row) => (isNumber(row.median_kappa) ? decimal(row.median_kappa) : NOTHING) },
    ],
    rows: people,
  });
}
