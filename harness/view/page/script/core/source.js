/** Where the page's data come from: the server, or the file itself. */

import { readExportedColumn, readExportedItem, readExportedItems } from "./exported_items.js";

const embedded = document.getElementById("data");
const kept = embedded ? JSON.parse(embedded.textContent) : null;
const keptParts = new Map(Object.entries(kept?.parts ?? {}).map(([key, part]) => {
  const [name, query = ""] = key.split(/\?(.*)/s);
  return [partKey(name, [...new URLSearchParams(query)]), part];
}));

/** Whether this is a file that holds its data. */
export const isExported = kept !== null;

/** What a page shows, by name and parameters; errors carry the words for the reader. */
export async function readPart(name, params = {}) {
  return kept ? readKept(name, params) : fetchPart(name, params);
}

async function fetchPart(name, params) {
  const address = `api/${name}?${new URLSearchParams(params)}`;
  const response = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" });
  const found = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Error(found.error ?? `the server answered ${response.status}`);
  return found;
}

function readKept(name, params) {
  if (name === "items") return readExportedItems(kept, params);
  if (name === "item") return readExportedItem(kept, params);
  if (name === "column") return readExportedColumn(kept, params);
  const found = keptParts.get(partKey(name, Object.entries(params)));
  if (found === undefined) throw new Error("this file does not hold that; see it with: oversight view");
  return found;
}

/** What the reader of a file must know of it; nothing of a server's page. */
export function exportNote() {
  return kept ? kept.note : "";
}

/** A part's name with its parameters in one order, however an address writes them. */
function partKey(name, params) {
  return JSON.stringify([name, params.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
