/** Two models side by side on the items where they differ. */

import { el } from "../core/dom.js";
import { count, decimal, isNumber, percent, points } from "../core/format.js";
import { outcomeBadge, predictionText } from "../items/items.js";
import { later } from "../core/later.js";
import { intervalKind, isJoint } from "./models.js";
import { goTo, linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { pairList } from "../core/table.js";

const PER_PAGE = 20;

export async function showComparePage(params, frame) {
  if (frame.models.length < 2) return [el("h1", {}, "Compare"), el("p", { class: "notice" }, "There is only one model.")];
  const first = params.first ?? frame.models[0];
  const second = params.second ?? frame.models.find((name) => name !== first);
  const wanted = { disagreed: `${first}\n${second}` };
  const place = Object.fromEntries(["after", "before"].filter((name) => params[name]).map((name) => [name, params[name]]));
  const page = first === second ? null : await readPart("items", { ...wanted, ...place, limit: PER_PAGE });
  return [
    el("h1", {}, "Compare two models"),
    el("div", { class: "filters" }, picker("first", first, second, frame), picker("second", second, first, frame)),
    first === second ? el("p", { class: "notice" }, "Choose two different models.") : [
      later(`pair-${first}\n${second}`, () => readPart("differences"), (found) => verdictPart(found, first, second)),
      el("h2", {}, "Items on which they name different options"),
      el("p", { role: "status" }, `${count(page.matches)} of ${count(page.of)} items. `,
        el("a", { href: linkTo("items", wanted) }, "as a list")),
      moreLinks(page, { first, second }),
      page.items.map((item) => comparedItem(item, [first, second], wanted)),
      moreLinks(page, { first, second }),
    ],
  ];
}

function picker(name, chosen, other, frame) {
  return el("label", {}, name === "first" ? "model" : "against", el("select", { id: `compare-${name}`,
    onchange: (event) => goTo("compare", name === "first" ? { first: event.target.value, second: other }
      : { first: other, second: event.target.value }) },
  frame.models.map((model) => el("option", { value: model, selected: model === chosen }, model))));
}

function verdictPart(found, first, second) {
  if (found.why) return el("p", { class: "quiet" }, found.why);
  const pair = found.comparisons.find((c) => (c.first === first && c.second === second)
    || (c.first === second && c.second === first));
  if (!pair) return el("p", { class: "quiet" }, "These two were not compared.");
  const turned = (value) => (pair.first !== first && isNumber(value) ? -value : value); // −null would be 0
  const [low, high] = (pair.first === first ? [pair.low, pair.high] : [pair.high, pair.low]).map(turned);
  return el("div", { class: "notice" },
    el("p", {}, el("b", {}, pair.verdict === "tie" ? "They cannot be told apart." : `${pair.verdict} is better.`)),
    pairList([
      [`${first} − ${second}`, `${points(turned(pair.difference))} points, ${percent(pair.level, 0)} ${intervalKind(pair)} ${points(low)} to ${points(high)}`],
      ["p", decimal(pair.p_value)],
      ["method", pair.method + (pair.adjusted === "none" ? "" : `, adjusted: ${pair.adjusted}`)],
      ["rests on", `${count(pair.items)} items, ${count(pair.questions)} answers`],
      ["holds", pair.holds ? "yes" : `may not hold: ${pair.why}`],
    ]),
    isJoint(pair) && el("p", { class: "quiet" }, "The intervals of all pairs hold together at this level."),
    pair.notes.map((note) => el("p", { class: "quiet" }, note)));
}

function comparedItem(item, models, wanted) {
  return el("article", { class: "compared" },
    el("h3", {}, el("a", { href: linkTo("item", { ...wanted, id: item.id }), class: "isolate" }, item.id)),
    el("p", { class: "text" }, item.text),
    item.questions.map((question) => el("p", { class: "quiet isolate" },
      `${question.expert}: ${item.options[question.option]}? ${question.verdict ?? "open"}`)),
    el("div", { class: "sides" }, models.map((model) => {
      const made = item.predictions.find((each) => each.model === model);
      return el("div", { class: "card" }, el("span", { class: "quiet isolate" }, model),
        el("b", {}, made ? predictionText(made, item) : "not asked"), outcomeBadge(made?.outcome));
    })));
}

function moreLinks(page, chosen) {
  return el("p", { class: "tools" },
    page.before !== null && el("a", { href: linkTo("compare", { ...chosen, before: page.before }), rel: "prev" }, "← previous"),
    page.after !== null && el("a", { href: linkTo("compare", { ...chosen, after: page.after }), rel: "next" }, "next →"));
}
