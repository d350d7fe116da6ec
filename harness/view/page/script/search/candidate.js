/** The page of one candidate: its rank, its source compared with its parent's, and its answers. */

import { el } from "../core/dom.js";
import { offerDownload } from "../core/download.js";
import { NOTHING, count, percent, plural, scored } from "../core/format.js";
import { outcomeBadge } from "../items/items.js";
import { later } from "../core/later.js";
import { candidateBadges, exactMean, familyOf, lineageFigure, verdictText } from "./lineage.js";
import { goTo, linkTo } from "../core/route.js";
import { isExported, readPart } from "../core/source.js";
import { dataTable, pairList } from "../core/table.js";

const LINES_AROUND = 3;
const LINE_SIGNS = { added: "+", removed: "−", same: " " };
const ANSWER_OUTCOMES = ["refuted", "confirmed", "open", "unreadable", "failed"];

export async function showCandidate(params, readSearch) {
  const { id: search = "", candidate: id, after, only } = params;
  const wanted = { id, search, ...(after && { after }), ...(only && { only }) };
  const found = await readPart("candidate", isExported ? { id, search } : wanted);
  const whole = later(`search-${found.search}-${id}`, () => readSearch(found.search), (all) => el("div", {}, standing(all.search, id)));
  return [
    el("p", {}, el("a", { href: linkTo("search", { id: found.search }) }, `← search ${found.search}`)),
    el("h1", { class: "isolate" }, found.name),
    madeFrom(found),
    whole,
    sourceSection(found),
    answersSection(found),
    itemsSection(found, params),
  ].flat(Infinity);
}

function madeFrom(found) {
  const parents = found.parents.flatMap((parent, place) => [
    place ? ", " : "",
    el("a", { href: linkTo("search", { id: found.search, candidate: parent.id }) }, parent.name),
  ]);
  return [
    el("p", { class: "quiet" }, `${found.id} · made by ${found.op}`, parents.length ? [" from ", ...parents] : "",
      found.slot < 0 ? " · of the library" : ` · proposal ${count(found.slot + 1)}`),
    found.note && el("p", { class: "text" }, found.note),
    found.thought && found.thought !== found.note
      && el("details", {}, el("summary", {}, "reasons of the proposer"), el("p", { class: "text" }, found.thought)),
  ];
}

/** Rank and score of a candidate, its family, and links to the candidates before and after it by rank. */
function standing(search, id) {
  const row = search.rows?.find((each) => each.id === id);
  if (!row) return el("p", { class: "quiet" }, "Its score is not known.");
  const found = row.standing;
  const ranked = search.rows.filter((each) => each.standing)
    .sort((a, b) => exactMean(b) - exactMean(a) || a.standing.tokens - b.standing.tokens);
  const rank = ranked.indexOf(row);
  const better = ranked.filter((each) => exactMean(each) > exactMean(row)).length;
  const alike = ranked.filter((each) => exactMean(each) === exactMean(row)).length;
  const step = (other, words) => other && el("span", {}, `${words}: `,
    el("a", { href: linkTo("search", { id: search.id, candidate: other.id }) }, other.name));
  const family = familyOf(search.rows, id);
  return [
    el("p", {}, candidateBadges(row, search.winner)),
    found ? pairList([
      [found.scale, `${scored(found.mean, found.scale)}, about 95 %: ${scored(found.low, found.scale)} – ${scored(found.high, found.scale)}`],
      ["measured", `${scored(found.measured, found.scale)} on ${plural(found.items, "item")}, uncorrected`],
      ["rank", `${count(better + 1)} of ${count(ranked.length)}${alike > 1 ? `, as ${plural(alike - 1, "other")}` : ""}; P(best) ${found.p_best.toFixed(2)}`],
      ["against its parent", row.parents.length ? verdictText(row) : null],
      ["tokens per item", count(Math.round(found.tokens))],
      ["unreadable", percent(found.unreadable)],
      ["failed", percent(found.failed)],
    ]) : el("p", {}, row.answers ? "All its answers failed." : "It has no answers yet."),
    el("p", { class: "tools" }, step(ranked[rank - 1], "next better"), step(ranked[rank + 1], "next worse")),
    family.length > 1 && lineageFigure({ name: `family-${id}`, title: "Ancestors and direct children",
      rows: family, search: search.id, winner: search.winner, here: id }),
  ];
}

