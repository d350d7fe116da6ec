/** Requests to the server, one after the other, so that no older answer is taken for the newer. */

const PATIENCE = 60_000; // a long text takes its time at 50 kbit/s
let before = Promise.resolve();

/** Ask; gives {status, body, wait}, with status 0 where nothing came back. */
export function ask(path, link, options = {}) {
  const asked = before.then(() => askNow(path, link, options));
  before = asked.catch(() => {});
  return asked;
}

/** Send JSON in the same way; it goes on its way even if the page is closed. */
export function send(path, link, value) {
  return ask(path, link, { method: "POST", body: JSON.stringify(value), keepalive: true,
    headers: { "Content-Type": "application/json" } });
}

async function askNow(path, link, { headers = {}, ...options }) {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), PATIENCE);
  try {
    const response = await fetch(path, { ...options, signal: ending.signal, cache: "no-store",
      headers: link ? { ...headers, "X-Link": link } : headers });
    const body = await response.json();
    return { status: response.status, body, wait: Number(response.headers.get("Retry-After")) || 0 };
  } catch {
    return { status: 0, body: null, wait: 0 };
  } finally {
    clearTimeout(timer);
  }
}
