/** The page of a collection: the next step, each person's progress, times of answers, and answers that do not count. */

import { drawArrivals } from "./arrivals.js";
import { partBars } from "../core/bars.js";
import { el } from "../core/dom.js";
import { count, decimal, percent, plural, timeSpan } from "../core/format.js";
import { pictureOf } from "../core/figure.js";
import { linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { verdictStrip } from "../core/strip.js";
import { dataTable } from "../core/table.js";

const VERDICT_PARTS = { yes: "yes", no: "no", unsure: "unsure", skip: "skipped", open: "open" };
const RATING_PARTS = { rated: "rated", skip: "skipped", open: "open" };

export async function showCollectionPage(params, frame) {
  const found = await readPart("collection");
  const what = found.is_panel ? "rating" : "question";
  return el("div", {},
    el("h1", {}, "Collection"),
    verdictStrip(found.asked ? {
      verdict: `${count(found.answered)} of ${plural(found.asked, what)} ${found.is_panel ? "given" : "answered"} `
        + `(${percent(found.answered / found.asked)}), ${count(found.open)} open, by `
        + `${plural(found.people.length, found.is_panel ? "annotator" : "expert")}.`,
      warning: found.quarantine.of > 0 && `${plural(found.quarantine.of, "annotation")} of the server `
        + `${found.quarantine.of === 1 ? "counts" : "count"} for nothing; see below.`,
      details: ["Skipped and unsure questions count as answered.", found.deadline && `They are due on ${found.deadline}.`,
        found.items_drawn && `${found.items_drawn.text}.`],
    } : { verdict: "No questions were drawn yet." }),
    drawNextSteps(found.next),
    found.people.length ? drawPeople(found, frame) : null,
    found.people.length ? drawArrivals(found) : null,
    found.people.length ? drawQuarantine(found, frame) : null);
}

function drawNextSteps(steps) {
  return [
    el("h2", {}, "What to do next"),
    el("ol", { class: "steps" }, steps.map((step) => el("li", {}, step.sentence, " ", el("code", {}, step.command)))),
  ];
}

function drawPeople({ people, is_panel: panel, campaign }, frame) {
  const parts = panel ? RATING_PARTS : VERDICT_PARTS;
  const names = Object.values(parts);
  const timed = people.some((row) => row.timed);
  const who = panel ? "annotator" : "expert";
  const whole = (title, key, hint) => ({ title, number: true, value: (row) => row[key], hint });
  const columns = [
    { title: who, value: (row) => row.name, node: (row) => personLink(row.name, frame) },
    whole("asked", "asked"),
    whole("answered", "answered", "includes unsure and skipped"),
    ...Object.entries(parts).map(([key, title]) => whole(title, key)),
    whole("not counted", "foreign", "annotations in quarantine"),
    ...(campaign ? [whole("revised", "revised", "answers changed or withdrawn at least once")] : []),
    { title: "seconds per answer", number: true, value: (row) => row.median_seconds, hint: "median, as the page measured",
      node: (row) => decimal(row.median_seconds, 0) },
    ...(timed ? [
      { title: "too fast", number: true, value: (row) => (row.timed ? row.fast : null),
        hint: "answered in under half a second, or faster than 200 characters per second; they still count" },
      { title: "hours", number: true, value: (row) => row.hours, node: (row) => decimal(row.hours, 1),
        hint: "working time, for payment; one answer counts at most ten times the median" },
    ] : []),
    { title: "time left", number: true, value: (row) => timeSpan(row.seconds_left), hint: "open questions at the median time" },
    { title: "answers/h", number: true, value: (row) => row.per_hour, hint: "from the first answer to the last",
      node: (row) => decimal(row.per_hour, 1) },
    { title: "last answer (UTC)", number: true, value: (row) => row.last, node: (row) => utcMinute(row.last) },
  ];
  return [
    el("h2", {}, panel ? "Annotators" : "Experts"),
    pictureOf({
      name: "collection-people",
      title: `Questions and answers per ${who}`,
      description: people.map((row) => `${row.name}: ${row.answered} of ${row.asked} answered`).join("; "),
      svg: partBars({
        rows: people.map((row) => ({ label: `${row.name}: ${count(row.answered)} of ${count(row.asked)}`,
          parts: Object.keys(parts).map((key) => row[key]) })),
        names,
        hollow: ["open"],
        title: panel ? "ratings" : "questions",
      }),
    }),
    dataTable({ name: "collection-people", caption: `Progress per ${who}`, columns, rows: people }),
    timed && people.every((row) => row.timed === row.answered) ? null
      : el("p", { class: "quiet" }, "Only answers from Label Studio and the answer page have a time"
        + (timed ? `: ${count(sum(people, "timed"))} of ${count(sum(people, "answered"))} answers.` : ", answers from files have none.")),
  ];
}

/** A person's name, as a link to their items if the study has a page of items. */
function personLink(name, frame) {
  const shown = el("span", { class: "isolate" }, name);
  return frame.pages.includes("items") ? el("a", { href: linkTo("items", { expert: name }) }, shown) : shown;
}

function drawQuarantine({ quarantine }, frame) {
  const heading = el("h2", {}, "Answers that do not count");
  if (!quarantine.of) return [heading, el("p", {}, "None.")];
  const linked = frame.pages.includes("items");
  const shown = quarantine.rows.length < quarantine.of ? `, the first ${count(quarantine.rows.length)}` : "";
  return [
    heading,
    el("p", {}, `${plural(quarantine.of, "annotation")} on the server ${quarantine.of === 1 ? "counts" : "count"} for `
      + "nothing; nothing was deleted there."),
    dataTable({
      name: "quarantine-reasons",
      caption: "Reasons",
      columns: [
        { title: "reason", value: ([reason]) => reason },
        { title: "annotations", number: true, value: ([, number]) => number },
      ],
      rows: Object.entries(quarantine.reasons),
    }),
    dataTable({
      name: "quarantine",
      caption: `Annotations that do not count${shown}`,
      columns: [
        { title: "asked", value: (row) => row.expert },
        { title: "item", value: (row) => row.item,
          node: (row) => (row.item !== null && linked
            ? el("a", { href: linkTo("item", { id: row.item }) }, row.item) : row.item ?? "not in this study") },
        { title: "reason", value: (row) => row.why },
        { title: "detail", value: (row) => row.detail, node: (row) => el("span", { class: "isolate" }, row.detail ?? "") },
        { title: "task", number: true, value: (row) => row.task, node: (row) => String(row.task) },
        { title: "annotation", number: true, value: (row) => row.annotation, node: (row) => String(row.annotation) },
      ],
      rows: quarantine.rows,
    }),
  ];
}

function sum(rows, key) {
  return rows.reduce((total, row) => total + row[key], 0);
}

/** "2026-03-01T09:30:00+00:00" → "2026-03-01 09:30" */
function utcMinute(told) {
  return told ? told.slice(0, 16).replace("T", " ") : null;
}
