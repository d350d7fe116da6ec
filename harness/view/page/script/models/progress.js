/** Progress: models' runs with rate and cost, and experts' answers. */

import { el } from "../core/dom.js";
import { count, dollars, percent, plural, timeSpan } from "../core/format.js";
import { linkTo } from "../core/route.js";
import { isExported } from "../core/source.js";
import { dataTable } from "../core/table.js";

const MEMORY = 60_000;
const SHORTEST = 500;
const seen = new Map();

/** A table of unfinished runs; finished runs are in the table of models. */
export function runsSection(progress) {
  const items = progress.rows.item;
  const runs = progress.runs.filter((run) => run.answers < items * run.samples);
  return runs.length > 0 && el("section", {}, el("h2", {}, "Runs under way"), dataTable({
    name: "runs",
    caption: `Models' answers to ${plural(items, "item")}`,
    rows: runs,
    columns: [
      { title: "run", value: (run) => run.name },
      { title: "answers", number: true, value: (run) => run.answers },
      { title: "of", number: true, value: (run) => items * run.samples },
      { title: "share", value: (run) => run.answers / (items * run.samples || 1),
        node: (run) => bar(run.answers, items * run.samples, run.name) },
      { title: "failed", number: true, value: (run) => run.failed },
      { title: "rate", value: (run) => rateText(run, items * run.samples) },
      { title: "cost", number: true, value: (run) => run.usd, node: (run) => dollars(run.usd) },
    ],
  }));
}

/** A table of experts' progress and, as soon as estimates exist, their shares of yes answers. */
export function expertsSection({ experts }, frame, estimated = []) {
  if (!experts.length) return null;
  const who = frame.is_panel ? "annotator" : "expert";
  const rates = new Map(estimated.map((expert) => [expert.name, expert]));
  const rate = (title, key, hint) => ({ title, number: true, hint, value: (x) => rates.get(x.name)?.[key] ?? null,
    node: (x) => percent(rates.get(x.name)?.[key]) });
  return el("section", {}, el("h2", {}, frame.is_panel ? "Annotators" : "Experts"), dataTable({
    name: "experts",
    caption: `${frame.is_panel ? "Ratings" : "Questions and answers"} of every ${who}`,
    rows: experts,
    columns: [
      { title: who, value: (expert) => expert.name,
        node: (expert) => (frame.is_panel ? el("span", { class: "isolate" }, expert.name)
          : el("a", { href: linkTo("items", { expert: expert.name }), class: "isolate" }, expert.name)) },
      { title: "answered", number: true, value: answered },
      { title: "of", number: true, value: (expert) => expert.asked },
      { title: "share", value: (expert) => answered(expert) / (expert.asked || 1),
        node: (expert) => bar(answered(expert), expert.asked, expert.name) },
      ...(frame.is_panel ? ["rated", "skip"] : ["yes", "no", "unsure", "skip"]).map((kind) =>
        ({ title: kind, number: true, value: (expert) => expert.said[kind] ?? 0 })),
      { title: "open", number: true, value: (expert) => Math.max(0, expert.asked - answered(expert)) },
      ...(rates.size ? [rate("yes-rate", "yes_rate"),
        rate("1/K", "expected_yes_rate", "the share of yes that uniformly drawn options would give")] : []),
    ],
  }));
}

function answered(expert) {
  return Object.values(expert.said).reduce((sum, number) => sum + number, 0);
}

function bar(done, of, name) {
  return el("progress", { value: done, max: of || 1, "aria-label": `${name}: ${count(done)} of ${count(of)}` });
}

/** Answers per second over the last minute that this page was open, and the time left at this rate. */
function rateText(run, items) {
  if (isExported) return null;
  const now = performance.now();
  const all = seen.get(run.run) ?? [];
  if (all.at(-1)?.answers !== run.answers) all.push({ at: now, answers: run.answers });
  while (all.length > 2 && now - all[1].at > MEMORY) all.shift();
  seen.set(run.run, all);
  const [first, last] = [all[0], all.at(-1)];
  if (last.at - first.at < SHORTEST || now - last.at > MEMORY / 2) return "not running, as far as this page has seen";
  const rate = (1000 * (last.answers - first.answers)) / (last.at - first.at);
  return `${rate.toFixed(1)} a second, ${timeSpan((items - run.answers) / rate)} left`;
}
