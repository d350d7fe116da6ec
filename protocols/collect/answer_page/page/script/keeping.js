/** What this browser keeps: by names that begin with the link that it belongs to. */

const memory = new Map();
const ROOT = "oversight-answers";

/** Whether what is kept outlives the page. */
export const keepsForLong = canKeep();

function canKeep() {
  try {
    localStorage.setItem(`${ROOT}:probe`, "1");
    localStorage.removeItem(`${ROOT}:probe`);
    return true;
  } catch {
    return false;
  }
}

export function keep(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(`${ROOT}:${name}`, text);
  } catch { // full, or not allowed
    memory.set(name, text);
    return;
  }
  memory.delete(name);
}

export function kept(name) {
  let text = memory.get(name) ?? null;
  try {
    text ??= localStorage.getItem(`${ROOT}:${name}`);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

export function forget(name) {
  memory.delete(name);
  try {
    localStorage.removeItem(`${ROOT}:${name}`);
  } catch { /* nothing is kept there */ }
}

/** All names that begin alike, in order. */
export function keptNames(start) {
  const names = new Set([...memory.keys()]);
  try {
    for (let place = 0; place < localStorage.length; place += 1) {
      const name = localStorage.key(place);
      if (name.startsWith(`${ROOT}:`)) names.add(name.slice(ROOT.length + 1));
    }
  } catch { /* nothing is kept there */ }
  return [...names].filter((name) => name.startsWith(start)).sort();
}

/** Call when another window of this browser changed something whose name begins with what `start` returns. */
export function whenOthersKeep(start, call) {
  addEventListener("storage", (event) => {
    if (event.key === null || event.key.startsWith(`${ROOT}:${start()}`)) call();
  });
}
