/** Addresses of pages; they contain the whole state, for example "#/items?expert=ada&outcome=refuted". */

/** Name and parameters of the page in the current address. */
export function currentRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page: path || "overview", params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a page; parameters without a value are left out. */
export function linkTo(page, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

/** Go to a page; with `replace`, "back" skips the page that the reader leaves. */
export function goTo(page, params = {}, { replace = false } = {}) {
  const address = linkTo(page, params);
  if (address === location.hash) return;
  if (!replace) location.hash = address;
  else {
    history.replaceState(null, "", address);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }
}
