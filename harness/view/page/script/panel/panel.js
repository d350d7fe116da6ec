/** The page of a panel: how well annotators agree, and how every model compares with them. */

import { drawAgreement } from "./agreement.js";
import { drawCertificate } from "./certificate.js";
import { el } from "../core/dom.js";
import { decimal, isNumber, plural } from "../core/format.js";
import { later } from "../core/later.js";
import { drawHumanLevel, drawParity } from "./parity.js";
import { readPart } from "../core/source.js";
import { verdictStrip } from "../core/strip.js";

export async function showPanelPage() {
  return el("div", {}, el("h1", {}, "Panel"), later("panel", () => readPart("panel"), drawPanel));
}

function drawPanel(found) {
  if (found.undefined.ratings) return el("p", { class: "notice" }, found.undefined.ratings);
  return el("div", {},
    panelStrip(found),
    el("h2", {}, "Agreement"),
    found.agreement ? drawAgreement(found.agreement, found.reliable) : notComputed("agreement", found.undefined.agreement),
    found.models.map((model, place) =>
      drawModelBeside({ ...model, file: `${place + 1}-${model.name.replace(/[^\p{L}\p{N}_.-]+/gu, "-")}` }, found)),
    found.undefined.models && [el("h2", {}, "Models"), notComputed("certificate and parity", found.undefined.models)],
    found.left_out.length > 0 && el("p", { class: "caution" }, `Not shown: ${found.left_out.join("; ")}.`));
}

/** The verdict on every model, and how well annotators agree. */
function panelStrip(found) {
  const alpha = found.agreement?.alpha;
  const verdicts = found.models.filter((model) => model.certificate)
    .map((model) => `${model.name}: ${model.certificate.verdict}`);
  const agreement = alpha ? `Krippendorff's α ${decimal(alpha.value)}` : "Agreement is not computed";
  return verdictStrip({
    verdict: verdicts.length ? verdicts.map((text) => el("span", { class: "line isolate" }, text)) : agreement,
    warning: isNumber(alpha?.value) && alpha.value < found.reliable
      && `Agreement is below ${found.reliable}, the usual bar for reliable labels.`,
    details: [
      `${verdicts.length ? `${agreement}. ` : ""}${plural(found.annotators, "annotator")} gave `
        + `${plural(found.ratings, "rating")} to ${plural(found.items, "item")}.`,
      "These are the numbers of oversight panel agree, certify and parity with default settings.",
    ],
  });
}

function drawModelBeside(model, panel) {
  const heading = el("h2", {}, "Model ", el("span", { class: "isolate" }, model.name));
  const why = model.undefined;
  if (why.predictions) return el("section", {}, heading, notComputed("certificate and parity", why.predictions));
  return el("section", {},
    heading,
    el("h3", {}, "Is the model better than the average annotator?"),
    model.certificate ? drawCertificate(model, panel.ceilings) : notComputed("certificate", why.certificate),
    el("h3", {}, "Model and humans, by certainty of the vote"),
    model.parity ? drawParity(model) : notComputed("parity", why.parity),
    el("h3", {}, "Model and annotators, against experts' labels"),
    model.parity?.human_level ? drawHumanLevel(model) : notComputed("human-level indices", why.human_level ?? why.parity));
}

/** A notice that a result was not computed, with the reason. */
function notComputed(what, why) {
  return el("p", { class: "notice" }, el("b", {}, `Not computed: ${what}. `), why ?? "");
}
