/** What the numbers rest on: checks, experts, what was run. */

import { el } from "../core/dom.js";
import { count, decimal, percent, plural } from "../core/format.js";
import { linkTo } from "../core/route.js";
import { dataTable, pairList } from "../core/table.js";

const STATES = { passed: "passed", failed: "FAILED", "not made": "not made" };

/** Checks of the assumptions, of all models or of one. */
export function checksSection({ models }) {
  const rows = models.flatMap((model) => model.checks.map((check) => ({ ...check, model: model.name })));
  const number = (state) => rows.filter((row) => row.state === state).length;
  return el("section", {},
    el("h2", {}, "Checks of the assumptions"),
    rows.length === 0 ? el("p", {}, "Not checked: there is nothing to check yet.") : [
      el("p", {}, `${number("passed")} passed, ${number("failed")} failed, ${number("not made")} not made.`),
      checksTable("checks", "Checks that failed or were not made", models,
        [...rows.filter((row) => row.state === "failed"), ...rows.filter((row) => row.state === "not made")]),
      el("details", { open: models.length === 1 }, el("summary", {}, `${number("passed")} checks that passed`),
        checksTable("checks-passed", "Checks that passed", models, rows.filter((row) => row.state === "passed")))]);
}

function checksTable(name, caption, models, rows) {
  return rows.length > 0 && dataTable({
    name,
    caption,
    rows,
    columns: [
      { title: "check", value: (row) => row.name },
      ...(models.length > 1 ? [{ title: "model", value: (row) => row.model }] : []),
      { title: "outcome", value: (row) => STATES[row.state],
        node: (row) => el("span", { class: row.state === "failed" && "caution" }, STATES[row.state]) },
      { title: "p", number: true, value: (row) => row.p_value, node: (row) => decimal(row.p_value) },
      { title: "what it says", value: (row) => row.message },
    ],
  });
}

/** Experts by what they said, beside what uniform draws would have them say. */
export function expertsSection({ experts }) {
  return el("section", {},
    el("h2", {}, "Experts"),
    dataTable({
      name: "experts",
      caption: "Questions and answers of every expert",
      rows: experts,
      columns: [
        { title: "expert", value: (x) => x.name,
          node: (x) => el("a", { href: linkTo("items", { expert: x.name }), class: "isolate" }, x.name) },
        { title: "asked", number: true, value: (x) => x.asked },
        { title: "yes", number: true, value: (x) => x.yes },
        { title: "no", number: true, value: (x) => x.no },
        { title: "abstained", number: true, value: (x) => x.abstained },
        { title: "open", number: true, value: (x) => x.asked - x.yes - x.no - x.abstained },
        { title: "yes-rate", number: true, value: (x) => x.yes_rate, node: (x) => percent(x.yes_rate) },
        { title: "1/K", number: true, value: (x) => x.expected_yes_rate, node: (x) => percent(x.expected_yes_rate),
          hint: "the share of yes that uniformly drawn options would give" },
      ],
    }));
}

/** Error rates, steadiness and drift of experts, by control questions; nothing where there are none. */
export function qualitySection({ quality = [] }) {
  const shown = [
    ["answered", "control questions"],
    ["sensitivity", "yes to the true option"],
    ["specificity", "no to a false option"],
    ["steadiness", "same answer when asked again"],
    ["agreement", "same answer as a colleague"],
    ["drift", "change from first to second half of gold"],
  ].filter(([key]) => quality.some((row) => row.words[key]));
  return quality.length > 0 && el("section", {},
    el("h2", {}, "Experts, by control questions"),
    dataTable({
      name: "quality",
      caption: "What gold, repeats and second experts tell of every expert",
      rows: quality,
      columns: [
        { title: "expert", value: (row) => row.name },
        ...shown.map(([key, title]) => ({ title, value: (row) => row.words[key] })),
      ],
    }));
}

/** Settings of the study and of every run. */
export function whatWasRun(overview) {
  const versions = Object.entries(overview.versions).map(([name, version]) => `${name} ${version}`).join(", ");
  return el("section", {},
    el("h2", {}, "What was run"),
    pairList([
      ["protocol", `${overview.protocol}, seed ${overview.seed}`],
      ["questions", overview.asked],
      ["options", overview.options.map((k) => `${plural(k.items, "item")} with ${k.options} options`).join(", ")],
      ["versions", versions],
      ["computed", overview.created],
    ]),
    overview.models.map(runDetails));
}

/** A run's settings and what it used. */
export function runDetails(model) {
  return el("details", {},
    el("summary", {}, `${model.name}: run ${model.run}`),
    pairList([
      ["begun", model.created],
      ["items", model.items_text],
      ["tokens", `${count(model.input_tokens)} in, ${count(model.output_tokens)} out`],
      ["cost", model.cost_text || "not known, or nothing"],
    ]),
    el("pre", {}, JSON.stringify(model.spec, null, 2)));
}
