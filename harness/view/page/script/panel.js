import { el } from "./dom.js";

export async function showPanelPage() {
  return el("h1", {}, "Panel");
}
