/** Answers that the server has not confirmed yet, in the order in which they were given. */

import { forget, keep, kept, keptNames } from "./keeping.js";

let lastStamp = 0;

/** 32 hexadecimal digits that nobody drew before. */
export function drawKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Keep an answer until it is confirmed; windows of one browser share what is kept. */
export function putUnsent(link, entry) {
  const before = keptNames(`${link}:unsent:`).at(-1)?.split(":")[2] ?? "0";
  lastStamp = Math.max(Date.now(), lastStamp + 1, Number(before) + 1);
  keep(`${link}:unsent:${String(lastStamp).padStart(15, "0")}:${entry.key}`, entry);
}

/** Answers with the names that they are kept under, oldest first. */
export function unsentOf(link) {
  return keptNames(`${link}:unsent:`).map((name) => ({ name, entry: kept(name) })).filter(({ entry }) => entry);
}

/** An answer was confirmed, or refused for good. */
export function dropUnsent(name) {
  forget(name);
}

/** What was not sent under former links of the same person is sent under this one. */
export function adoptUnsent(link, former) {
  for (const other of former)
    for (const { name, entry } of unsentOf(other)) {
      keep(name.replace(other, link), entry);
      forget(name);
    }
}
