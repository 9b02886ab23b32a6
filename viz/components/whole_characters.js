// Half of a character (a lone surrogate, as a broken paste leaves it) cannot be sent as UTF-8: the server closes the
// connection on it, and what was typed is never answered. It becomes U+FFFD before Streamlit's own listener sees it.

function mend({ target }) {
  if (typeof target.value !== "string" || target.value.isWellFormed()) return;
  // The element's own setter is React's, which would take the mended text for one it knows already.
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(target), "value");
  set.call(target, target.value.toWellFormed());
}

export default function () {
  window.headlightMending?.abort();
  window.headlightMending = new AbortController();
  addEventListener("input", mend, { capture: true, signal: window.headlightMending.signal });
}
