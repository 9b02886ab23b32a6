// @ts-check
// What a view tells Streamlit by itself waits for what the user is just telling it. Streamlit collects what widgets
// tell until a timer of no time, and has one fragment run for all of it: a text that is typed outside of the fragment
// would then start no run at all.

const ACTS = ["keydown", "keyup", "input", "change", "pointerdown", "pointerup", "click", "focusout"];

let acts = 0;
for (const name of ACTS) addEventListener(name, () => acts++, true);

/** Call when all that the user has done until then has been told. @param {() => void} tell */
export function afterUser(tell) {
  const before = acts;
  // A timer comes after those of Streamlit that were set before it; for a later one there is the next.
  setTimeout(() => (acts === before ? tell() : afterUser(tell)));
}
