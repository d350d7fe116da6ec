/** Pictures: title, words for who cannot see them, and two files in the menu of downloads. */

import { el, svgEl } from "./dom.js";
import { offerDownload, standaloneSvg, toPng } from "./download.js";

/** A figure of a drawn SVG, whose `name` is no other's on the page; `description` says in a sentence what it shows, `note` stands below it. */
export function pictureOf({ name, title, description, svg, note = null }) {
  const id = `picture-${name}`;
  svg.prepend(svgEl("title", { id: `${id}-title` }, title), svgEl("desc", { id: `${id}-words` }, description));
  svg.setAttribute("role", svg.querySelector("a") ? "group" : "img"); // an image would hide its links
  svg.setAttribute("aria-labelledby", `${id}-title ${id}-words`);
  const figure = el("figure", {}, el("figcaption", {}, title), svg, note && el("p", { class: "quiet" }, note));
  return offerDownload(figure, title, {
    SVG: { name: `${name}.svg`, type: "image/svg+xml", make: () => standaloneSvg(svg) },
    PNG: { name: `${name}.png`, type: "image/png", make: () => toPng(svg) },
  });
}
