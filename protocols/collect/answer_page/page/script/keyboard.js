/** One key an answer: where it would be no letter of a text, and never for a key that is held down. */

import { areInstructionsOpen } from "./instructions.js";

const VERDICT_KEYS = { y: "yes", n: "no", u: "unsure" };

/** Act on keys; `actions` has answer(value), back, goOn, comment, instructions, saveComment and question(). */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (areInstructionsOpen() || event.isComposing || event.repeat || event.target.id === "code") return;
    if (event.target.id === "comment") {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) claim(event, actions.saveComment);
      else if (event.key === "Escape") claim(event, () => event.target.blur());
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = actionOf(letterOf(event), actions);
    if (act) claim(event, act);
  });
}

function actionOf(key, actions) {
  const question = actions.question();
  if (key === "z") return actions.back;
  if (key === "i") return actions.instructions;
  if (!question) return null;
  if (key === "c") return actions.comment;
  if (key === "s") return () => actions.answer("skip");
  if (key === "escape") return actions.goOn;
  if (!question.choices) return VERDICT_KEYS[key] && (() => actions.answer(VERDICT_KEYS[key]));
  const place = /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
  return place >= 0 && place < question.choices.length ? () => actions.answer(String(place)) : null;
}

/** The letter on a key; of keyboards without Latin letters the one at its place. */
function letterOf(event) {
  const isLatin = event.key.length !== 1 || event.key.charCodeAt(0) < 128;
  return (isLatin ? event.key : event.code.replace(/^Key|^Digit/, "")).toLowerCase();
}

function claim(event, act) {
  event.preventDefault();
  act();
}
