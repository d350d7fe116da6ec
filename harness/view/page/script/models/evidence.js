/** Sections with the evidence for the estimates: assumption checks, experts, and runs. */

import { el } from "../core/dom.js";
import { NOTHING, count, plural } from "../core/format.js";
import { pValue } from "../core/notes.js";
import { foldedSection } from "../core/strip.js";
import { dataTable, pairList } from "../core/table.js";

const MOST_CHECKS = 8;
const STATES = { passed: "passed", failed: "FAILED", "not made": "not made" };

/** Assumption checks of the given models; the section is open if a check failed. */
export function checksSection({ models }) {
  const rows = models.flatMap((model) => model.checks.map((check) => ({ ...check, model: model.name })));
  const number = (state) => rows.filter((row) => row.state === state).length;
  const title = rows.length
    ? `Assumption checks: ${number("passed")} passed, ${number("failed")} failed, ${number("not made")} not made`
    : "Assumption checks: nothing to check yet";
  const [failed, open, passed] = ["failed", "not made", "passed"].map((state) =>
    checksTable(`Checks that ${state === "not made" ? "were not made" : state}`, models,
      joinModels(rows.filter((row) => row.state === state))));
  if (!failed) return foldedSection(title, open, passed);
  const section = foldedSection(title, failed,
    el("details", {}, el("summary", {}, "checks that passed or were not made"), open, passed));
  section.open = true;
  return section;
}

/** One row per check and finding, with the models that have this finding. */
function joinModels(rows) {
  const found = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.name, row.message]);
    if (found.has(key)) found.get(key).models.push(row.model);
    else found.set(key, { ...row, models: [row.model] });
  }
  return [...found.values()];
}

function checksTable(caption, models, rows) {
  return rows.length > 0 && dataTable({
    name: caption.replaceAll(" ", "-").toLowerCase(),
    caption,
    rows,
    most: MOST_CHECKS,
    stacked: true,
    columns: [
      { title: "check", value: (row) => row.name },
      ...(models.length > 1 ? [{ title: "models", value: (row) => (row.models.length === models.length && models.length > 2
        ? `all ${models.length}` : row.models.join(", ")) }] : []),
      { title: "outcome", value: (row) => STATES[row.state],
        node: (row) => el("span", { class: row.state === "failed" && "caution" }, STATES[row.state]) },
      { title: "p", number: true, value: (row) => (row.models.length > 1 ? null : row.p_value),
        node: (row) => (row.models.length > 1 ? NOTHING : pValue(row.p_value)) },
      { title: "what it says", value: (row) => row.message },
    ],
  });
}

/** Experts' error rates, consistency and drift from control questions; nothing if there are none. */
export function qualitySection({ quality = [] }) {
  const shown = [
    ["answered", "control questions"],
    ["sensitivity", "yes to the true option"],
    ["specificity", "no to a false option"],
    ["steadiness", "same answer when asked again"],
    ["agreement", "same answer as a colleague"],
    ["drift", "change from first to second half of gold"],
  ].filter(([key]) => quality.some((row) => row.words[key]));
  return quality.length > 0 && foldedSection("Expert reliability, measured with control questions",
    dataTable({
      name: "quality",
      caption: "Reliability per expert, from gold items, repeats and second experts",
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
  return foldedSection("What was run",
    pairList([
      ["protocol", overview.protocol],
      ["questions", overview.asked],
      ["options", overview.options.map((k) => `${plural(k.items, "item")} with ${k.options} options`).join(", ")],
      ["versions", versions],
      ["computed", overview.created],
    ]),
    overview.models.map(runDetails));
}

/** Settings and usage of a run. */
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
