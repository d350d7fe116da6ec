/** The verdict on a study's models in one sentence, with a warning if a check failed. */

import { headlineOf, reasonOf } from "./models.js";
import { levelText, plural } from "../core/format.js";
import { later } from "../core/later.js";
import { readPart } from "../core/source.js";
import { verdictStrip } from "../core/strip.js";

const MOST_LISTED = 4;

/** The strip of a study; null for a panel, because the verdicts of a panel are on a separate page. */
export function studyStrip(frame) {
  if (frame.is_panel) return null;
  return later("strip", async () => {
    const [overview, found] = await Promise.all([readPart("overview"), readPart("differences")]);
    return overview.why ? { verdict: `No accuracy yet: ${overview.why}` } : {
      verdict: rankingVerdict(overview.models, found),
      warning: warningOf(overview.models) ?? comparisonDoubt(found),
      details: [`${overview.asked}. ${checksText(overview.models)}`],
    };
  }, verdictStrip);
}

/** The strip of one model. */
export function modelStrip(model, details) {
  return verdictStrip({
    verdict: headlineOf(model) ? accuracyText(model) : `No accuracy: ${reasonOf(model)}`,
    warning: warningOf([model]),
    details: [...details, checksText([model])],
  });
}

function accuracyText(model) {
  const quoted = headlineOf(model);
  return `${quoted.words.value}, ${levelText(quoted.level)} interval ${quoted.words.interval}`;
}

function rankingVerdict(models, found) {
  const first = leadersOf(found);
  if (!models.some(headlineOf) && !first.length) return `No accuracy yet: ${reasonOf(models[0])}`;
  if (models.length === 1) return `${models[0].name}: ${accuracyText(models[0])}`;
  if (!first.length) return `${plural(models.length, "model")}, not compared: ${found.why ?? "there is no comparison"}`;
  const best = first.length === 1 && models.find((model) => model.name === first[0]);
  const mark = comparisonDoubt(found) ? " (!)" : "";
  if (best) return `${best.name} is the best of ${plural(models.length, "model")}${mark}${headlineOf(best) ? `: ${accuracyText(best)}` : ""}`;
  const more = first.length - MOST_LISTED;
  return `Not decided which model is the best: ${first.slice(0, MOST_LISTED).join(", ")}${more > 0 ? ` and ${more} more` : ""}${mark}`;
}

/** A warning if the interval of a difference from a first-ranked model may not hold; null otherwise. */
function comparisonDoubt(found) {
  const first = leadersOf(found);
  const pair = found.comparisons?.find((each) => !each.holds && [each.first, each.second].some((name) => first.includes(name)));
  return pair ? `The comparison of ${pair.first} and ${pair.second} may not hold: ${pair.why}.` : null;
}

/** Models for which no significantly better model is known. */
function leadersOf({ ranking, comparisons = [] }) {
  if (ranking) return ranking.filter((row) => row.ranks[0] === 1).map((row) => row.model);
  const worse = comparisons.filter((pair) => pair.verdict !== "tie")
    .map((pair) => (pair.verdict === pair.first ? pair.second : pair.first));
  const names = new Set(comparisons.flatMap((pair) => [pair.first, pair.second]));
  return [...names].filter((name) => !worse.includes(name));
}

function warningOf(models) {
  const failed = models.map((model) => model.checks.filter((check) => check.state === "failed").map((check) => check.name));
  const names = [...new Set(failed.flat())];
  const about = failed.filter((checks) => checks.length).length;
  if (names.length)
    return `${plural(names.length, "check")} FAILED (${names.join(", ")})${models.length > 1 ? ` for ${about} of ${models.length} models` : ""}: `
      + `do not report ${models.length > 1 ? "these numbers" : "this number"} before you have read the checks.`;
  const doubtful = models.map(headlineOf).filter((quoted) => quoted && !quoted.holds);
  return doubtful.length ? `${plural(doubtful.length, "interval")} of ${models.length} may not hold: ${doubtful[0].why}.` : null;
}

function checksText(models) {
  const states = models.flatMap((model) => model.checks.map((check) => check.state));
  const number = (state) => states.filter((each) => each === state).length;
  if (!states.length) return "No check of the assumptions was made.";
  const others = [["failed", number("failed")], ["not made", number("not made")]].filter(([, of]) => of);
  return others.length ? `Checks: ${number("passed")} passed, ${others.map(([state, of]) => `${of} ${state}`).join(", ")}.`
    : `All ${number("passed")} checks of the assumptions passed.`;
}
