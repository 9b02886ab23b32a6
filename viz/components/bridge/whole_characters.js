// @ts-check
// Half of a character (a lone surrogate, as a broken paste leaves it) cannot be sent as UTF-8: the server closes the
// connection on it, and what was typed is never answered. It becomes U+FFFD before Streamlit's own listener sees it.

/** @param {Event} event */
function mend({ target }) {
  if (!(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement)) return;
  if (target.value.isWellFormed()) return;
  // The element's own setter is React's, which would take the mended text for one it knows already.
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(target), "value");
  property?.set?.call(target, target.value.toWellFormed());
}

/** Mend whatever is typed into the document. */
export function keepCharactersWhole() {
  addEventListener("input", mend, { capture: true });
}
