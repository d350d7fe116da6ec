/** What is seen: the head with the progress, the question, the bar to answer with, and notes. */

import { el, part, prose, refill } from "./dom.js";
import { keepsForLong } from "./keeping.js";

const VERDICTS = [["yes", "Yes", "y"], ["no", "No", "n"], ["unsure", "Unsure", "u"]];
const NAMES = { yes: "Yes", no: "No", unsure: "Unsure", skip: "Skip" };
const STICKY = 150;
export const LONGEST_COMMENT = 5000;

/** What a value is called to people. */
export function nameOf(question, value) {
  return question.words?.[value] ?? NAMES[value] ?? question.choices?.[Number(value)]?.label ?? value;
}

export function drawHead({ study, person, done, of, instructions }, actions) {
  const share = of ? Math.min(100, (100 * done) / of) : 0;
  const meter = el("div", { class: "meter", role: "progressbar", "aria-label": "your progress", "aria-valuemin": 0,
    "aria-valuemax": of, "aria-valuenow": done, "aria-valuetext": `${done} of ${of} answered` }, el("span"));
  meter.firstChild.style.width = `${share}%`;
  refill(part("top"), meter, el("div", { class: "head" },
    el("p", { class: "name" }, prose("b", { id: "person" }, person), " ", prose("span", { class: "quiet" }, study)),
    el("p", { class: "count" }, `${done} of ${of}`, el("span", { class: "wide quiet" }, " answered")),
    el("p", { class: "ways" },
      instructions.trim() && el("button", { class: "plain", onclick: actions.instructions, "aria-haspopup": "dialog" },
        "Instructions", kbd("i")),
      el("button", { class: "plain", onclick: actions.listGiven, "aria-haspopup": "dialog" }, "My answers"),
      el("button", { class: "plain", onclick: actions.signOut }, "Sign out"))));
  document.title = `${done} of ${of} · ${study}`;
}

/** The question with its text; `draft` is the comment so far. */
export function drawQuestion({ question, value, reviewed }, draft, { answer, keepDraft }) {
  const title = prose("h1", { id: "question", tabindex: "-1" }, question.question);
  const choices = question.choices?.map((choice, place) => el("li", {}, el("button", {
    class: "answer choice", "data-value": place, "aria-pressed": reviewed ? String(value === String(place)) : null,
    onclick: () => answer(String(place)) },
    place < 9 && kbd(String(place + 1)),
    el("span", {}, prose("span", { class: "label" }, choice.label),
      choice.description && prose("span", { class: "quiet about" }, choice.description)))));
  refill(part("main"), 
    el("div", { class: "ask" },
      reviewed && el("p", { class: "review" }, `You answered: ${nameOf(question, value)}`),
      title,
      question.description && prose("p", { class: "quiet about" }, question.description)),
    el("article", { class: "sheet" },
      prose("div", { class: "prose", id: "text" }, question.words ? drawMarked(question) : question.text),
      question.options.length > 0 && el("div", { class: "options" }, el("h2", {}, "All options"),
        el("ul", {}, question.options.map((option) => prose("li", {}, option))))),
    choices && el("ol", { class: "choices", "aria-labelledby": "question" }, choices),
    drawComment(draft, keepDraft));
  part("main").querySelector(".ask").classList.toggle("sticky", title.offsetHeight < STICKY);
  window.scrollTo(0, 0);
  showMark(part("text").querySelector("mark"));
  title.focus({ preventScroll: true });
}

/** The text of an open answer with bold headings; the unit that is asked about is highlighted. */
function drawMarked({ text, question }) {
  const unit = question.slice(question.indexOf("“") + 1, question.lastIndexOf("”")).replace(/\r\n?/g, "\n");
  const start = text.indexOf(`【${unit}】`); // few fonts have these brackets, so the page leaves them out
  if (start < 0) return drawHeadings(text);
  return [...drawHeadings(text.slice(0, start)), el("mark", {}, unit), text.slice(start + unit.length + 2)];
}

function drawHeadings(text) {
  return text.split(/^(QUESTION|ANSWER)$/m).map((piece, place) => place % 2 ? el("b", {}, piece) : piece);
}

/** Scroll to the highlighted unit if the bar hides it. */
function showMark(mark) {
  if (mark && mark.getBoundingClientRect().bottom > part("bar").getBoundingClientRect().top) {
    mark.scrollIntoView({ block: "center" });
  }
}

