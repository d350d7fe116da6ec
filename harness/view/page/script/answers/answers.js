/** The page of open answers: results by field, and each answer with its units coloured by the experts' verdicts. */

import { el } from "../core/dom.js";
import { count, percent, plural } from "../core/format.js";
import { currentRoute, goTo, linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { verdictStrip } from "../core/strip.js";
import { dataTable } from "../core/table.js";

const UNIT_OUTCOMES = { error: "with an error", right: "with a unit that is right", open: "with an open unit",
  unasked: "with a unit not asked about" };
const UNIT_MARKS = { error: "✗", right: "✓", open: "…", unasked: "·" };
const ANSWER_FILTERS = ["model", "field", "outcome"];
const LOW_SCORE = 0.5; // fields with a lower score are marked

export async function showAnswersPage(params) {
  const wanted = answerFilterOf(params);
  const found = await readPart("answers", params.start ? { ...wanted, start: params.start } : wanted);
  const head = [el("h1", {}, "Answers"), answersStrip(found)];
  if (found.why) return head;
  return [
    ...head,
    fieldResults(found),
    answerFilters(wanted, found),
    el("p", { role: "status", id: "matches" }, `${count(found.matches)} of ${plural(found.of, "answer")}`),
    found.answers.map(answerCard),
    answerPages(found, wanted),
  ];
}

/** The score of every model over all fields; the table below it shows the score per field. */
function answersStrip({ why, results, of }) {
  if (why) return verdictStrip({ verdict: `No score yet: ${why}` });
  const whole = results.filter(({ field }) => !field);
  return verdictStrip({
    verdict: whole.map(({ model, score }) => el("span", { class: "line isolate" }, `${model}: ${score}`)),
    details: [`Scores of ${plural(of, "answer")}, over all fields.`],
  });
}

/** The parameters of an address that filter answers. */
function answerFilterOf(params) {
  return Object.fromEntries(ANSWER_FILTERS.filter((name) => params[name]).map((name) => [name, params[name]]));
}

/** A table with one row per field and model; scores below `LOW_SCORE` are marked. */
function fieldResults({ results }) {
  return dataTable({
    name: "open-results",
    caption: "Results by field",
    rows: results,
    rowClass: ({ value }) => value !== null && value < LOW_SCORE ? "caution" : null,
    columns: [
      { title: "field", value: ({ field }) => field || "all fields" },
      { title: "model", value: ({ model }) => model },
      { title: "score", value: ({ score }) => score },
      { title: "units met", value: ({ met }) => met },
      { title: "", value: ({ value }) => value !== null && value < LOW_SCORE ? `score below ${percent(LOW_SCORE, 0)}` : "" },
    ],
  });
}

function answerFilters(wanted, { models, fields }) {
  const choice = (name, options) => el("label", {}, name,
    el("select", { id: `filter-${name}`, onchange: (event) => goTo("answers",
      { ...answerFilterOf(currentRoute().params), [name]: event.target.value }) },
      el("option", { value: "" }, "any"),
      options.map(([value, text]) => el("option", { value, selected: value === wanted[name] }, text))));
  const named = (names) => names.map((name) => [name, name]);
  return el("form", { class: "filters", role: "search" }, choice("model", named(models)), choice("field", named(fields)),
    choice("outcome", Object.entries(UNIT_OUTCOMES)));
}

function answerCard({ item, text, model, raw, units }) {
  return el("article", { class: "open-answer" },
    el("h2", {}, el("span", { class: "isolate" }, `${item} · ${model}`)),
    el("p", { class: "text quiet" }, text),
    el("p", { class: "text" }, raw ? markUnits(raw, units) : "(no answer was given)"),
    el("ul", { class: "units" }, units.map((unit) => el("li", { class: `unit ${unit.state}` },
      el("b", {}, `${UNIT_MARKS[unit.state]} ${unit.word}:`), " ", el("span", { class: "isolate" }, unit.text), " ",
      el("span", { class: "quiet" }, [unit.field, pointsOf(unit)].filter(Boolean).join(", ")),
      unit.comments.map((comment) => el("p", { class: "text quiet" }, comment))))));
}

/** Points of a criterion as text, for example `3 points`; null for a unit that is not a criterion. */
function pointsOf({ points }) {
  return points === null ? null : `${points < 0 ? "−" : ""}${Math.abs(points)} ${Math.abs(points) === 1 ? "point" : "points"}`;
}

/** The answer, in which each unit that occurs in it word for word has a colour. */
function markUnits(raw, units) {
  const parts = [];
  let end = 0;
  for (const { text, state } of units) {
    const start = raw.indexOf(text, end);
    if (start < 0) continue;
    parts.push(raw.slice(end, start), el("mark", { class: `unit ${state}` }, text));
    end = start + text.length;
  }
  return [...parts, raw.slice(end)];
}

function answerPages({ start, size, matches }, wanted) {
  const before = start > 0 && el("a", { href: linkTo("answers", { ...wanted, start: Math.max(0, start - size) || "" }) }, "‹ before");
  const after = start + size < matches && el("a", { href: linkTo("answers", { ...wanted, start: start + size }) }, "more ›");
  return el("p", { class: "tools" }, before, after);
}
