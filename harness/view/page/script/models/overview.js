/** The overview: every model with its interval, the evidence, and the progress of runs and experts. */

import { el } from "../core/dom.js";
import { plural } from "../core/format.js";
import { later } from "../core/later.js";
import { checksSection, qualitySection, whatWasRun } from "./evidence.js";
import { closingFigure, costFigure, differencesSection, headlineOf, intervalsFigure, rankingTable } from "./models.js";
import { expertsSection, runsSection } from "./progress.js";
import { studyStrip } from "./verdict.js";
import { linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { foldedSection } from "../core/strip.js";
import { dataTable } from "../core/table.js";

const MOST_CLOSING = 6;
const MOST_COLUMNS = 3;

export async function showOverviewPage(params, frame) {
  const [overview, progress] = await Promise.all([readPart("overview"), readPart("progress")]);
  const head = [el("h1", {}, "Overview"), el("p", { class: "quiet" }, studyLine(frame)), studyStrip(frame)];
  if (overview.why) return [...head, frame.is_panel && panelNotice(), runsSection(progress), expertsSection(progress, frame)];
  const hasFailed = overview.models.some((model) => model.checks.some((check) => check.state === "failed"));
  const checks = checksSection(overview);
  return [
    ...head,
    hasFailed && checks,
    overview.left_out.map((line) => el("p", { class: "caution" }, line)),
    overview.clusters && el("p", {}, `Items come in ${plural(overview.clusters[0], "cluster")}, the largest of `
      + `${plural(overview.clusters[1], "item")}: clusters are the independent units of every interval.`),
    later("differences", () => readPart("differences"), (found) => rankingTable(overview, found)),
    intervalsFigure(overview),
    runsSection(progress),
    expertsSection(progress, frame, overview.experts),
    closingSection(overview),
    later("pairs", () => readPart("differences"), differencesSection),
    costFigure(overview),
    frame.columns.slice(0, MOST_COLUMNS).map((column) => strataTable(overview, column)),
    !hasFailed && checks,
    qualitySection(overview),
    foldedSection("Assumptions of these numbers",
      el("ul", {}, overview.assumptions.map((line) => el("li", {}, line)))),
    whatWasRun(overview),
  ];
}

function studyLine(frame) {
  const people = plural(frame.experts.length, frame.is_panel ? "annotator" : "expert");
  return `${people} · ${plural(frame.models.length, "model")} · protocol ${frame.protocol}`;
}

function panelNotice() {
  return el("p", { class: "notice" }, "A panel's numbers are on the page ", el("a", { href: linkTo("panel") }, "Panel"), ".");
}

/** The models with the highest estimates; only a few, because a chart of fifty models would be unreadable. */
function leadingModels(overview) {
  return overview.models.filter(headlineOf).toSorted((a, b) => headlineOf(b).estimate - headlineOf(a).estimate)
    .slice(0, MOST_CLOSING);
}

/** A table of the accuracy of the leading models in every stratum of a column. */
function strataTable(overview, column) {
  const estimated = leadingModels(overview);
  const models = estimated.length ? estimated : overview.models.slice(0, 1); // its strata contain the reason
  const key = `strata-of-${column}-${models.map((model) => model.name).join("\n")}`;
  const read = () => Promise.all(models.map((model) => readPart("strata", { column, model: model.name })));
  return foldedSection(`By ${column}`, later(key, read, (found) => {
    const reasons = found.flatMap((each, place) => (each.why
      ? [el("p", { class: "quiet" }, `${models[place].name}: ${each.why}`)] : []));
    const whole = found.find((each) => !each.why);
    return [reasons, whole && dataTable({
      name: `strata-${column}`,
      caption: `Accuracy by ${column}; each interval holds separately`,
      rows: whole.strata.map((row) => ({ ...row,
        of: found.map((each) => each.strata.find((other) => other.stratum === row.stratum)) })),
      columns: [
        { title: column, value: (row) => row.stratum,
          node: (row) => el("a", { href: linkTo("items", { column, stratum: row.stratum }), class: "isolate" }, row.stratum) },
        { title: "items", number: true, value: (row) => row.items },
        ...models.map((model, place) => ({ title: model.name, number: true,
          value: (row) => row.of[place]?.estimate?.estimate ?? null,
          node: (row) => (row.of[place]?.estimate ? `${row.of[place].value_text} (${row.of[place].interval_text})`
            : row.of[place]?.why) })),
      ],
    })];
  }));
}

/** A chart of the intervals of the leading models by number of labels. */
function closingSection(overview) {
  const models = leadingModels(overview);
  const key = `closings-${models.map((model) => model.name).join("\n")}`;
  const read = () => Promise.all(models.map(async (model) => ({
    model: model.name, truth: model.truth, ...await readPart("closing", { model: model.name }),
  })));
  return foldedSection("Intervals by number of labels",
    models.length ? later(key, read, closingFigure) : el("p", { class: "quiet" }, "No model has an estimate yet."),
    models.length > 0 && overview.models.length > models.length && el("p", { class: "quiet" },
      `The ${models.length} leading of ${overview.models.length} models; each has its own picture on its own page.`));
}
