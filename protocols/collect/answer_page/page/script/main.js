/** The page: one question after the other, answers sent behind the reader's back. */

import { announce, part, refill } from "./dom.js";
import { LONGEST_COMMENT, drawBar, drawChoice, drawHead, drawMessage, drawNotice, drawQuestion, drawSignIn, drawUnsent,
  nameOf, openComment } from "./drawing.js";
import { areInstructionsOpen, showGiven, showInstructions, showNewInstructions } from "./instructions.js";
import { forget, keep, keepsForLong, kept, keptNames, whenOthersKeep } from "./keeping.js";
import { listenToKeys } from "./keyboard.js";
import { adoptUnsent, drawKey, dropUnsent, putUnsent, unsentOf } from "./outbox.js";
import { ask, send } from "./server.js";
import { restartWatch, updateWatch, watchedSeconds } from "./stopwatch.js";

const TOO_SOON = 600; // milliseconds within which nobody has read a question
const LATE = 2000;
const POLL = 30_000;
const LONGEST_WAIT = 30;
const INVITED = "You received it from the person who invited you.";
const NO_COOKIES = "This browser does not keep cookies for this page. Allow cookies for it, then enter your code again.";
const SIGNED_OUT = "You have signed out. To answer more, enter your code again.";
const CLOSED = "You were signed out here, or your code is no longer valid. If it is refused, ask for a new one.";
const OLD_LINK = "This link no longer opens the page. Enter your personal code, or ask for one.";

let link = null;
let state = null;
let shown = null; // {question, value, comment, reviewed}
let ready = false;
let readyTimer = 0;
let failures = 0;
let retryTimer = 0;
let sending = false;
let ended = false;
let isFresh = false; // the code was exchanged for a cookie, which was not used yet

const actions = { answer, back, goOn, saveComment, keepDraft, instructions, comment: openComment, signOut, listGiven,
  question: () => shown?.question ?? null, person: () => state?.person ?? "" };

async function begin() {
  if (location.hash.startsWith("#pass=")) { // a link of an earlier version, which contains a secret
    history.replaceState(null, "", location.pathname);
    return askCode(OLD_LINK);
  }
  const named = /^#([0-9a-f]{12})$/.exec(location.hash)?.[1];
  if (named) return enter(named);
  const last = kept("last");
  if (!last) return askCode();
  const { status, body } = await ask("api/state", last);
  if (status === 403) return askCode();
  if (status !== 200) return waitToBegin();
  drawChoice(`Are you ${body.person}?`, "This page was last used by this person.",
    [`Yes, I am ${body.person}`, () => enter(last)], ["No", () => askCode()]);
}

/** Ask for a personal code; `error` says why the page cannot go on. */
function askCode(text = INVITED, error = "") {
  ended = true;
  state = shown = null;
  clearTimeout(retryTimer);
  clearTimeout(readyTimer);
  const left = link ? unsentOf(link).length : 0;
  const more = left ? ` Answers not sent yet: ${left}. They are kept in this browser, and sent after you sign in.` : "";
  drawSignIn(text + more, error, signIn);
  drawUnsent(0, false);
  refill(part("top"));
}

/** Exchange a code for a cookie and go on with its questions; returns the error otherwise. */
async function signIn(code) {
  const { status, body } = await ask("session", null, { method: "POST", headers: { Authorization: `Bearer ${code}` } });
  if (status === 403) return sentence(body.error);
  if (status === 429) return "Too many wrong codes. Wait a few seconds, then try again.";
  if (status !== 200) return "No connection. Try again later.";
  isFresh = true;
  adoptUnsent(body.link, body.former);
  keep("last", body.link);
  return enter(body.link);
}

/** Show the questions of a link that this browser has signed in to. */
async function enter(opened) {
  link = opened;
  ended = false;
  failures = 0;
  if (location.hash !== `#${link}`) history.replaceState(null, "", `#${link}`);
  await refresh();
}

function waitToBegin() {
  drawMessage("Waiting for the connection", "Questions appear as soon as the server responds.");
  failures += 1;
  setTimeout(begin, 1000 * Math.min(LONGEST_WAIT, 2 ** failures));
}

/** Send what is not sent, then see what there is to answer. */
async function refresh() {
  if (ended || !link) return;
  show();
  if (unsentOf(link).length) return flush();
  const asked = link;
  const told = await ask("api/state", asked);
  if (asked === link && !ended) take(told); // otherwise somebody has signed out meanwhile
}

