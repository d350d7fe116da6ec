/** The page of items: filters, search and pages of results; the address contains the filter. */

import { el } from "../core/dom.js";
import { offerDownload, toCsv } from "../core/download.js";
import { NOTHING, count } from "../core/format.js";
import { currentRoute, goTo, linkTo } from "../core/route.js";
import { studyStrip } from "../models/verdict.js";
import { readPart } from "../core/source.js";

const FILTERS = ["words", "outcome", "model", "verdict", "expert", "asked", "column", "stratum", "disagreed"];
const OUTCOMES = { refuted: "refuted by an expert", confirmed: "confirmed by an expert", unreadable: "unreadable",
  failed: "failed" };
const VERDICTS = { confirmed: "yes", refuted: "no", abstained: "abstained", open: "open" };
const SHOWN = 220;
const MOST_NAMED = 3;

/** The parameters of an address that filter items. */
export function filterOf(params) {
  return Object.fromEntries(FILTERS.filter((name) => params[name]).map((name) => [name, params[name]]));
}

export async function showItemsPage(params, frame) {
  const wanted = filterOf(params);
  const [page, values] = await Promise.all([
    readPart("items", { ...wanted, ...placeOf(params) }),
    wanted.column ? readPart("column", { name: wanted.column }).then((found) => found.values) : [],
  ]);
  return [
    el("h1", {}, "Items"),
    studyStrip(frame),
    filterForm(wanted, frame, values),
    el("p", { role: "status", id: "matches" }, `${count(page.matches)} of ${count(page.of)} items`,
      page.behind && el("span", { class: "quiet" }, " (as of a moment ago; the newest answers are being read)")),
    pageLinks("items", page, wanted),
    itemList(page.items, wanted, frame.models),
    pageLinks("items", page, wanted),
  ];
}

function filterForm(wanted, frame, strata) {
  const change = (name, value) => goTo("items", { ...filterOf(currentRoute().params), ...(name === "column" ? { stratum: "" } : {}), [name]: value });
  const choice = (name, title, options) => {
    const chosen = options.some(([value]) => value === wanted[name]) || !wanted[name]
      ? options : [...options, [wanted[name], wanted[name]]];
    return el("label", {}, title, el("select", { id: `filter-${name}`, onchange: (event) => change(name, event.target.value) },
      el("option", { value: "" }, "any"),
      chosen.map(([value, text]) => el("option", { value, selected: value === wanted[name] }, text))));
  };
  const named = (names) => names.map((name) => [name, name]);
  const search = el("input", { type: "search", id: "filter-words", value: wanted.words ?? "",
    placeholder: "in id, text and options" });
  return el("form", { class: "filters", role: "search", onsubmit: (event) => {
    event.preventDefault();
    change("words", search.value.trim());
  } },
  el("label", {}, "words", search),
  choice("outcome", "outcome of the model's answer", Object.entries(OUTCOMES)),
  choice("model", "model", named(frame.models)),
  choice("verdict", "an expert's answer", Object.entries(VERDICTS)),
  choice("expert", "expert", named(frame.experts)),
  frame.classes.length > 0 && choice("asked", "class asked about", named(frame.classes)),
  frame.columns.length > 0 && choice("column", "column", named(frame.columns)),
  wanted.column && choice("stratum", wanted.column, named(strata)),
  frame.models.length > 1 && choice("disagreed", "models disagree", [[frame.models.join("\n"), "any two of them"]]),
  el("div", { class: "tools" }, el("button", { type: "submit" }, "search"),
    el("button", { type: "button", onclick: () => goTo("items") }, "clear")));
}

/** The parameter of an address that gives the position after or before which a page of items is read. */
export function placeOf(params) {
  return Object.fromEntries(["after", "before"].filter((name) => params[name]).map((name) => [name, params[name]]));
}

/** Links to the previous and the next page of items. */
export function pageLinks(name, page, wanted) {
  return el("p", { class: "tools" },
    page.before !== null && el("a", { href: linkTo(name, { ...wanted, before: page.before }), rel: "prev" }, "← previous"),
    page.after !== null && el("a", { href: linkTo(name, { ...wanted, after: page.after }), rel: "next" }, "next →"));
}

/** A list of items with questions, answers and the predictions of `models`. */
export function itemList(items, wanted, models) {
  const list = el("ol", { class: "items", id: "items" }, items.map((item) => itemRow(item, wanted, models)));
  const make = () => itemsAsCsv(items, models);
  return offerDownload(list, "Items of this page", { CSV: { name: "items.csv", type: "text/csv", make } });
}

function itemRow(item, wanted, models) {
  const text = item.text ?? "";
  return el("li", { value: item.position + 1 },
    el("a", { href: linkTo("item", { ...wanted, id: item.id }), class: "isolate" }, item.id), " ",
    el("span", { class: "text" }, text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text),
    el("div", { class: "said" },
      item.questions.map((question) => el("span", { class: "isolate" },
        `${question.expert}: ${item.options[question.option]}? ${question.verdict ?? "open"}`)),
      groupPredictions(item.predictions.filter((made) => models.includes(made.model))).map((group) =>
        predictionGroup(group, item))));
}

/** Predictions in groups with the same answer, the largest group first. */
function groupPredictions(predictions) {
  const groups = new Map();
  for (const made of predictions) {
    const key = JSON.stringify([made.option, made.status]);
    groups.set(key, [...(groups.get(key) ?? []), made]);
  }
  return [...groups.values()].sort((a, b) => b.length - a.length);
}

function predictionGroup(group, item) {
  const [{ outcome, status }] = group;
  const names = group.map((made) => made.model);
  const who = names.length > MOST_NAMED ? el("span", { class: "quiet", title: names.join(", ") }, `${names.length} models: `)
    : el("span", { class: "isolate quiet" }, `${names.join(", ")}: `);
  return el("span", {}, who, outcome === status ? "" : predictionText(group[0], item), " ", outcomeBadge(outcome));
}

/** Text of the predicted option, or the status of a prediction without an option. */
export function predictionText(made, item) {
  return made.option === null || made.option === undefined ? made.status : item.options[made.option];
}

/** A badge with the outcome of a model's answer; null if experts' answers leave it open. */
export function outcomeBadge(outcome) {
  return outcome ? el("span", { class: `badge ${outcome}` }, outcome) : null;
}

function itemsAsCsv(items, models) {
  const header = ["item", "text", "asked", "expert", "answer", ...models];
  const rows = items.map((item) => [item.id, item.text,
    item.questions.map((question) => item.options[question.option]).join("; "),
    item.questions.map((question) => question.expert).join("; "),
    item.questions.map((question) => question.verdict ?? "open").join("; "),
    ...models.map((model) => {
      const made = item.predictions.find((each) => each.model === model);
      return made ? predictionText(made, item) : NOTHING;
    })]);
  return toCsv(header, rows);
}
