/** The page that compares two models: the verdict, the difference, and the items where they differ. */

import { dotPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { count, isNumber, levelText, points } from "../core/format.js";
import { itemList, pageLinks, placeOf } from "../items/items.js";
import { later } from "../core/later.js";
import { intervalKind, isJoint } from "./models.js";
import { pValue } from "../core/notes.js";
import { goTo, linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { verdictStrip } from "../core/strip.js";

const PER_PAGE = 20;

export async function showComparePage(params, frame) {
  if (frame.models.length < 2)
    return [el("h1", {}, "Compare"), verdictStrip({ verdict: "There is only one model." })];
  const first = params.first ?? frame.models[0];
  const second = params.second ?? frame.models.find((name) => name !== first);
  const head = [el("h1", {}, "Compare two models"),
    el("div", { class: "filters" }, picker("first", first, second, frame), picker("second", second, first, frame))];
  if (first === second) return [...head, verdictStrip({ verdict: "Choose two different models." })];
  const wanted = { disagreed: `${first}\n${second}` };
  const page = await readPart("items", { ...wanted, ...placeOf(params), limit: PER_PAGE });
  return [
    ...head,
    later(`pair-${first}\n${second}`, () => readPart("differences"), (found) => pairPart(found, first, second)),
    el("h2", {}, "Items on which the two models differ"),
    el("p", { role: "status" }, `${count(page.matches)} of ${count(page.of)} items. `,
      el("a", { href: linkTo("items", wanted) }, "as a list")),
    itemList(page.items, wanted, [first, second]),
    pageLinks("compare", page, { first, second }),
  ];
}

function picker(name, chosen, other, frame) {
  return el("label", {}, name === "first" ? "model" : "against", el("select", { id: `compare-${name}`,
    onchange: (event) => goTo("compare", name === "first" ? { first: event.target.value, second: other }
      : { first: other, second: event.target.value }) },
  frame.models.map((model) => el("option", { value: model, selected: model === chosen }, model))));
}

function pairPart(found, first, second) {
  const pair = found.comparisons?.find((each) => [each.first, each.second].includes(first)
    && [each.first, each.second].includes(second));
  if (!pair) return verdictStrip({ verdict: `Not compared: ${found.why ?? "there is no comparison of these two"}` });
  const sign = pair.first === first ? 1 : -1;
  const turned = (value) => (isNumber(value) ? sign * value : null); // because −null is 0
  const [low, high] = (sign > 0 ? [pair.low, pair.high] : [pair.high, pair.low]).map(turned);
  const difference = turned(pair.difference);
  const interval = `${levelText(pair.level)} ${intervalKind(pair)}`;
  return el("div", {},
    verdictStrip({
      warning: !pair.holds && `The interval may not hold: ${pair.why}.`,
      verdict: pair.verdict === "tie" ? "They cannot be told apart." : `${pair.verdict} is better.`,
      details: [
        `${first} − ${second}: ${points(difference)} points, ${interval} ${points(low)} to ${points(high)}, p ${pValue(pair.p_value).replace(/^(?!<)/, "= ")}`,
        `From ${count(pair.items)} items and ${count(pair.questions)} answers; method: ${pair.method}`
          + `${pair.adjusted === "none" ? "" : `, adjusted: ${pair.adjusted}`}.`
          + (isJoint(pair) ? " The intervals of all pairs hold together at this level." : ""),
        ...pair.notes,
      ],
    }),
    isNumber(low) && isNumber(high) && differencePicture({ difference, low, high, holds: pair.holds, first, second, interval }));
}

/** The difference with its interval, on an axis with 0 in the middle. */
function differencePicture({ difference, low, high, holds, first, second, interval }) {
  const reach = Math.min(1, Math.max(0.05, Math.ceil(10 * Math.max(Math.abs(low), Math.abs(high))) / 10));
  return pictureOf({
    name: "difference",
    title: "Difference in accuracy, against 0",
    description: `${first} − ${second}: ${points(difference)} points, from ${points(low)} to ${points(high)}`,
    svg: dotPlot({
      rows: [{ label: `${first} − ${second}`, value: difference, low, high, holds }],
      axis: { title: "percentage points; right of 0 the first model is better", low: -reach, high: reach,
        format: points, line: { value: 0, title: "no difference" } },
    }),
    note: `${interval}; dashed line: no difference.`,
  });
}
