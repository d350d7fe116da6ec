/** Elements of the page. What others wrote becomes text and nothing else. */

/** An element; children are nodes or texts, attributes whose value is null or false are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...given(children));
  return node;
}

/** Replace all that is in a node. */
export function refill(node, ...children) {
  node.replaceChildren(...given(children));
}

function given(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** The element of the frame that has an id. */
export function part(id) {
  return document.getElementById(id);
}

/** A text that others wrote, in the direction of its own letters. */
export function prose(tag, attributes, text) {
  return el(tag, { dir: "auto", ...attributes }, text);
}

/** Tell those who do not see the page. */
export function announce(text) {
  part("told").textContent = text;
}
