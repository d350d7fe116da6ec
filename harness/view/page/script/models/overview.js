/** The overview: every model with its interval, what it rests on, and what comes in now. */

import { el } from "../core/dom.js";
import { plural } from "../core/format.js";
import { later } from "../core/later.js";
import { checksSection, expertsSection, qualitySection, whatWasRun } from "./evidence.js";
import { closingFigure, costFigure, differencesSection, intervalsFigure, modelCards, rankingTable } from "./models.js";
import { progressSection } from "./progress.js";
import { linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { dataTable } from "../core/table.js";

const MOST_CLOSING = 6;
const MOST_COLUMNS = 3;

export async function showOverviewPage(params, frame) {
  const [overview, progress] = await Promise.all([readPart("overview"), readPart("progress")]);
  const head = [el("h1", {}, frame.name), el("p", { class: "quiet" }, studyLine(frame))];
  if (overview.why) return [...head, noEstimate(overview.why, frame), progressSection(progress, frame)];
  return [
    ...head,
    overview.left_out.map((line) => el("p", { class: "caution" }, line)),
    overview.clusters && el("p", {}, `Items come in ${plural(overview.clusters[0], "cluster")}, the largest of `
      + `${plural(overview.clusters[1], "item")}: clusters are the independent units of every interval.`),
    modelCards(overview),
    later("differences", () => readPart("differences"), (found) => rankingTable(overview, found)),
    intervalsFigure(overview),
    progressSection(progress, frame),
    closingSection(overview),
    later("pairs", () => readPart("differences"), differencesSection),
    costFigure(overview),
    frame.columns.slice(0, MOST_COLUMNS).map((column) => strataTable(overview, column)),
    checksSection(overview),
    expertsSection(overview),
    qualitySection(overview),
    el("section", {}, el("h2", {}, "What must hold for these numbers"),
      el("ul", {}, overview.assumptions.map((line) => el("li", {}, line)))),
    whatWasRun(overview),
  ];
}

function studyLine(frame) {
  const people = plural(frame.experts.length, frame.is_panel ? "annotator" : "expert");
  return `${people} · ${plural(frame.models.length, "model")} · protocol ${frame.protocol}`;
}

function noEstimate(why, frame) {
  const where = frame.is_panel
    ? ["A panel's numbers are on the page ", el("a", { href: linkTo("panel") }, "Panel"), "."]
    : ["No estimate yet: ", why];
  return el("p", { class: "notice" }, where);
}

/** Accuracy of the first models in every stratum of a column. */
function strataTable(overview, column) {
  const estimated = overview.models.filter((model) => model.accuracy).slice(0, MOST_CLOSING);
  const models = estimated.length ? estimated : overview.models.slice(0, 1); // whose strata say why there is no estimate
  const key = `strata-of-${column}-${models.map((model) => model.name).join("\n")}`;
  const read = () => Promise.all(models.map((model) => readPart("strata", { column, model: model.name })));
  return el("section", {}, el("h2", {}, `By ${column}`), later(key, read, (found) => {
    const reasons = found.flatMap((each, place) => (each.why
      ? [el("p", { class: "quiet" }, `${models[place].name}: ${each.why}`)] : []));
    const whole = found.find((each) => !each.why);
    return [reasons, whole && dataTable({
      name: `strata-${column}`,
      caption: `Accuracy by ${column}; each interval holds by itself`,
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

/** How intervals close, of the first models: a page of fifty would draw fifty. */
function closingSection(overview) {
  const models = overview.models.filter((model) => model.accuracy).slice(0, MOST_CLOSING);
  const key = `closing-${models.map((model) => model.name).join("\n")}`;
  const read = () => Promise.all(models.map(async (model) => ({
    model: model.name, truth: model.truth, ...await readPart("closing", { model: model.name }),
  })));
  return el("section", {}, el("h2", {}, "How the intervals close as labels arrive"),
    models.length ? later(key, read, closingFigure) : el("p", { class: "quiet" }, "No model has an estimate yet."),
    models.length > 0 && overview.models.length > models.length && el("p", { class: "quiet" },
      `The first ${models.length} of ${overview.models.length} models; each has its own picture on its own page.`));
}
