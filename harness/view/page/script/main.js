/** The application: choose the page by the address, draw it, and draw it again after changes. */

import { showAnswersPage } from "./answers/answers.js";
import { showCollectionPage } from "./collection/collection.js";
import { showComparePage } from "./models/compare.js";
import { el, replaceContent } from "./core/dom.js";
import { fillDownloads } from "./core/download.js";
import { count, plural } from "./core/format.js";
import { goByKey, showItemPage } from "./items/item.js";
import { showItemsPage } from "./items/items.js";
import { showJudgesPage } from "./judges/judges.js";
import { trouble } from "./core/later.js";
import { followChanges } from "./core/live.js";
import { keepPlace } from "./core/place.js";
import { showModelPage } from "./models/model.js";
import { showOverviewPage } from "./models/overview.js";
import { showPanelPage } from "./panel/panel.js";
import { currentRoute, goTo, linkTo } from "./core/route.js";
import { showSearchPage } from "./search/search.js";
import { beginSession } from "./core/session.js";
import { exportNote, isExported, readPart } from "./core/source.js";

const PAGES = {
  answers: { title: "Answers", show: showAnswersPage },
  overview: { title: "Overview", show: showOverviewPage },
  model: { title: "Model", show: showModelPage, under: "overview" },
  items: { title: "Items", show: showItemsPage },
  item: { title: "Item", show: showItemPage, under: "items" },
  compare: { title: "Compare", show: showComparePage },
  judges: { title: "Judges", show: showJudgesPage },
  panel: { title: "Panel", show: showPanelPage },
  collection: { title: "Collection", show: showCollectionPage },
  search: { title: "Search", show: showSearchPage },
};
const place = (id) => document.getElementById(id);
let frame = null;
let shownRoute = null;
let turns = 0;
let heard = "";

async function start() {
  place("skip").addEventListener("click", (event) => {
    event.preventDefault();
    place("main").focus();
  });
  try {
    if (!isExported) await beginSession();
    frame = await readPart("frame");
    const asked = currentRoute().page;
    if (asked === "overview" && !frame.pages.includes(asked)) goTo(frame.pages[0], {}, { replace: true });
  } catch (error) {
    replaceContent(place("main"), trouble(error));
    return;
  }
  fillDownloads(place("downloads"));
  window.addEventListener("beforeprint", () => document.querySelectorAll("main details").forEach((part) => { part.open = true; }));
  window.addEventListener("hashchange", () => drawPage());
  window.addEventListener("resize", redrawSoon);
  document.addEventListener("keydown", (event) => currentRoute().page === "item" && goByKey(event));
  await drawPage();
  if (isExported) return;
  if (frame.read_only) tellState("this database is read-only: changes are not shown");
  else followChanges(async () => {
    frame = await readPart("frame").catch(() => frame);
    await drawPage({ again: true });
  }, (state) => tellState(state === "live" ? "live" : state === "lost" ? "connection lost; reconnecting" : state));
}

/** Draw the page that the address names; `again` keeps the reader's place, and does nothing if nothing changed. */
async function drawPage({ again = false } = {}) {
  const turn = ++turns;
  const { page, params } = currentRoute();
  const chosen = findPage(page) ?? PAGES.overview;
  drawFrame(page, chosen);
  const main = place("main");
  main.setAttribute("aria-busy", "true");
  let shown;
  try {
    shown = await chosen.show(params, frame);
  } catch (error) {
    shown = [el("h1", {}, chosen.title), trouble(error)];
  }
  if (turn !== turns) return; // the reader has gone to another page meanwhile
  main.removeAttribute("aria-busy");
  const next = el("div", {}, shown);
  if (again && main.firstElementChild?.isEqualNode(next)) return;
  const kept = again ? keepPlace(main) : null;
  replaceContent(main, next);
  if (!again) place("downloads").open = false;
  if (kept) kept();
  else if (shownRoute !== null && shownRoute !== page) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  shownRoute = page;
}

function drawFrame(page, chosen) {
  const here = chosen.under ?? (findPage(page) ? page : "overview");
  document.title = `${chosen.title} · ${frame.name} · oversight`;
  const links = frame.pages.filter(findPage).map((name) =>
    el("a", { href: linkTo(name), "aria-current": name === here && "page" }, PAGES[name].title));
  const head = el("div", {},
    el("p", { class: "study" }, el("b", {}, frame.name), " ", el("span", { class: "quiet", id: "counts" }, countsText()),
      " ", el("span", { class: heard === "live" ? "quiet live" : "caution", id: "state" }, heard || null)),
    el("nav", { "aria-label": "pages" }, links));
  if (!place("top").firstElementChild?.isEqualNode(head)) {
    const restore = keepPlace(place("top"));
    replaceContent(place("top"), head);
    restore();
  }
  replaceContent(place("bottom"), el("p", { class: "quiet" }, `oversight ${frame.version}. `, exportNote()));
}

function findPage(name) {
  return Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
}

/** Numbers of items, answered questions and answers of models; they change first when data arrive. */
function countsText() {
  const { item, question, answer, prediction } = frame.rows;
  const said = frame.is_panel ? `${count(frame.ratings)} of ${count(frame.assignments)} ratings`
    : `${count(answer)} of ${count(question)} questions answered`;
  return `${plural(item, "item")} · ${said} · ${plural(prediction, "answer")} of models`;
}

function tellState(text) {
  heard = text;
  place("state").textContent = text;
  place("state").className = text === "live" ? "quiet live" : "caution";
}

let waiting = 0;
function redrawSoon() {
  cancelAnimationFrame(waiting);
  const width = place("main").clientWidth;
  waiting = requestAnimationFrame(() => {
    if (place("main").clientWidth !== redrawSoon.width) drawPage({ again: true });
    redrawSoon.width = width;
  });
}

start();
