/** Human and model compared with the annotators' vote, and model and annotators with experts' labels. */

import { dotPlot } from "../core/chart.js";
import { el } from "../core/dom.js";
import { pictureOf } from "../core/figure.js";
import { NOTHING, count, decimal, levelText, percent, plural, points } from "../core/format.js";
import { clusterNote, noteList, pValue, percentInterval, pointInterval } from "../core/notes.js";
import { dataTable, pairList } from "../core/table.js";

export function drawParity({ name, file, parity: found }) {
  const bins = [...found.bins, found.overall];
  const notes = bins.flatMap((bin) => bin.notes.map((note) => `${bin.name}: ${note}`));
  return [
    found.stratify && el("p", { class: "notice caution" },
      "People or model are right on less than 80 % of all items: use the bins, not the aggregate (the 80 % rule)."),
    parityPicture(name, file, found, bins),
    parityTable(file, found, bins),
    noteList([
      ...clusterNote(found.overall.items, found.clusters),
      ...found.assumptions.map((assumed) => `assumed: ${assumed}`),
      ...Object.entries(found.undefined).map(([what, why]) => `${what}: not available, ${why}`),
      ...notes,
    ]),
  ];
}

function parityPicture(name, file, found, bins) {
  const rows = bins.flatMap((bin) => ["human", "model"].map((who, place) => ({
    label: `${binWords(bin)}, ${count(bin.items)} items: ${who}`, value: bin[who].value, low: bin[who].low,
    high: bin[who].high, holds: bin[who].holds, mark: bin.p_d, series: place,
  })));
  return pictureOf({
    name: `parity-${file}`,
    title: `Accuracy of humans and ${name} against the vote, by the winner's share of the votes`,
    description: rows.map((row) => `${row.label} ${percent(row.value)} (${percentInterval(row)})`).join("; "),
    svg: dotPlot({ rows, axis: { title: "accuracy against the vote" } }),
    note: `Intervals ${levelText(found.level)}. Upright lines: what can be expected of an expert who draws from the same votes. `
      + `${count(found.humans.length)} humans, ${count(found.voters.length)} voters, ${found.method}.`,
  });
}

/** Name of a bin of items; in "p ≤ 0.7", p is the share of votes for the winning class. */
function binWords(bin) {
  return bin.name === "all" ? "all items" : bin.name;
}

function parityTable(file, found, bins) {
  const share = (title, key) => [
    { title, number: true, value: (bin) => bin[key].value, node: (bin) => percent(bin[key].value) },
    { title: `${title}, ${levelText(found.level)} interval`, number: true,
      value: (bin) => `${bin[key].low} – ${bin[key].high}`, node: (bin) => percentInterval(bin[key]) },
  ];
  return dataTable({
    name: `parity-${file}`,
    caption: "By the winner's share p of the votes; differences in percentage points",
    columns: [
      { title: "vote", value: binWords },
      { title: "items", number: true, value: (bin) => bin.items },
      ...(found.clusters === null ? [] : [{ title: "clusters", number: true, value: (bin) => bin.clusters }]),
      { title: "judgements", number: true, value: (bin) => bin.judgements },
      { title: "expected", number: true, value: (bin) => bin.p_d, node: (bin) => percent(bin.p_d) },
      ...share("human", "human"),
      ...share("model", "model"),
      { title: "human − model", number: true, value: (bin) => bin.delta.value, node: (bin) => points(bin.delta.value) },
      { title: "interval", number: true, value: (bin) => `${bin.delta.low} – ${bin.delta.high}`,
        node: (bin) => pointInterval(bin.delta) },
      { title: "p", number: true, value: (bin) => bin.p_value, node: (bin) => pValue(bin.p_value) },
    ],
    rows: bins,
    rowClass: (bin) => bin.name === "all" && "main",
  });
}

export function drawHumanLevel({ name, file, parity: { human_level: found } }) {
  const [standing] = found.standings;
  const scores = found.ranking.map(([who, kind, score]) => ({ label: kind === "system" ? name : who, kind, score }));
  return [
    pairList([
      ["HLPI", `${decimal(standing.hlpi)} (the model's ${found.measure} over the median of people's; from 1 on a human level)`],
      ["HLPRI", `${decimal(standing.hlpri)} (better than ${count(standing.better_than)} people, on a par with `
        + `${count(standing.on_par)}, worse than ${count(standing.worse_than)})`],
      ["decided by", `${found.test} at ${percent(found.significance, 0)}, correction ${found.correction}`],
    ]),
    pictureOf({
      name: `human-level-${file}`,
      title: `${name} among ${plural(scores.length - found.standings.length, "annotator")}, against experts' labels`,
      description: scores.map(({ label, score }) => `${label} ${percent(score)}`).join("; "),
      svg: dotPlot({
        rows: scores.map(({ label, kind, score }) => ({ label: kind === "system" ? `${label} (model)` : label, value: score,
          series: kind === "system" ? 1 : 0 })),
        axis: { title: `${found.measure} against experts' labels` },
      }),
      note: "Scores have no intervals; the table says which differences are significant.",
    }),
    dataTable({
      name: `human-level-${file}`,
      caption: "Model and annotators against experts' labels, best first",
      columns: [
        { title: "who", value: (row) => row.label, node: (row) => el("span", { class: "isolate" }, row.label) },
        { title: "kind", value: (row) => (row.kind === "system" ? "model" : "annotator") },
        { title: found.measure, number: true, value: (row) => row.score, node: (row) => percent(row.score) },
        { title: "p that the model is not better", number: true, value: (row) => standing.p_better[row.label] ?? null,
          node: (row) => (row.kind === "system" ? NOTHING : pValue(standing.p_better[row.label])) },
        { title: "p that it is not worse", number: true, value: (row) => standing.p_worse[row.label] ?? null,
          node: (row) => (row.kind === "system" ? NOTHING : pValue(standing.p_worse[row.label])) },
      ],
      rows: scores,
      rowClass: (row) => row.kind === "system" && "main",
    }),
    noteList(found.notes),
  ];
}
