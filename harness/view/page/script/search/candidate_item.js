/** The requests and replies of a candidate on one item, call by call. */

import { expertsText } from "./candidate.js";
import { el } from "../core/dom.js";
import { NOTHING, count, plural } from "../core/format.js";
import { outcomeBadge } from "../items/items.js";
import { linkTo } from "../core/route.js";
import { readPart } from "../core/source.js";
import { pairList } from "../core/table.js";

const LEFT_OUT = "left out of this file";

export async function showCandidateItem({ id: search = "", candidate: id, item }) {
  const found = await readPart("candidate-item", { id, item, search });
  const answer = found.answer;
  return [
    el("p", {}, el("a", { href: linkTo("search", { id: found.search, candidate: id }) }, `← ${found.name}`)),
    el("h1", { class: "isolate" }, `${found.name} on ${found.item.id}`),
    el("h2", {}, "The item"),
    el("p", { class: "text" }, found.item.text ?? LEFT_OUT),
    pairList([
      ["options", found.item.options.join(" · ")],
      ["its answer", el("span", {}, answer.option ?? NOTHING, " ", outcomeBadge(answer.outcome))],
      ["why none", answer.reason || null],
      ["experts said", expertsText(answer)],
      ["items of", found.split],
      ["tokens", `${count(found.input_tokens)} in, ${count(found.output_tokens)} out`],
      ["returned value", found.raw ?? LEFT_OUT],
    ]),
    el("h2", {}, `Calls and replies: ${plural(found.calls.length, "call")}`),
    el("p", { class: "quiet" }, "For this page the program ran again on stored replies; no model was called."),
    found.missing.map((each) => el("p", { class: "notice caution" }, `Not shown: ${each.part}. ${each.why ?? ""}`)),
    found.calls.map((call, place) => oneCall(call, place, found.calls.length)),
    found.ended && el("p", { class: "notice caution" }, `The calls end here: ${found.ended}.`),
    found.is_same === false && el("p", { class: "notice caution" },
      "Run again, the program gave another answer than the stored one. ", found.reason_again ?? ""),
  ].flat(Infinity);
}

function oneCall(call, place, all) {
  const about = [
    call.temperature !== null && `temperature ${call.temperature}`,
    call.input_tokens + call.output_tokens > 0 && `${count(call.input_tokens)} tokens in, ${count(call.output_tokens)} out`,
    call.finish && `ended with ${call.finish}`,
  ].filter(Boolean);
  return el("section", { class: "call" },
    el("h3", {}, call.is_code ? `Code, ${place + 1} of ${all}` : `Call ${place + 1} of ${all}`),
    about.length > 0 && el("p", { class: "quiet" }, about.join(" · ")),
    call.messages.flatMap((message) => [
      el("h4", {}, call.is_code ? "ran" : message.role),
      el("pre", {}, message.text ?? LEFT_OUT),
    ]),
    el("h4", {}, call.is_code ? "printed" : "reply"),
    call.error ? el("p", { class: "caution" }, call.error) : el("pre", { class: "reply" }, call.reply ?? LEFT_OUT));
}
