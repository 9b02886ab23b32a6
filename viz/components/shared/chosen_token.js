// @ts-check
// The chosen token of a page: its views are separate scripts, which agree on it through the document.

/** @typedef {"encoder" | "decoder"} Stack */
/**
 * The chosen position in each stack; a decoder's position stands for the token written there. `shown` is the decoder's
 * position that the pictures are about while none is chosen.
 * @typedef {Partial<Record<Stack | "shown", number | null>>} Chosen
 */

const CHOOSE = "headlight-choose";
const CHOSEN = "headlight-chosen";

/** Choose a token, for every view of the page. @param {Stack} stack @param {number} position */
export function chooseToken(stack, position) {
  document.dispatchEvent(new CustomEvent(CHOOSE, { detail: { stack, position } }));
}

/**
 * Be told when a view chooses a token.
 * @param {(token: {stack: Stack, position: number}) => void} listener
 * @returns {() => void} stops listening
 */
export const onChoose = (listener) =>
  listening(CHOOSE, (event) => listener(/** @type {CustomEvent} */ (event).detail));

/** Tell the page's views which token is chosen. @param {Chosen} chosen */
export function tellChosen(chosen) {
  const text = JSON.stringify(chosen);
  if (document.documentElement.dataset.chosenToken === text) return;
  document.documentElement.dataset.chosenToken = text;
  document.dispatchEvent(new Event(CHOSEN));
}

/** Forget the chosen token, with the view that held it. */
export const forgetChosen = () => tellChosen({});

/** @returns {Chosen} */
export const chosenToken = () => JSON.parse(document.documentElement.dataset.chosenToken ?? "{}");

/**
 * Be told when another token is chosen.
 * @param {() => void} listener
 * @returns {() => void} stops listening
 */
export const onChosen = (listener) => listening(CHOSEN, listener);

/** @param {string} name @param {(event: Event) => void} listener */
function listening(name, listener) {
  document.addEventListener(name, listener);
  return () => document.removeEventListener(name, listener);
}
