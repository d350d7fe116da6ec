import { el } from "./dom.js";

export async function showOverviewPage() {
  return el("h1", {}, "Overview");
}
