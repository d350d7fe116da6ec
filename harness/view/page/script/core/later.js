/** Parts of a page that load slowly: until they arrive, the page shows their last content or "reading …". */

import { el, replaceContent } from "./dom.js";
import { keepPlace } from "./place.js";

const found = new Map();

/** A box that `draw(payload)` fills as soon as `read()` has resolved; `key` is unique among all boxes. */
export function later(key, read, draw) {
  const box = el("div", { "data-later": key }, found.has(key) ? draw(found.get(key)) : el("p", { class: "quiet" }, "reading …"));
  const fill = (make) => {
    const shown = document.querySelector(`[data-later="${CSS.escape(key)}"]`);
    for (const each of new Set([box, shown])) {
      if (!each) continue;
      const restore = keepPlace(each);
      replaceContent(each, make());
      if (each.isConnected) restore();
    }
  };
  read().then(
    (payload) => {
      const known = JSON.stringify(found.get(key));
      found.set(key, payload);
      if (known !== JSON.stringify(payload)) fill(() => draw(payload));
    },
    (error) => fill(() => trouble(error)),
  );
  return box;
}

/** An error message, shown in place of the requested part. */
export function trouble(error) {
  return el("p", { class: "caution", role: "alert" }, error.message ?? String(error));
}
