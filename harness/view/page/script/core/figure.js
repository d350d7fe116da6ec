/** Figures with a title, a description for screen readers, and two files in the download menu. */

import { el, svgEl } from "./dom.js";
import { offerDownload, standaloneSvg, toPng } from "./download.js";

/** A figure with an SVG chart; `name` is unique on the page, `description` is one sentence, `note` is shown below. */
export function pictureOf({ name, title, description, svg, note = null }) {
  const id = `picture-${name}`;
  svg.prepend(svgEl("title", { id: `${id}-title` }, title), svgEl("desc", { id: `${id}-words` }, description));
  svg.setAttribute("role", svg.querySelector("a") ? "group" : "img"); // with role "img", screen readers would not find its links
  svg.setAttribute("aria-labelledby", `${id}-title ${id}-words`);
  const figure = el("figure", {}, el("figcaption", {}, title), svg, note && el("p", { class: "quiet" }, note));
  return offerDownload(figure, title, {
    SVG: { name: `${name}.svg`, type: "image/svg+xml", make: () => standaloneSvg(svg) },
    PNG: { name: `${name}.png`, type: "image/png", make: () => toPng(svg) },
  });
}
