/** Downloads: tables as CSV, charts as SVG and PNG. */

import { el, replaceContent } from "./dom.js";

const PAINT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];
const SHARPNESS = 2;
const NOT_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

const offered = new WeakMap();

/** Offer files of a node in the page's download menu. files: {kind: {name, type, make: () => text or Blob}}. */
export function offerDownload(node, caption, files) {
  node.setAttribute("data-download", "");
  offered.set(node, { caption, files });
  return node;
}

/** Fill the menu with the page's downloads each time it is opened. */
export function fillDownloads(menu) {
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    const nodes = [...document.querySelectorAll("main [data-download]")].filter((node) => offered.has(node));
    replaceContent(menu.querySelector("ul"), nodes.length ? nodes.map(menuEntry) : el("li", {}, "Nothing to download on this page."));
  });
}

function menuEntry(node) {
  const { caption, files } = offered.get(node);
  return el("li", {}, Object.entries(files).map(([kind, file]) => [el("button", {
    type: "button",
    "aria-label": `${kind}: ${caption}`,
    onclick: async () => download(file.name, await file.make(), file.type),
  }, kind), " "]), caption);
}

/** Start the download of a file. */
function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "-") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Rows as CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function toCsv(header, rows) {
  const cell = (value) => {
    if (typeof value === "number") return String(value);
    const text = String(value ?? "");
    const safe = /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** A chart as SVG text that needs no style sheet, because its computed styles are written into the elements. */
export function standaloneSvg(svg) {
  const copy = svg.cloneNode(true);
  const shown = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, place) => {
    const style = getComputedStyle(shown[place]);
    for (const name of PAINT) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "href", "tabindex"]) node.removeAttribute(name); // links do not work in an image file
  });
  const { width, height } = svg.viewBox.baseVal;
  const paper = document.createElementNS(svg.namespaceURI, "rect");
  paper.setAttribute("width", width);
  paper.setAttribute("height", height);
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", svg.namespaceURI);
  return new XMLSerializer().serializeToString(copy).toWellFormed().replace(NOT_XML, "\ufffd");
}

/** A chart as a PNG image. */
export async function toPng(svg) {
  const { width, height } = svg.viewBox.baseVal;
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standaloneSvg(svg))}`;
  await picture.decode();
  const canvas = el("canvas", { width: SHARPNESS * width, height: SHARPNESS * height });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
