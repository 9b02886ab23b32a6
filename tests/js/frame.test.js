// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFrame, sameBytes } from "../../viz/components/shared/frame.js";

test("equal bytes are the same, whoever sent them", () => {
  assert.ok(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2)));
  assert.ok(!sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3)));
  assert.ok(!sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1)));
  assert.ok(!sameBytes(undefined, Uint8Array.of()));
});

test("arrays are read wherever the frame is in memory", () => {
  const arrays = {
    a: { dtype: "uint8", shape: [3], offset: 0 },
    b: { dtype: "float32", shape: [1, 2], offset: 8 },
  };
  const header = new TextEncoder().encode(JSON.stringify({ data: { word: "שלום" }, arrays }));
  const body = Math.ceil((4 + header.length) / 8) * 8;
  const whole = new Uint8Array(1 + body + 16);
  const frame = whole.subarray(1);
  new DataView(frame.buffer, frame.byteOffset).setUint32(0, header.length, true);
  frame.set(header, 4);
  frame.set([7, 8, 9], body);
  frame.set(new Uint8Array(Float32Array.of(0.5, -Infinity).buffer), body + 8);
  assert.deepEqual(readFrame(frame), {
    word: "שלום",
    a: Uint8Array.of(7, 8, 9),
    b: Float32Array.of(0.5, -Infinity),
  });
});
