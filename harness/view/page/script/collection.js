import { el } from "./dom.js";

export async function showCollectionPage() {
  return el("h1", {}, "Collection");
}
