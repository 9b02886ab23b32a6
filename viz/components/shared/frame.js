// @ts-check
// Reads frames packed by frame.py: a JSON header, then the arrays that it names.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };

/** @typedef {{colors: import("./color.js").Colors}} Frame the fields of every view's data */

/**
 * The header's data with each array under its name; `any`, because each view has its own fields.
 * @param {Uint8Array} bytes
 * @returns {any}
 */
export function readFrame(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const { data, arrays } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const body = Math.ceil((4 + length) / 8) * 8;
  for (const [name, { dtype, shape, offset }] of Object.entries(arrays)) {
    const Type = TYPES[/** @type {keyof typeof TYPES} */ (dtype)];
    const n = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
    // A copy, because a typed array must begin at a multiple of its element size.
    const own = bytes.slice(body + offset, body + offset + n * Type.BYTES_PER_ELEMENT);
    data[name] = new Type(own.buffer);
  }
  return data;
}

/**
 * A frame without arrays.
 * @param {object} data
 * @returns {Uint8Array}
 */
export function packFrame(data) {
  const header = new TextEncoder().encode(JSON.stringify({ data, arrays: {} }));
  const bytes = new Uint8Array(4 + header.length);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(header, 4);
  return bytes;
}

/**
 * Compares byte by byte in a loop: a callback for each byte of a run takes several times as long.
 * @param {Uint8Array | undefined} a
 * @param {Uint8Array} b
 */
export function sameBytes(a, b) {
  if (a?.length !== b.length) return false;
  for (let i = 0; i < b.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
