/** The page of a search: its main result, and its candidates as a tree, a chart and a table. */

import { showCandidate } from "./candidate.js";
import { showCandidateItem } from "./candidate_item.js";
import { pictureWidth } from "../core/chart.js";
import { el, replaceContent } from "../core/dom.js";
import { count, decimal, levelText, percent, plural, scored } from "../core/format.js";
import { frontFigure } from "./front.js";
import { candidateBadges, exactMean, keepLineageScroll, lineageFigure, verdictText } from "./lineage.js";
import { linkTo } from "../core/route.js";
import { isExported, readPart } from "../core/source.js";
import { foldedSection, verdictStrip } from "../core/strip.js";
import { dataTable, pairList } from "../core/table.js";

const CANDIDATES_AT_FIRST = 50;
const CANDIDATE_ORDERS = {
  accuracy: { title: "score", by: (row) => [-exactMean(row), row.standing?.tokens ?? 0] },
  tokens: { title: "tokens", by: (row) => [row.standing?.tokens ?? Infinity, 0] },
  gain: { title: "better than its parent", by: (row) => [-(row.standing?.p_better ?? -1), 0] },
  arrival: { title: "order of arrival", by: (row) => [row.slot, 0] },
};

export async function showSearchPage(params) {
  if (params.candidate && params.item) return showCandidateItem(params);
  if (params.candidate) return showCandidate(params, readSearch);
  const { searches, search } = await readSearch(params.id);
  if (!search) return [el("h1", {}, "Search"), el("p", {}, "This study has no search yet.")];
  return [
    el("h1", {}, `Search ${search.id}`),
    search.rows && searchStrip(search),
    searchLine(search),
    searches.length > 1 && searchesTable(searches, search.id),
    missingParts(search.missing),
    search.rows && search.held < search.rows.length && el("p", { class: "notice" },
      `This file holds the sources and answers of the best ${count(search.held)} of ${plural(search.rows.length, "candidate")}; `
      + "all of them: oversight view"),
    search.rows && searchSections(search, params),
  ].flat(Infinity);
}

/** Read the search with an id and the list of all searches; an exported file contains only one search. */
async function readSearch(id) {
  const found = await readPart("search", id && !isExported ? { id } : {});
  if (isExported && id && found.search?.id !== id)
    throw new Error(`this file holds the search ${found.search?.id}; see ${id} with: oversight view`);
  return found;
}

function searchLine(search) {
  const parts = [
    `begun ${search.created.slice(0, 16).replace("T", " ")}`,
    `policy ${search.policy}`,
    `${count(search.proposals)} of ${plural(search.planned, "proposal")}`,
    plural(search.candidates, "candidate"),
    search.refused_in_all > 0 && `${count(search.refused_in_all)} refused`,
    search.duplicates > 0 && `${count(search.duplicates)} duplicates`,
  ];
  return el("p", { class: "quiet" }, parts.filter(Boolean).join(" · "));
}

/** Notices about parts that could not be computed, with reasons. */
function missingParts(missing) {
  return missing.map((each) => el("p", { class: "notice caution" }, `Not shown: ${each.part}. ${each.why ?? ""}`));
}

function searchesTable(searches, here) {
  const linked = (row) => (isExported || row.id === here ? el("span", {}, row.id)
    : el("a", { href: linkTo("search", { id: row.id }) }, row.id));
  return dataTable({
    name: "searches",
    caption: "All searches of this study, newest first",
    rows: searches,
    rowClass: (row) => (row.id === here ? "main" : null),
    columns: [
      { title: "search", value: (row) => row.id, node: linked },
      { title: "begun", value: (row) => row.created.slice(0, 16).replace("T", " ") },
      { title: "policy", value: (row) => row.policy },
      { title: "proposals", value: (row) => `${row.proposals} of ${row.planned}`, number: true },
      { title: "candidates", value: (row) => row.candidates, number: true },
      { title: "winner", value: (row) => row.winner_name ?? row.winner ?? "none yet" },
    ],
  });
}

let keptFigures = { text: "", figures: [] };

