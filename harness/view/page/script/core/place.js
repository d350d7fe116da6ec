/** Keep open sections, typed text, scroll positions and the focus while a part of the page is drawn again. */

const STOPS = "a[href], button, input, select, summary, pre[tabindex], .scroll";

/** Record the reader's place in a node. Returns a function that restores it after the node was drawn again. */
export function keepPlace(node) {
  const open = [...numberedDetails(node)].map(([name, part]) => [name, part.open]);
  const scrolled = [...numberedStops(node)].filter(([, box]) => box.scrollLeft || box.scrollTop)
    .map(([name, box]) => [name, box.scrollLeft, box.scrollTop]);
  const typed = [...node.querySelectorAll("input[id]")].filter((input) => input.value !== input.defaultValue)
    .map((input) => [input.id, input.value]);
  const focused = document.activeElement;
  const stop = [...numberedStops(node)].find(([, each]) => each === focused)?.[0];
  const marked = focused?.matches?.("input") ? [focused.selectionStart, focused.selectionEnd] : null;
  const at = window.scrollY;
  return () => {
    const details = numberedDetails(node);
    for (const [name, isOpen] of open) if (details.has(name)) details.get(name).open = isOpen;
    for (const [id, value] of typed) {
      const input = document.getElementById(id);
      if (input) input.value = value;
    }
    const stops = numberedStops(node);
    for (const [name, left, top] of scrolled) stops.get(name)?.scrollTo(left, top);
    const next = stops.get(stop);
    if (next && next !== document.activeElement) {
      next.focus({ preventScroll: true });
      if (marked && next.matches("input")) next.setSelectionRange(...marked);
    }
    window.scrollTo(0, at);
  };
}

function numberedDetails(node) {
  return numberAlike(node.querySelectorAll("details"), (part) => part.firstElementChild.textContent.replace(/\d[\d.,]*/g, "#"));
}

function numberedStops(node) {
  return numberAlike(node.querySelectorAll(STOPS), (stop) => [stop.tagName, stop.id, stop.getAttribute("href"),
    stop.getAttribute("aria-label"), stop.getAttribute("aria-labelledby"),
    stop.matches("button, summary") ? stop.textContent.replace(/\d[\d.,]*/g, "#") : ""].join("\n"));
}

/** Map parts by a key that stays the same when they are drawn again: name, and number among parts of that name. */
function numberAlike(parts, nameOf) {
  const seen = new Map();
  return new Map([...parts].map((part) => {
    const name = nameOf(part);
    seen.set(name, 1 + (seen.get(name) ?? 0));
    return [`${name}\n${seen.get(name)}`, part];
  }));
}
