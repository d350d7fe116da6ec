/** Tables: one way to draw them, to scroll them on a narrow screen, and to take them away as CSV. */

import { el } from "./dom.js";
import { offerDownload, toCsv } from "./download.js";
import { NOTHING, count } from "./format.js";

const MOST_ROWS = 200;
const whole = new Set(); // tables that the reader wants to see whole, by address and name

/**
 * A table with its caption; its `name` is no other's on the page.
 *
 * columns: {title, value: row => string|number|null, node?: row => Node, number?: true, hint?}; `value` is what
 * the CSV holds, `node` what is shown in its place. rowClass?: row => string. Of long tables the first rows (`most`)
 * are shown, and all at a click.
 */
export function dataTable({ name, caption, columns, rows, rowClass = () => null, most: atFirst = MOST_ROWS }) {
  const key = `${location.hash} ${name}`;
  const most = whole.has(key) ? rows.length : atFirst;
  const body = el("tbody", {}, rows.slice(0, most).map((row) => tableRow(row, columns, rowClass(row))));
  let more = null;
  if (rows.length > most) {
    more = el("button", {
      type: "button",
      onclick: () => {
        whole.add(key);
        body.append(...rows.slice(most).map((row) => tableRow(row, columns, rowClass(row))));
        more.remove();
      },
    }, `show all ${count(rows.length)} rows (${count(most)} are shown)`);
  }
  const head = columns.map((column) =>
    el("th", { scope: "col", class: column.number && "number", title: column.hint }, column.title));
  const id = `table-${name}`;
  const table = el("div", { class: "table" },
    el("div", { class: "caption", id }, caption), // beside the table, or it would be scrolled away with it
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
      el("table", { "aria-labelledby": id }, el("thead", {}, el("tr", {}, head)), body)),
    more && el("div", { class: "tools" }, more));
  const make = () => toCsv(columns.map((column) => column.title),
    rows.map((row) => columns.map((column) => column.value(row))));
  return offerDownload(table, caption, { CSV: { name: `${name}.csv`, type: "text/csv", make } });
}

function tableRow(row, columns, rowClass) {
  const cells = columns.map((column, place) => {
    const value = column.node ? column.node(row) : column.value(row);
    const shown = typeof value === "number" ? count(value) : value ?? NOTHING;
    const attributes = { class: column.number && "number" };
    return place ? el("td", attributes, shown) : el("th", { ...attributes, scope: "row" }, shown);
  });
  return el("tr", { class: rowClass }, cells);
}

/** Pairs of a word and what belongs to it. */
export function pairList(pairs) {
  return el("dl", { class: "pairs" }, pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([word, value]) => [el("dt", {}, word), el("dd", {}, value)]));
}
