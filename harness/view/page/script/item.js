import { el } from "./dom.js";

export async function showItemPage() {
  return el("h1", {}, "Item");
}
