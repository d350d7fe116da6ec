import { el } from "./dom.js";

export async function showSearchPage() {
  return el("h1", {}, "Search");
}