/** Charts of lineage and front. If nothing changed, charts that were drawn before and removed are used again. */
function searchFigures(search) {
  const text = JSON.stringify([search.id, search.rows, search.winner, pictureWidth()]);
  if (keptFigures.text !== text || keptFigures.figures.some((figure) => figure.isConnected)) {
    const title = "Lineage of the candidates";
    const tree = { name: "lineage", title, rows: search.rows, search: search.id, winner: search.winner };
    keptFigures = { text, figures: [lineageFigure(tree), frontFigure(search)] };
  }
  keepLineageScroll("lineage", keptFigures.figures[0]);
  return keptFigures.figures;
}

function searchSections(search, params) {
  const [lineage, front] = searchFigures(search);
  const table = el("div", {}, candidatesTable(search, params.sort));
  const rankBy = (order) => {
    history.replaceState(null, "", linkTo("search", { ...params, sort: order }));
    replaceContent(table, candidatesTable(search, order));
  };
  return [
    winnerTable(search),
    el("h2", {}, search.scale === "q" ? "q against cost" : "Accuracy against cost"),
    front,
    el("h2", {}, "Candidates"),
    orderChoice(params.sort, rankBy),
    table,
    el("h2", {}, "Lineage"),
    el("p", { class: "quiet" }, "Generations run from left to right; each candidate links to its source and answers."),
    lineage,
    otherNumbers(search.others),
    foldedSection("Limits of these labels",
      el("ul", {}, search.power.map((line) => el("li", {}, line)), search.a_a && el("li", {}, `A/A: ${search.a_a}`))),
    search.refused_in_all > 0 && refusedList(search),
    foldedSection("What was run", runPairs(search)),
  ];
}

/** The main result, compared with the start of the search, and its cost; from the sealed test if it was run. */
function searchStrip(search) {
  const found = search.headline;
  if (!found) return verdictStrip({ verdict: "No score yet: no labelled item has an answer." });
  const level = found.level ? levelText(found.level) : "about 95 %";
  const name = el("a", { href: linkTo("search", { id: search.id, candidate: found.candidate }), class: "isolate" }, found.candidate_name);
  const difference = search.others.find((row) => row.key === "difference")?.said;
  const ratio = costRatio(search);
  return verdictStrip({
    warning: found.key === "leading" && `No winner yet. To continue a stopped search: oversight search resume ${search.id}`,
    verdict: [`${found.key === "leading" ? "Leading" : "Winner"}: `, name, ` ${scored(found.value, found.scale)}`],
    details: [
      `${level} interval ${scored(found.low, found.scale)} – ${scored(found.high, found.scale)}`
        + `${found.answers ? `, from ${plural(found.answers, "answer")}` : ""}. ${found.words}`,
      difference && `Against the start: ${difference}.`,
      ratio && `${ratio.toFixed(1)} times the start's tokens per item.`,
    ],
  });
}

/** Tokens per item of the leading candidate, divided by those of the start; null for the start, or if either is unknown. */
function costRatio(search) {
  const tokens = (id) => search.rows.find((row) => row.id === id)?.standing?.tokens;
  const [own, start] = [tokens(search.headline.candidate), tokens(search.start)];
  return own && start && search.headline.candidate !== search.start ? own / start : null;
}

/** A table of winner and start on the same test items. */
function winnerTable(search) {
  const start = search.others.find((row) => row.key === "start");
  if (search.headline?.key !== "test" || !start) return null;
  const tokens = (id) => search.rows.find((row) => row.id === id)?.standing?.tokens ?? null;
  return dataTable({
    name: "winner",
    caption: "Winner and start on the test items, which no decision used",
    rows: [
      { ...search.headline, who: "winner", tokens: tokens(search.headline.candidate) },
      { ...start, who: "start", candidate_name: search.start_name, tokens: tokens(search.start) },
    ],
    columns: [
      { title: "who", value: (row) => row.who },
      { title: "candidate", value: (row) => row.candidate_name },
      { title: "accuracy", number: true, value: (row) => row.value, node: (row) => scored(row.value, row.scale) },
      { title: "low", number: true, value: (row) => row.low, node: (row) => scored(row.low, row.scale) },
      { title: "high", number: true, value: (row) => row.high, node: (row) => scored(row.high, row.scale) },
      { title: "tokens per item", number: true, value: (row) => row.tokens, node: (row) => count(Math.round(row.tokens)) },
    ],
  });
}

