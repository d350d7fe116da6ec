/** Create elements of the page. Strings always become text nodes, never HTML. */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Create an HTML element. Children are nodes or texts; attributes that are null or false are left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Create an SVG element, with arguments as in `el`. */
export function svgEl(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/** Replace all children of a node. */
export function replaceContent(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isGiven));
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (!isGiven(value)) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter(isGiven).map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

function isGiven(value) {
  return value !== null && value !== undefined && value !== false;
}