/** Take what the server says; whether it said anything of use. */
function take({ status, body, wait }) {
  if (status === 403) refuse();
  if (status !== 200) {
    if (!ended) retry(wait);
    return false;
  }
  failures = 0;
  isFresh = false;
  receive(body);
  return true;
}

/** The cookie opens nothing: it is missing, was deleted, or its code is no longer valid. */
function refuse() {
  if (!ended) askCode(state ? CLOSED : INVITED, isFresh ? NO_COOKIES : "");
}

function receive(told) {
  const isFirst = state === null;
  state = told;
  if (isFirst) showNewInstructions(link, state.instructions, getReady);
  show();
}

function retry(wait) {
  failures += 1;
  clearTimeout(retryTimer);
  const seconds = Math.max(wait, Math.min(LONGEST_WAIT, 2 ** (failures - 1)) * (0.75 + Math.random() / 2));
  retryTimer = setTimeout(refresh, 1000 * seconds);
  show();
}

/** Send answers in their order until all are confirmed, or the connection is lost. */
async function flush() {
  if (sending || ended) return;
  sending = true;
  try {
    for (let next = unsentOf(link)[0]; next && !ended; next = unsentOf(link)[0]) {
      const { question, ...entry } = next.entry;
      const answered = await send("api/answers", link, { ...entry, mark: question.mark });
      const { status, body, wait } = answered;
      if (status === 403) return refuse();
      if (![200, 400, 404, 409, 413, 415].includes(status)) return retry(wait);
      dropUnsent(next.name);
      if (status !== 200) tell(body?.error ?? "an answer was refused");
      failures = 0;
      if (body?.state) receive(body.state);
      else take(await ask("api/state", link));
    }
  } finally {
    sending = false;
  }
  show();
}