function drawComment(draft, keepDraft) {
  const box = el("textarea", { id: "comment", rows: 3, maxlength: LONGEST_COMMENT, dir: "auto",
    "aria-describedby": "comment-help", oninput: (event) => keepDraft(event.target.value) });
  box.value = draft;
  const help = el("p", { id: "comment-help", class: "quiet small" },
    "Saved with your answer.",
    el("span", { class: "with-keys" }, " Ctrl+Enter leaves the box, or saves a comment on an earlier answer."));
  const inside = el("div", { class: "comment", hidden: !draft }, el("label", { for: "comment" }, "Comment"), box, help);
  const opening = el("button", { class: "plain", id: "add-comment", hidden: Boolean(draft),
    onclick: () => openComment() }, "Add a comment", kbd("c"));
  return [opening, inside];
}

export function openComment() {
  const box = part("comment");
  if (!box) return;
  part("add-comment").hidden = true;
  box.parentElement.hidden = false;
  box.focus();
}

/** The buttons at the bottom, within reach of a thumb. */
export function drawBar({ question, value, reviewed }, { answer, back, goOn, person }) {
  const verdict = ([name, label, key]) => el("button", { class: "answer", "data-value": name,
    "aria-pressed": reviewed ? String(value === name) : null, onclick: () => answer(name) }, question.words?.[name] ?? label, kbd(key));
  const bar = part("bar");
  bar.hidden = false;
  refill(bar, 
    !question.choices && el("div", { class: "row verdicts", role: "group", "aria-label": "your answer" },
      VERDICTS.map(verdict)),
    el("div", { class: "row quietly" },
      el("button", { class: "plain", id: "back", onclick: back }, "‹ Back", kbd("z")),
      prose("span", { class: "quiet small who" }, person()),
      reviewed && el("button", { class: "plain", id: "go-on", onclick: goOn }, "Keep it ›", kbd("Esc")),
      el("button", { class: "plain", "data-value": "skip", onclick: () => answer("skip"),
        "aria-pressed": reviewed ? String(value === "skip") : null }, nameOf(question, "skip"), kbd("s"))));
}

/** In place of a question: a title, a sentence, and a way back where there is one. */
export function drawMessage(title, text, back = null) {
  refill(part("main"), el("div", { class: "message" }, el("h1", { id: "question", tabindex: "-1" }, title),
    el("p", {}, text), back && el("button", { class: "plain", id: "back", onclick: back }, "‹ Back to the last question", kbd("z"))));
  part("bar").hidden = true;
  refill(part("bar"));
}

/** In place of a question: a form for a personal code; `signIn(code)` gives the text of an error, or nothing. */
export function drawSignIn(text, error, signIn) {
  drawMessage("Enter your code", text);
  document.title = "Enter your code";
  const box = el("input", { id: "code", autocomplete: "off", autocapitalize: "off", autocorrect: "off", spellcheck: "false",
    "aria-describedby": "code-help code-error" });
  const problem = el("p", { id: "code-error", role: "alert" });
  const say = (told) => {
    problem.textContent = told;
    box.setAttribute("aria-invalid", String(Boolean(told)));
    box.focus();
  };
  const button = el("button", { class: "answer" }, "Continue");
  const submit = async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    problem.textContent = "";
    const told = await signIn(box.value.replace(/[^0-9a-z]/gi, "")); // a header cannot contain every character
    button.disabled = false;
    if (told && box.isConnected) say(told);
  };
  const message = part("main").querySelector(".message");
  message.lastChild.id = "code-help";
  message.append(el("form", { onsubmit: submit }, el("label", { for: "code" }, "Personal code"), box, problem, button));
  document.body.dataset.ready = "code";
  say(error);
}

/** In place of a question: one of two things to choose, each a label and what it does. */
export function drawChoice(title, text, ...ways) {
  drawMessage(title, text);
  part("main").querySelector(".message").append(el("div", { class: "row" },
    ways.map(([label, act]) => el("button", { class: "answer", onclick: act }, label))));
  document.body.dataset.ready = "choice";
}

export function drawUnsent(number, isWaiting) {
  const strip = part("unsent");
  strip.hidden = number === 0 || !isWaiting;
  const safe = keepsForLong ? "kept in this browser, sent as soon as the server answers"
    : "this browser stores nothing: leave the page open until they are sent";
  refill(strip, !strip.hidden && [el("b", {}, `Not sent yet: ${number}`), ` – ${safe}`]);
}

export function drawNotice(text) {
  const strip = part("notice");
  strip.hidden = !text;
  refill(strip, text && [el("span", {}, text),
    el("button", { class: "plain", "aria-label": "close this note", onclick: () => drawNotice("") }, "✕")]);
}

function kbd(key) {
  return el("kbd", { "aria-hidden": "true" }, key);
}
