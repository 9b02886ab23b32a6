// @ts-check
// Keeps a view's own reports from getting in the way of what the user does. Streamlit collects the widgets' changes
// until a zero-delay timer fires and then runs one fragment for all of them: text typed outside that fragment would
// start no run at all.

const ACTS = ["keydown", "keyup", "input", "change", "pointerdown", "pointerup", "click", "focusout"];

/** Name of the document event that requests a run of the whole page. */
export const RUN_ALL = "headlight-run-all";

let acts = 0;
for (const name of ACTS) addEventListener(name, () => acts++, true);

/**
 * Call `report` once everything the user has done so far has been reported. If the user acts before Streamlit's timer
 * fires, that change goes to the fragment too: the whole page is run afterwards.
 * @param {() => void} report
 */
export function afterUser(report) {
  const before = acts;
  // This timer fires after Streamlit's earlier ones; a later one is covered by the next round.
  setTimeout(() => {
    if (acts !== before) {
      afterUser(report);
      return;
    }
    report();
    setTimeout(() => acts !== before && document.dispatchEvent(new Event(RUN_ALL)));
  });
}
