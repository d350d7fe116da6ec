/** When answers arrived: by time, if it is known, and by order of arrival. */

import { SERIES, lineChart } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { count, plural } from "../core/format.js";
import { dataTable } from "../core/table.js";

const ALL_PEOPLE = "all together";

export function drawArrivals({ arrivals, is_panel: panel, people }) {
  const names = peopleInOrder(people, arrivals);
  const { timed, untimed } = arrivals;
  const what = panel ? "rating" : "answer";
  if (!timed && !untimed) return [el("h2", {}, "Arrivals"), el("p", {}, "No answers yet.")];
  return [
    el("h2", {}, "Arrivals"),
    el("p", {}, `${plural(timed, what)} with a time, from Label Studio or the answer page; `
      + `${plural(untimed, what)} without, from files: only their order is known.`),
    timed ? timePicture(arrivals, what, names) : null,
    timed ? timeTable(arrivals) : null,
    untimed ? orderPicture(arrivals, what, names) : null,
  ];
}

function timePicture({ unit, starts, bins, timed }, what, names) {
  const since = `${starts[0].slice(0, 16).replace("T", " ")} UTC`;
  const series = cumulativeLines(bins, names, starts.map((_, place) => place + 1));
  return pictureOf({
    name: "arrivals",
    title: `${capital(what)}s received over time`,
    description: `${timed} ${what}s in ${starts.length} ${unit}s from ${since}.`,
    svg: lineChart({
      series,
      axes: {
        x: { title: `${unit}s since ${since}`, low: 0 },
        y: { title: `${what}s so far`, high: highest(series), format: count },
      },
    }),
    note: timed < 2 ? null : "Each point is the total at the end of its period.",
  });
}

function timeTable({ unit, starts, bins }) {
  const people = Object.keys(bins);
  const rows = starts.map((start, place) => ({ start, of: people.map((name) => bins[name][place]) }));
  return el("details", {}, el("summary", {}, `as a table, ${unit} by ${unit}`), dataTable({
    name: "arrivals",
    caption: `Answers received per ${unit}`,
    columns: [
      { title: `${unit} from (UTC)`, value: (row) => row.start.slice(0, 16).replace("T", " ") },
      ...people.map((name, place) => ({ title: name, number: true, value: (row) => row.of[place] })),
    ],
    rows: rows.filter((row) => row.of.some((number) => number)),
  }));
}

function orderPicture({ order }, what, names) {
  const lists = Object.values(order);
  let total = 0;
  const ends = (lists[0] ?? []).map((_, place) => (total += lists.reduce((sum, list) => sum + list[place], 0)));
  const series = cumulativeLines(order, names, ends);
  return pictureOf({
    name: "arrival-order",
    title: `${capital(what)}s per person, in order of arrival`,
    description: Object.entries(order).map(([name, list]) => `${name}: ${list.reduce((a, b) => a + b, 0)}`).join("; "),
    svg: lineChart({
      series,
      axes: {
        x: { title: `${what}s of all people, in order of arrival`, low: 0 },
        y: { title: "by this person so far", high: highest(series), format: count },
      },
    }),
  });
}

/** Everybody who answered, people with known times first, so that a person's line looks the same in all charts. */
function peopleInOrder(people, { bins, order }) {
  const known = people.map((row) => row.name).filter((name) => Object.hasOwn(order, name));
  return [...known.filter((name) => Object.hasOwn(bins, name)), ...known.filter((name) => !Object.hasOwn(bins, name))];
}

/** A line of cumulative sums per person, or one line for all people if there are more than `SERIES`. */
function cumulativeLines(lists, names, ends) {
  const own = names.filter((name) => Object.hasOwn(lists, name)).map((name) => [name, lists[name]]);
  const few = own.length <= SERIES ? own
    : [[ALL_PEOPLE, ends.map((_, place) => own.reduce((sum, [, list]) => sum + list[place], 0))]];
  return few.map(([name, list]) => {
    let sum = 0;
    return { name, points: [{ x: 0, y: 0 }, ...list.map((number, place) => ({ x: ends[place], y: (sum += number) }))] };
  });
}

function highest(series) {
  return Math.max(1, ...series.map((line) => line.points.at(-1).y));
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
