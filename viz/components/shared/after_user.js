// @ts-check
// What a view tells Streamlit by itself does not get in the way of what the user tells it. Streamlit collects what
// widgets tell until a timer of no time, and has one fragment run for all of it: a text that is typed outside of the
// fragment would then start no run at all.

const ACTS = ["keydown", "keyup", "input", "change", "pointerdown", "pointerup", "click", "focusout"];

/** The document is told so when the whole page is to be run. */
export const RUN_ALL = "headlight-run-all";

let acts = 0;
for (const name of ACTS) addEventListener(name, () => acts++, true);

/**
 * Call when all that the user has done until then has been told. What the user does before Streamlit's timer is over
 * goes to the fragment with it: the whole page is run after that.
 * @param {() => void} tell
 */
export function afterUser(tell) {
  const before = acts;
  // A timer comes after those of Streamlit that were set before it; for a later one there is the next.
  setTimeout(() => {
    if (acts !== before) {
      afterUser(tell);
      return;
    }
    tell();
    setTimeout(() => acts !== before && document.dispatchEvent(new Event(RUN_ALL)));
  });
}
