/** The page of the study's judges: verdicts, calibration, quality, questions saved, and correlation of errors. */

import { dotPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { NOTHING, decimal, isNumber, percent } from "../core/format.js";
import { noteList } from "../core/notes.js";
import { readPart } from "../core/source.js";
import { verdictStrip } from "../core/strip.js";
import { dataTable } from "../core/table.js";

export async function showJudgesPage() {
  const found = await readPart("judges");
  return [
    el("h1", {}, "Judges"),
    verdictStrip({
      verdict: found.verdicts.length ? found.verdicts.map((line) => el("span", { class: "line isolate" }, line))
        : "No judge can be assessed yet.",
      warning: found.why,
      details: [found.about],
    }),
    ...found.judges.map(calibrationPicture),
    qualityTable(found.judges),
    accuracyPicture(found.corrected),
    noteList(found.corrected.filter((row) => row.why).map((row) => `${row.model}: ${row.why}`)),
    noteList(found.marks),
    correlationPicture(found.dependence),
    noteList(pairsOf(found.dependence).filter((pair) => pair.correlation.why)
      .map((pair) => `errors of ${pair.first} and ${pair.second}: not told: ${pair.correlation.why}`)),
    noteList(found.remarks),
  ];
}

function calibrationPicture(judge) {
  const bins = judge.curve.filter((bin) => isNumber(bin.yes.value));
  if (!bins.length) return null;
  return pictureOf({
    name: `calibration-${judge.name}`,
    title: `Calibration of ${judge.name}`,
    description: bins.map((bin) => `${range(bin)}: ${percent(bin.yes.value, 0)} yes`).join(", "),
    svg: dotPlot({
      rows: bins.map((bin) => ({ label: `says ${range(bin)}`, ...bin.yes, mark: bin.stated })),
      axis: { title: "share of first choices that experts confirm" },
    }),
    note: "The upright mark is the judge's mean probability of its first choices. For a calibrated judge it lies within the interval.",
  });
}

function range({ start, end }) {
  return `${percent(start, 0)} to ${percent(end, 0)}`;
}

function qualityTable(judges) {
  const column = (title, part, format) => ({ title, number: true,
    value: (judge) => words(judge[part], format) + (isNumber(judge[part].value) && !judge.holds ? " (!)" : "") });
  return dataTable({
    name: "judges",
    caption: "How good each judge is",
    columns: [
      { title: "judge", value: (judge) => judge.name },
      column("agrees", "agreement", (share) => percent(share, 0)),
      column("area", "area", (area) => decimal(area, 2)),
      column("calibration error", "error", (share) => percent(share, 0)),
      column("overconfident by", "bias", (share) => percent(share, 0)),
    ],
    rows: judges,
  });
}

function words(measure, format) {
  if (!isNumber(measure.value)) return `${NOTHING} (${measure.why})`;
  return `${format(measure.value)} (${format(measure.low)} to ${format(measure.high)})`;
}

function inside(value) {
  return Math.min(1, Math.max(0, value));
}

function accuracyPicture(corrected) {
  const rows = corrected.flatMap((row) => [
    row.plain && { label: row.model, value: inside(row.plain.estimate), low: row.plain.low, high: row.plain.high,
      holds: row.plain.holds, series: 0 },
    row.judged && { label: `${row.model} with judges`, value: inside(row.judged.estimate), low: row.judged.low,
      high: row.judged.high, holds: row.judged.holds, series: 1 },
  ]).filter(Boolean);
  if (!rows.length) return null;
  return pictureOf({
    name: "corrected",
    title: "Accuracy without and with judges",
    description: rows.map((row) => `${row.label} ${percent(row.value, 0)}`).join(", "),
    svg: dotPlot({ rows, axis: { title: "accuracy" } }),
    note: corrected.filter((row) => isNumber(row.saved))
      .map((row) => `${row.model}: ${row.saved} questions saved (${row.least} to ${row.most})`).join("; ") || null,
  });
}

function pairsOf(dependence) {
  return dependence ? [...dependence.between, ...dependence.with_models] : [];
}

function correlationPicture(dependence) {
  const known = pairsOf(dependence).filter((pair) => isNumber(pair.correlation.value));
  if (!known.length) return null;
  return pictureOf({
    name: "errors",
    title: "Correlation of errors",
    description: known.map((pair) => `${pair.first} and ${pair.second} ${decimal(pair.correlation.value, 2)}`).join(", "),
    svg: dotPlot({
      rows: known.map((pair) => ({ label: `${pair.first} and ${pair.second}`, ...pair.correlation })),
      axis: { title: "correlation (1: a copy)", low: -1, high: 1, format: (tick) => decimal(tick, 1),
        line: { value: 0, title: "independent errors" } },
    }),
  });
}
