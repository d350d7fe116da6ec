import { el } from "./dom.js";

export async function showModelPage() {
  return el("h1", {}, "Model");
}
