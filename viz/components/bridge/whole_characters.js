// @ts-check
// Half a character (a lone surrogate, left by a broken paste) cannot be sent as UTF-8: the server would close the
// connection. It becomes U+FFFD before Streamlit's own listener sees it.

/** @param {Event} event */
function mend({ target }) {
  if (!(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement)) return;
  if (target.value.isWellFormed()) return;
  // React overrides the element's own setter and would treat the mended text as already known.
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(target), "value");
  property?.set?.call(target, target.value.toWellFormed());
}

/** Mend all text typed into the document. */
export function keepCharactersWhole() {
  addEventListener("input", mend, { capture: true });
}