function tell(text) {
  drawNotice(sentence(text));
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

// --- what is shown ---------------------------------------------------------------------------

/** Draw what there is to answer now; a question that is being looked at stays unless its text was changed. */
function show() {
  if (ended) return;
  const unsent = unsentOf(link);
  drawUnsent(unsent.length, failures > 0 || isLate(unsent[0]));
  if (state === null) return drawMessage("Waiting for the connection", "Questions appear as soon as the server responds.");
  const answered = new Set(unsent.map(({ entry }) => entry.id));
  const isNew = new Set(unsent.filter(({ entry }) => entry.was === null).map(({ entry }) => entry.id));
  const done = Math.min(state.of, state.done + isNew.size);
  drawHead({ ...state, done }, actions);
  const open = state.questions.filter((question) => !answered.has(question.id));
  if (shown?.question && (shown.reviewed || open.some(isShown))) return;
  if (open.length) present({ question: open[0], value: null, comment: "", reviewed: false });
  else if (done < state.of) {
    pause("waiting", failures ? "Waiting for the connection" : "One moment",
      "The next question appears as soon as the server responds.");
  } else {
    keptNames(`${link}:draft:`).forEach(forget);
    pause("finished", state.of === 1 ? "Your question is answered" : `All ${state.of} questions are answered`,
      unsent.length ? "Leave this page open until your last answers are sent."
        : "Thank you. You can close this page. New questions will appear here.");
  }
}

function isShown({ id, mark }) {
  return id === shown.question.id && mark === shown.question.mark;
}

/** Whether an answer should have been confirmed by now. */
function isLate(unsent) {
  return Boolean(unsent) && Number(unsent.name.split(":")[2]) < Date.now() - LATE;
}

function present(next) {
  shown = next;
  drawBar(shown, actions); // first, because the question scrolls to what the bar would hide
  drawQuestion(shown, draftOf(shown), actions);
  restartWatch();
  getReady();
}

function pause(kind, title, text) {
  if (shown?.title === title && shown.text === text) return;
  if (shown?.title !== title) announce(title);
  shown = { title, text };
  drawMessage(title, text, kind === "finished" ? back : null);
  document.body.dataset.ready = kind;
  if (kind === "finished") part("question").focus({ preventScroll: true });
}

/** Take answers only once the question can have been seen: a key struck twice is no second answer. */
function getReady() {
  if (document.activeElement === document.body) part("question")?.focus({ preventScroll: true });
  ready = false;
  delete document.body.dataset.ready;
  clearTimeout(readyTimer);
  readyTimer = setTimeout(() => {
    if (areInstructionsOpen()) return; // whoever closes them gets ready anew
    ready = true;
    document.body.dataset.ready = shown?.question?.id ?? "";
  }, TOO_SOON);
}

// --- what people do --------------------------------------------------------------------------

function instructions() {
  if (!state?.instructions.trim()) return;
  showInstructions(state.instructions, getReady);
  getReady();
}

/** Leave this browser: its cookie and all that it keeps of the person are removed. */
async function signOut() {
  if (unsentOf(link).length) return tell("your last answers are not sent yet; sign out once they are");
  const { status } = await ask("session", link, { method: "DELETE" });
  if (status !== 200) return tell("no connection; try again later");
  keptNames(`${link}:`).forEach(forget);
  forget("last");
  link = null;
  history.replaceState(null, "", location.pathname);
  askCode(SIGNED_OUT);
}

/** List the answers given so far; choosing one shows it, to be changed. */
async function listGiven() {
  const { status, body } = await ask("api/given", link);
  if (status !== 200) return tell("no connection; try again later");
  showGiven(body.given, async (id) => {
    const found = await ask(`api/previous?id=${encodeURIComponent(id)}`, link);
    if (found.status === 200 && found.body) review(found.body);
  }, getReady);
  getReady();
}

function answer(value) {
  if (!ready || !shown?.question || ended) return;
  ready = false;
  const { question, value: was } = shown;
  const comment = (part("comment")?.value ?? "").trim().slice(0, LONGEST_COMMENT);
  putUnsent(link, { key: drawKey(), id: question.id, value, was, comment, seconds: watchedSeconds(), question });
  forget(`${link}:draft:${question.id}`);
  shown = null;
  drawNotice("");
  show();
  announce(`${nameOf(question, value)}. ${shown?.question ? shown.question.question : ""}`);
  clearTimeout(retryTimer);
  setTimeout(show, LATE + 100);
  flush();
}

/** Show the answer before this one: one that is not sent yet, or what the server has. */
async function back() {
  if (ended || !state) return;
  const here = shown?.question && shown.reviewed ? shown.question.id : null;
  const latest = new Map();
  for (const { entry } of unsentOf(link)) {
    latest.delete(entry.id);
    latest.set(entry.id, entry);
  }
  const ids = [...latest.keys()];
  const place = here && latest.has(here) ? ids.indexOf(here) : ids.length;
  if (place > 0 && (!here || latest.has(here))) return review(latest.get(ids[place - 1]));
  const { status, body } = await ask(`api/previous?before=${encodeURIComponent(here ?? "")}`, link);
  if (status === 200 && body) review(body);
  else if (status === 200) tell(here ? "there is no earlier answer" : "there is no answer to go back to");
  else tell("no connection; try again later");
}

function review({ question, value, comment }) {
  present({ question, value, comment, reviewed: true });
  announce(`You answered: ${nameOf(question, value)}. Answer again to change it.`);
}

/** Leave an earlier answer as it is; a comment that was changed is saved. */
function goOn() {
  if (!shown?.reviewed) return;
  if ((part("comment")?.value ?? "").trim() !== shown.comment) return answer(shown.value);
  forget(`${link}:draft:${shown.question.id}`);
  shown = null;
  show();
}

function saveComment() {
  if (shown?.reviewed) {
    ready = true; // whoever wrote has seen the question
    return answer(shown.value);
  }
  part("comment").blur();
  announce("The comment is saved with your answer. Choose one.");
  part(shown.question.choices ? "main" : "bar").querySelector("[data-value]").focus();
}

function draftOf({ question, comment }) {
  return kept(`${link}:draft:${question.id}`) ?? comment;
}

function keepDraft(text) {
  if (shown?.question) keep(`${link}:draft:${shown.question.id}`, text);
}

whenOthersKeep(() => `${link}:unsent:`, refresh);
addEventListener("online", refresh);
addEventListener("hashchange", () => location.hash !== `#${link}` && location.reload());
addEventListener("beforeunload", (event) => {
  if (!keepsForLong && link && unsentOf(link).length) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  updateWatch();
  if (document.visibilityState === "visible") refresh();
});
setInterval(() => document.visibilityState === "visible" && refresh(), POLL);
listenToKeys(actions);
begin();
