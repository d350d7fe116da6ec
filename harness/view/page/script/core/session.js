/** Whether this browser may read the study: the token of the address buys a cookie, and leaves the address. */

import { currentRoute, goTo } from "./route.js";

/** Exchange the token that stands in the address, if one does. */
export async function beginSession() {
  const { page, params } = currentRoute();
  if (!params.pass) return;
  const { pass, ...others } = params;
  const response = await fetch("session", { method: "POST", headers: { Authorization: `Bearer ${pass}` } });
  if (!response.ok) throw new Error((await response.json()).error);
  goTo(page, others, { replace: true });
}
