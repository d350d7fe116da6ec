/** Live updates: draw the page again when the database has changed, and show when the server is unreachable. */

const FIRST_WAIT = 400;
const LONGEST_WAIT = 5_000;

/**
 * Call `changed` after changes: one call at a time, each followed by an equal pause of at most 5 s. `told(state)`
 * receives the state of the connection: "live", "lost", or the reason why the server cannot read the database.
 */
export function followChanges(changed, told) {
  let busy = false;
  let again = false;
  let seen = null;

  async function draw() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      const started = performance.now();
      await changed();
      await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_WAIT, performance.now() - started)));
    } while (again);
    busy = false;
  }

  function listen(wait) {
    const source = new EventSource("api/changes");
    source.onmessage = (event) => {
      const { version, trouble } = JSON.parse(event.data);
      wait = FIRST_WAIT;
      told(trouble || "live");
      if (seen !== version) draw(); // also at first, because data may have changed while the page was loading
      seen = version;
    };
    source.onerror = () => {
      source.close();
      told("lost");
      seen = -1; // draw after reconnecting, because changes may have been missed
      setTimeout(() => listen(Math.min(LONGEST_WAIT, 1.5 * wait)), wait);
    };
  }
  listen(FIRST_WAIT);
}
