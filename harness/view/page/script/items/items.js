/** Items: filters and words, page by page; the address carries what was asked for. */

import { el } from "../core/dom.js";
import { download, toCsv } from "../core/download.js";
import { NOTHING, count } from "../core/format.js";
import { currentRoute, goTo, linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";

const FILTERS = ["words", "outcome", "model", "verdict", "expert", "asked", "column", "stratum", "disagreed"];
const OUTCOMES = { refuted: "refuted by an expert", confirmed: "confirmed by an expert", unreadable: "unreadable",
  failed: "failed" };
const VERDICTS = { confirmed: "yes", refuted: "no", abstained: "abstained", open: "open" };
const SHOWN = 220;

/** The parameters that filter items, of an address's. */
export function filterOf(params) {
  return Object.fromEntries(FILTERS.filter((name) => params[name]).map((name) => [name, params[name]]));
}

export async function showItemsPage(params, frame) {
  const wanted = filterOf(params);
  const place = Object.fromEntries(["after", "before"].filter((name) => params[name]).map((name) => [name, params[name]]));
  const [page, values] = await Promise.all([
    readPart("items", { ...wanted, ...place }),
    wanted.column ? readPart("column", { name: wanted.column }).then((found) => found.values) : [],
  ]);
  return [
    el("h1", {}, "Items"),
    filterForm(wanted, frame, values),
    el("p", { role: "status", id: "matches" }, `${count(page.matches)} of ${count(page.of)} items`,
      page.behind && el("span", { class: "quiet" }, " (as of a moment ago; the newest answers are being read)")),
    pageLinks(page, wanted),
    el("ol", { class: "items", id: "items" }, page.items.map((item) => itemRow(item, wanted))),
    pageLinks(page, wanted),
    el("div", { class: "tools" }, el("button", { type: "button", onclick: () => downloadItems(page.items, frame) },
      "CSV of this page")),
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
  choice("outcome", "what became of a model's answer", Object.entries(OUTCOMES)),
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

function pageLinks(page, wanted) {
  return el("p", { class: "tools" },
    page.before !== null && el("a", { href: linkTo("items", { ...wanted, before: page.before }), rel: "prev" }, "← previous"),
    page.after !== null && el("a", { href: linkTo("items", { ...wanted, after: page.after }), rel: "next" }, "next →"));
}

function itemRow(item, wanted) {
  const text = item.text ?? "";
  return el("li", { value: item.position + 1 },
    el("a", { href: linkTo("item", { ...wanted, id: item.id }), class: "isolate" }, item.id), " ",
    el("span", { class: "text" }, text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text),
    el("div", { class: "said" },
      item.questions.map((question) => el("span", { class: "isolate" },
        `${question.expert}: ${item.options[question.option]}? ${question.verdict ?? "open"}`)),
      item.predictions.map((made) => el("span", {}, el("span", { class: "isolate quiet" }, `${made.model}: `),
        made.outcome === made.status ? "" : predictionText(made, item), " ", outcomeBadge(made.outcome)))));
}

/** The option that a model named, in words. */
export function predictionText(made, item) {
  return made.option === null || made.option === undefined ? made.status : item.options[made.option];
}

/** What experts make of a model's answer. */
export function outcomeBadge(outcome) {
  return outcome ? el("span", { class: `badge ${outcome}` }, outcome) : null;
}

function downloadItems(items, frame) {
  const header = ["item", "text", "asked", "expert", "answer", ...frame.models];
  const rows = items.map((item) => [item.id, item.text,
    item.questions.map((question) => item.options[question.option]).join("; "),
    item.questions.map((question) => question.expert).join("; "),
    item.questions.map((question) => question.verdict ?? "open").join("; "),
    ...frame.models.map((model) => {
      const made = item.predictions.find((each) => each.model === model);
      return made ? predictionText(made, item) : NOTHING;
    })]);
  download("items.csv", toCsv(header, rows), "text/csv");
}
