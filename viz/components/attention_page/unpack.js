// @ts-check
// Unpacks the blocks of a saved page, written by viz/viewer/page.py.

/** @param {string} text base64 @returns {Uint8Array<ArrayBuffer>} */
export function bytesOf(text) {
  const { fromBase64 } = /** @type {any} */ (Uint8Array);
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** @param {Uint8Array<ArrayBuffer>} packed gzip data */
export async function unzipped(packed) {
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/**
 * Undo the byte shuffle: the first bytes of all elements come first, then all second bytes.
 * @template {Uint8Array | Uint16Array | Uint32Array | Float32Array} Numbers
 * @param {Numbers} shuffled
 * @returns {Numbers}
 */
export function unshuffled(shuffled) {
  const width = shuffled.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(shuffled.buffer, shuffled.byteOffset, shuffled.byteLength);
  const plain = new Uint8Array(bytes.length);
  const count = shuffled.length;
  for (let place = 0; place < width; place++)
    for (let i = 0; i < count; i++) plain[i * width + place] = bytes[place * count + i];
  return new /** @type {any} */ (shuffled).constructor(plain.buffer);
}
