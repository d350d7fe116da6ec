/** The page of one item: its questions with experts, propensities and answers, and every model's raw reply. */

import { el } from "../core/dom.js";
import { NOTHING, count, decimal, isNumber, percent } from "../core/format.js";
import { filterOf, outcomeBadge, predictionText } from "./items.js";
import { studyStrip } from "../models/verdict.js";
import { goTo, linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { dataTable, pairList } from "../core/table.js";

const MOST_OPEN = 3;
let neighbours = {};

export async function showItemPage(params, frame) {
  const wanted = filterOf(params);
  const item = await readPart("item", { ...wanted, id: params.id ?? "" });
  neighbours = { ...item, wanted };
  return [
    el("p", { class: "tools" },
      el("a", { href: linkTo("items", wanted) }, "↑ all items found"),
      item.previous !== null && el("a", { href: linkTo("item", { ...wanted, id: item.previous }), rel: "prev" }, "← previous (k)"),
      item.next !== null && el("a", { href: linkTo("item", { ...wanted, id: item.next }), rel: "next" }, "next (j) →")),
    el("h1", { class: "isolate" }, item.id),
    studyStrip(frame),
    item.text === null ? el("p", { class: "quiet" }, "This file was written without texts.") : el("p", { class: "text" }, item.text),
    el("ol", { class: "options" }, item.options.map((option) => el("li", { class: "isolate" }, option))),
    pairList([["position in the source", count(item.position + 1)],
      ...Object.entries(item.meta ?? {}).map(([name, value]) => [name, el("span", { class: "isolate" }, value)])]),
    questionsSection(item),
    el("section", {}, el("h2", {}, "Models"),
      item.predictions.length === 0 ? el("p", {}, "No model was asked about this item.")
        : item.predictions.map((made) => predictionPart(made, item, item.predictions.length <= MOST_OPEN))),
  ];
}

function questionsSection(item) {
  if (!item.questions.length)
    return el("section", {}, el("h2", {}, "Experts"), el("p", {}, "No expert was asked about this item."));
  return el("section", {}, el("h2", {}, "Experts"),
    dataTable({
      name: `questions-${item.id}`,
      caption: "Questions about this item, their probabilities, and the answers",
      rows: item.questions,
      columns: [
        { title: "expert", value: (question) => question.expert },
        { title: "is it …?", value: (question) => item.options[question.option] },
        { title: "answer", value: (question) => question.verdict ?? "open" },
        { title: "probability of this question", number: true, value: (question) => question.propensity,
          node: (question) => decimal(question.propensity, 4) },
        { title: "probabilities of all options", value: (question) => question.propensities.map((p) => decimal(p, 4)).join(", ")
          || "all alike" },
        { title: "protocol", value: (question) => question.protocol },
        { title: "came by", value: (question) => question.source ?? NOTHING },
        { title: "comment", value: (question) => question.comment ?? "" },
      ],
    }),
    item.questions.filter((question) => question.revisions.length).map((question) => el("details", {},
      el("summary", {}, `${question.expert}, ${item.options[question.option]}: ${count(question.revisions.length)} revisions`),
      el("ol", {}, question.revisions.map((revision) => el("li", {},
        `${revision.when}: ${revision.state} ${[...revision.said, revision.comment].filter(Boolean).join(", ")}`,
        isNumber(revision.seconds) ? `, ${revision.seconds.toFixed(0)} s` : ""))))));
}

function predictionPart(made, item, open) {
  return el("article", {}, el("details", { open },
    el("summary", {}, el("b", { class: "isolate" }, made.model), ": ", predictionText(made, item), " ", outcomeBadge(made.outcome)),
    made.samples.map((sample) => [
      pairList([
        ["read as", readAs(sample, item)],
        ["tokens", `${count(sample.input_tokens)} in, ${count(sample.output_tokens)} out`
          + (sample.guessed ? ` (upper bound for ${count(sample.guessed)} calls)` : "")],
        ["attempts", `${count(sample.attempts)}, ${sample.seconds.toFixed(2)} s, by ${sample.source}`],
        ["confidence", isNumber(sample.confidence) ? percent(sample.confidence) : null],
      ]),
      sample.raw === null ? el("p", { class: "quiet" }, "This file does not include the reply.")
        : el("pre", { tabindex: "0", "aria-label": `raw reply of ${made.model}` }, sample.raw || "(no reply)"),
    ])));
}

function readAs(sample, item) {
  const option = isNumber(sample.option) ? item.options[sample.option] : sample.status;
  return (sample.sample ? `sample ${sample.sample + 1}: ` : "") + option + (sample.reason ? ` (${sample.reason})` : "");
}

/** Go to another item of the list by key: j or → next, k or ← previous, u back to the list. */
export function goByKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, .scroll")) return;
  const to = { j: "next", ArrowRight: "next", k: "previous", ArrowLeft: "previous" }[event.key];
  if (to && neighbours[to]) goTo("item", { ...neighbours.wanted, id: neighbours[to] });
  if (event.key === "u") goTo("items", neighbours.wanted);
}
