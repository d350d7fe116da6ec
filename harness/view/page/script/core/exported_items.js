/** Items of an exported file, filtered in the browser as the server filters them. */

import { readQuery, splitWords } from "./exported_words.js";
import { isNumber } from "./format.js";

const PAGE = 50;
const SAID = { confirmed: ["yes"], refuted: ["no"], abstained: ["unsure", "skip"], open: [null] };
const knownWords = new Map();

/** One page of the items that match a filter, in the format of the server. */
export function readExportedItems(kept, params) {
  const { after, before, limit = PAGE, ...wanted } = params;
  const found = kept.items.filter((item) => meetsFilter(item, wanted));
  const most = Number(limit);
  let start = 0;
  if (before !== undefined) start = Math.max(0, found.filter((item) => item.position < Number(before)).length - most);
  else if (after !== undefined) start = found.filter((item) => item.position <= Number(after)).length;
  const items = found.slice(start, start + most);
  const end = start + items.length;
  return {
    items,
    matches: found.length,
    of: kept.items.length,
    before: start > 0 ? found[start - 1].position + 1 : null,
    after: end < found.length ? found[end].position - 1 : null,
    behind: false,
  };
}

/** One item, with the previous and the next item that match a filter. */
export function readExportedItem(kept, { id, ...wanted }) {
  const item = kept.items.find((each) => each.id === id);
  if (!item) throw new Error("this file does not hold that item; see it with: oversight view");
  const found = kept.items.filter((each) => meetsFilter(each, wanted));
  return {
    ...item,
    previous: found.findLast((each) => each.position < item.position)?.id ?? null,
    next: found.find((each) => each.position > item.position)?.id ?? null,
  };
}

/** The distinct values of a column of the items. */
export function readExportedColumn(kept, { name }) {
  const values = new Set(kept.items.filter((item) => Object.hasOwn(item.meta ?? {}, name)).map((item) => item.meta[name]));
  return { values: [...values].sort(), of: values.size };
}

function meetsFilter(item, wanted) {
  return meetsWords(item, wanted.words) && meetsStratum(item, wanted) && meetsQuestion(item, wanted)
    && meetsPrediction(item, wanted) && meetsDisagreement(item, wanted.disagreed);
}

/** Whether an item contains every word; the last also matches as a prefix. A text of symbols only finds nothing. */
function meetsWords(item, words) {
  if (!words?.trim()) return true;
  const wanted = readQuery(words);
  const there = wordsOf(item);
  return wanted.length > 0 && wanted.every(({ word, begins }) => there.has(word)
    || (begins && [...there].some((each) => each.startsWith(word))));
}

/** An item's words, cached after the first call. */
function wordsOf(item) {
  if (!knownWords.has(item)) knownWords.set(item, splitWords([item.id, item.text ?? "", ...item.options].join(" ")));
  return knownWords.get(item);
}

function meetsStratum(item, { column, stratum }) {
  return !column || !stratum || (Object.hasOwn(item.meta ?? {}, column) && item.meta[column] === stratum);
}

function meetsQuestion(item, { expert, asked, verdict }) {
  if (!expert && !asked && !verdict) return true;
  return item.questions.some((question) => (!expert || question.expert === expert)
    && (!asked || item.options[question.option] === asked)
    && (!verdict || SAID[verdict]?.includes(question.verdict)));
}

function meetsPrediction(item, { model, outcome }) {
  if (!model && !outcome) return true;
  return item.predictions.some((made) => (!model || made.model === model)
    && (!outcome || becameOf(made, item).includes(outcome)));
}

/** Outcomes of a prediction; there may be several, because experts may both confirm and refute it. */
function becameOf(made, item) {
  if (made.status === "failed") return ["failed"];
  if (!isNumber(made.option)) return ["unreadable"];
  return item.questions.flatMap(({ option, verdict }) => {
    const hit = option === made.option;
    if (hit && verdict === "yes") return ["confirmed"];
    return (hit && verdict === "no") || (!hit && verdict === "yes") ? ["refuted"] : [];
  });
}

function meetsDisagreement(item, models) {
  if (!models) return true;
  const named = models.split("\n");
  const options = item.predictions.filter((made) => named.includes(made.model) && isNumber(made.option));
  return new Set(options.map((made) => made.option)).size > 1;
}
