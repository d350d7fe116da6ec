/** Changes as they come: the page is drawn again when the database has changed, and says when it hears nothing. */

const FIRST_WAIT = 400;
const LONGEST_WAIT = 5_000;

/**
 * Call `changed` after every change, one call at a time and no more than half of the time; `told(state)` says
 * whether the server is heard: "live", "lost", or what is wrong with the database.
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
      if (seen !== version) draw(); // at first, too: something may have come while the page was being read
      seen = version;
    };
    source.onerror = () => {
      source.close();
      told("lost");
      seen = -1; // whatever the next server says, something may have happened since
      setTimeout(() => listen(Math.min(LONGEST_WAIT, 1.5 * wait)), wait);
    };
  }
  listen(FIRST_WAIT);
}
