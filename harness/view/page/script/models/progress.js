/** What comes in now: models' runs with rate and cost, and experts' answers. */

import { el } from "../core/dom.js";
import { count, dollars, plural, timeSpan } from "../core/format.js";
import { linkTo } from "../core/route.js";
import { isExported } from "../core/source.js";
import { dataTable } from "../core/table.js";

const MEMORY = 60_000;
const SHORTEST = 500;
const seen = new Map();

/** Runs and experts with how far they have come. */
export function progressSection(progress, frame) {
  const items = progress.rows.item;
  return el("section", {},
    el("h2", {}, "Progress"),
    progress.runs.length > 0 && dataTable({
      name: "runs",
      caption: `Models' answers to ${plural(items, "item")}`,
      rows: progress.runs,
      columns: [
        { title: "run", value: (run) => run.name },
        { title: "answers", number: true, value: (run) => run.answers },
        { title: "of", number: true, value: (run) => items * run.samples },
        { title: "share", value: (run) => run.answers / (items * run.samples || 1),
          node: (run) => bar(run.answers, items * run.samples, run.name) },
        { title: "unreadable", number: true, value: (run) => run.unreadable },
        { title: "failed", number: true, value: (run) => run.failed },
        { title: "rate", value: (run) => rateText(run, items * run.samples) },
        { title: "cost", number: true, value: (run) => run.usd, node: (run) => dollars(run.usd) },
      ],
    }),
    progress.experts.length > 0 && dataTable({
      name: "arrivals",
      caption: frame.is_panel ? "Annotators' ratings" : "Experts' answers",
      rows: progress.experts,
      columns: [
        { title: frame.is_panel ? "annotator" : "expert", value: (expert) => expert.name,
          node: (expert) => (frame.is_panel ? el("span", { class: "isolate" }, expert.name)
            : el("a", { href: linkTo("items", { expert: expert.name }), class: "isolate" }, expert.name)) },
        { title: "answered", number: true, value: answered },
        { title: "of", number: true, value: (expert) => expert.asked },
        { title: "share", value: (expert) => answered(expert) / (expert.asked || 1),
          node: (expert) => bar(answered(expert), expert.asked, expert.name) },
        ...(frame.is_panel ? ["rated", "skip"] : ["yes", "no", "unsure", "skip"]).map((kind) =>
          ({ title: kind, number: true, value: (expert) => expert.said[kind] ?? 0 })),
        { title: "open", number: true, value: (expert) => Math.max(0, expert.asked - answered(expert)) },
      ],
    }));
}

function answered(expert) {
  return Object.values(expert.said).reduce((sum, number) => sum + number, 0);
}

function bar(done, of, name) {
  return el("progress", { value: done, max: of || 1, "aria-label": `${name}: ${count(done)} of ${count(of)}` });
}

/** Answers a second over the last minute that this page has watched, and what is left at that rate. */
function rateText(run, items) {
  if (isExported) return null;
  const now = performance.now();
  const all = seen.get(run.run) ?? [];
  if (all.at(-1)?.answers !== run.answers) all.push({ at: now, answers: run.answers });
  while (all.length > 2 && now - all[1].at > MEMORY) all.shift();
  seen.set(run.run, all);
  const [first, last] = [all[0], all.at(-1)];
  if (run.answers >= items) return "complete";
  if (last.at - first.at < SHORTEST || now - last.at > MEMORY / 2) return "not running, as far as this page has seen";
  const rate = (1000 * (last.answers - first.answers)) / (last.at - first.at);
  return `${rate.toFixed(1)} a second, ${timeSpan((items - run.answers) / rate)} left`;
}