function sourceSection(found) {
  const changed = found.lines.filter((line) => line.kind !== "same").length;
  const source = found.lines.filter((line) => line.kind !== "removed").map((line) => line.text).join("\n");
  const known = found.lines.some((line) => line.text !== null);
  const parent = found.parents.find((each) => each.id === found.parent);
  return [
    el("h2", {}, parent ? `Source, compared with ${parent.name}` : "Source"),
    !known && el("p", { class: "quiet" }, "This file does not include texts."),
    known && parent && el("p", { class: "quiet" }, changed
      ? "+ marks lines of this candidate, − lines of its parent." : "The sources are equal."),
    known && offerDownload(el("pre", { class: "source", tabindex: "0", "aria-label": "source" },
      foldedLines(found.lines, Boolean(parent))), "Source",
    { Python: { name: `${found.name}.py`, type: "text/x-python", make: () => `${source}\n` } }),
  ];
}

/** The lines of the source; lines far from any change are folded. */
function foldedLines(lines, compared) {
  if (!compared) return lines.map(sourceLine);
  const near = new Set();
  lines.forEach((line, place) => {
    if (line.kind === "same") return;
    for (let each = place - LINES_AROUND; each <= place + LINES_AROUND; each++) near.add(each);
  });
  const shown = [];
  for (let place = 0; place < lines.length; place++) {
    if (near.has(place)) {
      shown.push(sourceLine(lines[place]));
      continue;
    }
    const start = place;
    while (place + 1 < lines.length && !near.has(place + 1)) place++;
    const same = lines.slice(start, place + 1);
    shown.push(same.length < 3 ? same.map(sourceLine)
      : el("details", {}, el("summary", {}, `${count(same.length)} lines are the same (from line ${count(start + 1)})`),
        same.map(sourceLine)));
  }
  return shown;
}

function sourceLine(line) {
  const tag = { added: "ins", removed: "del", same: "span" }[line.kind];
  return el(tag, { class: `line-of line-${line.kind}` }, `${LINE_SIGNS[line.kind]} ${line.text}\n`);
}

function answersSection(found) {
  const number = (name) => ({ title: name, value: (row) => row.answers[name] ?? 0, number: true });
  const runs = new Set(found.answers.map((row) => row.replicate)).size > 1;
  return [
    el("h2", {}, "What it answered"),
    found.answers.length ? dataTable({
      name: `answers-${found.id}`,
      caption: "Answers by part of the items",
      rows: found.answers,
      columns: [
        { title: "items of", value: (row) => row.split },
        ...(runs ? [{ title: "run", value: (row) => row.replicate, number: true }] : []),
        number("answered"), number("unreadable"), number("failed"),
        { title: "of", value: (row) => row.items, number: true },
      ],
    }) : el("p", {}, "Nothing yet."),
  ];
}

function itemsSection(found, params) {
  const { rows, next, in_all: all } = found.items;
  const shown = isExported && params.only ? rows.filter((row) => row.outcome === params.only) : rows;
  const here = { id: found.search, candidate: found.id };
  const choose = (event) => goTo("search", { ...here, only: event.target.value }, { replace: true });
  const linked = (row) => (isExported && !row.is_kept ? row.id
    : el("a", { href: linkTo("search", { ...here, item: row.id }) }, row.id));
  return [
    el("h2", {}, "Item by item"),
    found.hidden.length > 0 && el("p", { class: "quiet" },
      `Items of ${found.hidden.join(" and ")} are shown once a winner is named, so that nobody learns from them before.`),
    all > 0 && el("div", { class: "filters" }, el("label", {}, "show",
      el("select", { id: "candidate-only", onchange: choose },
        el("option", { value: "" }, "all answers"),
        ANSWER_OUTCOMES.map((name) => el("option", { value: name, selected: params.only === name }, name))))),
    all > 0 && dataTable({
      name: `items-${found.id}`,
      caption: `${plural(shown.length, "answer")} of ${count(all)}${params.only ? `, only ${params.only}` : ""}`,
      rows: shown,
      columns: [
        { title: "item", value: (row) => row.id, node: linked },
        { title: "text", value: (row) => row.text, node: (row) => el("span", { class: "isolate" }, row.text ?? NOTHING) },
        { title: "its answer", value: (row) => row.option ?? row.reason ?? row.status },
        { title: "outcome", value: (row) => row.outcome, node: (row) => outcomeBadge(row.outcome) },
        { title: "experts said", value: expertsText },
        { title: "items of", value: (row) => row.split },
      ],
    }),
    el("p", { class: "tools" },
      params.after && el("a", { href: linkTo("search", { ...here, only: params.only }) }, "first page"),
      next && (isExported ? el("span", { class: "quiet" }, "this file holds the first page; all of it: oversight view")
        : el("a", { href: linkTo("search", { ...here, only: params.only, after: next }) }, "next page"))),
  ];
}

/** Experts' answers about an item, for example "no: red; yes: blue" */
export function expertsText(row) {
  return row.experts.map((said) => `${said.verdict}: ${said.option}`).join("; ") || "nothing yet";
}
