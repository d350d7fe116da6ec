/** Tables that scroll on narrow screens and can be downloaded as CSV. */

import { el } from "./dom.js";
import { offerDownload, toCsv } from "./download.js";
import { NOTHING, count } from "./format.js";

const MOST_ROWS = 200;
const whole = new Set(); // keys (address and name) of tables whose rows are all shown

/**
 * A table with a caption; its `name` is unique on the page.
 *
 * columns: {title, value: row => string|number|null, node?: row => Node, number?: true, hint?}. `value` is written
 * to the CSV file; `node`, if given, is shown on the page instead. rowClass?: row => string. At first a table shows
 * at most `most` rows; a button shows all. On a phone, the cells of a `stacked` table are below each other, because
 * long texts are hard to read in a column.
 */
export function dataTable({ name, caption, columns, rows, rowClass = () => null, most: atFirst = MOST_ROWS, stacked = false }) {
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
    el("div", { class: "caption", id }, caption), // outside the scrolling box, so that it does not scroll with the table
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
      el("table", { "aria-labelledby": id, class: stacked && "stacked" }, el("thead", {}, el("tr", {}, head)), body)),
    more && el("div", { class: "tools" }, more));
  const make = () => toCsv(columns.map((column) => column.title),
    rows.map((row) => columns.map((column) => column.value(row))));
  return offerDownload(table, caption, { CSV: { name: `${name}.csv`, type: "text/csv", make } });
}

function tableRow(row, columns, rowClass) {
  const cells = columns.map((column, place) => {
    const value = column.node ? column.node(row) : column.value(row);
    const shown = typeof value === "number" ? count(value) : value ?? NOTHING;
    const attributes = { class: column.number && "number", "data-title": column.title };
    return place ? el("td", attributes, shown) : el("th", { ...attributes, scope: "row" }, shown);
  });
  return el("tr", { class: rowClass }, cells);
}

/** A list of names with their values; pairs without a value are left out. */
export function pairList(pairs) {
  return el("dl", { class: "pairs" }, pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([word, value]) => [el("dt", {}, word), el("dd", {}, value)]));
}
