/** Read the page's data from the server, or from the page itself if it is an exported file. */

import { readExportedColumn, readExportedItem, readExportedItems } from "./exported_items.js";

const embedded = document.getElementById("data");
const kept = embedded ? JSON.parse(embedded.textContent) : null;
const keptParts = new Map(Object.entries(kept?.parts ?? {}).map(([key, part]) => {
  const [name, query = ""] = key.split(/\?(.*)/s);
  return [partKey(name, [...new URLSearchParams(query)]), part];
}));

/** Whether the page is an exported file that contains its data. */
export const isExported = kept !== null;

/** Return the data of a part of the page, by name and parameters; error messages are shown to the reader. */
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

/** The note of an exported file to its reader; empty for a page from a server. */
export function exportNote() {
  return kept ? kept.note : "";
}

/** A key of name and sorted parameters, so that the order in an address does not matter. */
function partKey(name, params) {
  return JSON.stringify([name, params.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