function otherNumbers(others) {
  const interval = (row) => (row.low === null ? "" : `, ${scored(row.low, row.scale)} – ${scored(row.high, row.scale)}`);
  const shown = others.filter((row) => !["start", "difference"].includes(row.key));
  return shown.length > 0 && foldedSection("Other scores, and why they differ",
    el("ul", { class: "numbers" }, shown.map((row) => el("li", {},
      el("b", {}, row.said ?? scored(row.value, row.scale)), `${interval(row)}: ${row.name}`,
      el("p", { class: "quiet" }, row.words)))));
}

function rankCandidates(rows, order) {
  const { by } = CANDIDATE_ORDERS[order] ?? CANDIDATE_ORDERS.accuracy;
  return rows.map((row) => [by(row), row]).sort(([a], [b]) => a[0] - b[0] || a[1] - b[1]).map(([, row]) => row);
}

function orderChoice(chosen, rankBy) {
  return el("div", { class: "filters" }, el("label", {}, "ranked by",
    el("select", { id: "candidate-order", onchange: (event) => rankBy(event.target.value) }, Object.entries(CANDIDATE_ORDERS).map(([key, order]) =>
      el("option", { value: key, selected: (chosen ?? "accuracy") === key }, order.title)))));
}

function candidatesTable(search, order) {
  const part = (name) => (row) => row.standing?.[name] ?? null;
  const share = (name) => ({ value: part(name), node: (row) => percent(row.standing?.[name]), number: true });
  const score = (name) => ({ ...share(name), node: (row) => scored(row.standing?.[name], search.scale) });
  const named = (row) => el("span", {},
    el("a", { href: linkTo("search", { id: search.id, candidate: row.id }) }, row.name), " ",
    candidateBadges(row, search.winner));
  return dataTable({
    name: "candidates",
    caption: `Candidates of search ${search.id}`,
    rows: rankCandidates(search.rows, order),
    most: CANDIDATES_AT_FIRST,
    rowClass: (row) => (row.id === search.winner ? "main" : null),
    columns: [
      { title: "candidate", value: (row) => row.name, node: named },
      { title: search.scale, ...score("mean"), hint: "posterior mean, shrunken towards the others" },
      { title: "about 95 %", value: (row) => (row.standing ? `${scored(row.standing.low, search.scale)} – ${scored(row.standing.high, search.scale)}`
        : null), number: true },
      { title: "measured", ...score("measured"), hint: "on its own items, uncorrected" },
      { title: "items", value: part("items"), number: true },
      { title: "P(best)", value: part("p_best"), node: (row) => decimal(row.standing?.p_best, 2), number: true },
      { title: "against its parent", value: (row) => (row.standing?.verdict ? verdictText(row) : null) },
      { title: "tokens per item", value: part("tokens"), node: (row) => count(Math.round(row.standing?.tokens)), number: true },
      { title: "unreadable", ...share("unreadable") },
      { title: "failed", ...share("failed") },
      { title: "made by", value: (row) => row.op },
    ],
  });
}

function refusedList(search) {
  const more = search.refused_in_all - search.refused.length;
  return el("details", {},
    el("summary", {}, `${plural(search.refused_in_all, "refused proposal")}, and why`),
    el("ul", {}, search.refused.map((reason) => el("li", { class: "text" }, reason)),
      more > 0 && el("li", { class: "quiet" }, `${count(more)} more are not listed`)));
}

function runPairs(search) {
  const listed = (counts) => Object.entries(counts).map(([name, number]) => `${name} ${count(number)}`).join(", ");
  return [
    pairList([
      ["items", listed(search.splits)],
      ["tokens of answers", listed(search.spent)],
      ["model", search.model],
      ["optimiser", search.optimiser || "none"],
      ["start", search.start_name],
      ["fitness", search.fitness],
    ]),
    el("details", {}, el("summary", {}, "all settings"), el("pre", {}, JSON.stringify(search.settings, null, 2))),
  ];
}
