/** Start a session: exchange the token in the address for a cookie, and remove it from the address. */

import { currentRoute, goTo } from "./route.js";

/** Exchange the token if the address contains one; an error says why the server refused it. */
export async function beginSession() {
  const { page, params } = currentRoute();
  if (!params.pass) return;
  const { pass, ...others } = params;
  const response = await fetch("session", { method: "POST", headers: { Authorization: `Bearer ${pass}` } });
  if (!response.ok) throw new Error((await response.json()).error);
  goTo(page, others, { replace: true });
}
