// @ts-check
// Values that all scripts of a document share: each script is a bundle with its own copy of every module, and where
// Headlight is not installed Streamlit may load one script several times.

/**
 * The document's value of a name, made when it is first asked for.
 * @template Value
 * @param {string} name
 * @param {() => Value} make
 * @returns {Value}
 */
export function documentWide(name, make) {
  const values = /** @type {Record<symbol, Value>} */ (/** @type {unknown} */ (globalThis));
  const key = Symbol.for(`headlight.${name}`);
  values[key] ??= make();
  return values[key];
}
