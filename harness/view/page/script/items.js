import { el } from "./dom.js";

export async function showItemsPage() {
  return el("h1", {}, "Items");
}
