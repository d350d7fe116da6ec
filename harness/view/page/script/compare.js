import { el } from "./dom.js";

export async function showComparePage() {
  return el("h1", {}, "Compare");
}
