/** For how long a question is in sight: hidden windows and open dialogs do not count. */

let total = 0;
let since = null;

export function restartWatch() {
  total = 0;
  since = null;
  updateWatch();
}

/** To be called whenever what is in sight changes. */
export function updateWatch() {
  const seen = document.visibilityState === "visible" && !document.querySelector("dialog[open]");
  const now = performance.now();
  if (since !== null) total += now - since;
  since = seen ? now : null;
}

/** Seconds, to a tenth, in what the server takes. */
export function watchedSeconds() {
  updateWatch();
  return Math.min(86_400, Math.round(total / 100) / 10);
}
