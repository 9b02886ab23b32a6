// @ts-check
// Zooms and pans a box with the wheel, two fingers or the mouse. One finger scrolls as usual.

import { zoomOf } from "../../shared/dom.js";

/** A pointer that has moved more pixels than this pans instead of clicking. */
const STILL = 4;
const NOTCH = 1.15;

/**
 * @param {HTMLElement} box a box that scrolls
 * @param {(factor: number, around: {clientX: number, clientY: number}) => void} zoomBy
 */
export function zoomable(box, zoomBy) {
  box.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? NOTCH : 1 / NOTCH, event);
    },
    { passive: false },
  );
  pinchable(box, zoomBy);
  draggable(box);
}

/** @param {HTMLElement} box @param {Parameters<typeof zoomable>[1]} zoomBy */
function pinchable(box, zoomBy) {
  let apart = 0;
  const span = (/** @type {TouchEvent} */ { touches: [a, b] }) =>
    Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  box.addEventListener(
    "touchstart",
    (event) => {
      apart = event.touches.length === 2 ? span(event) : 0;
    },
    { passive: true },
  );
  box.addEventListener(
    "touchmove",
    (event) => {
      if (event.touches.length !== 2 || !apart) return;
      event.preventDefault();
      const factor = span(event) / apart;
      // The cell size is a whole number of pixels: wait until the fingers have moved one step.
      if (factor < NOTCH && factor > 1 / NOTCH) return;
      apart = span(event);
      const [a, b] = event.touches;
      zoomBy(factor, { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 });
    },
    { passive: false },
  );
}

/** @param {HTMLElement} box */
function draggable(box) {
  /** Where the pointer went down, and the scroll position then. @type {[number, number, number, number] | null} */
  let from = null;
  let isPanning = false;
  box.addEventListener("pointerdown", ({ button, pointerType, clientX, clientY }) => {
    isPanning = false;
    if (button || pointerType !== "mouse") return;
    from = [clientX, clientY, box.scrollLeft, box.scrollTop];
  });
  box.addEventListener(
    "pointermove",
    (event) => {
      const { clientX, clientY, buttons, pointerId } = event;
      if (!from || !(buttons & 1)) return;
      const zoom = zoomOf(box);
      const [right, down] = [(clientX - from[0]) / zoom, (clientY - from[1]) / zoom];
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      if (!isPanning && scrolls && Math.hypot(right, down) > STILL) {
        isPanning = true;
        box.setPointerCapture(pointerId);
        box.classList.add("hl-panning");
      }
      if (!isPanning) return;
      event.stopPropagation();
      box.scrollTo(from[2] - right, from[3] - down);
    },
    true,
  );
  const end = () => {
    from = null;
    box.classList.remove("hl-panning");
  };
  box.addEventListener("pointerup", end);
  box.addEventListener("pointercancel", end);
  // Swallow the click that ends a pan.
  box.addEventListener(
    "click",
    (event) => {
      if (isPanning) event.stopImmediatePropagation();
      isPanning = false;
    },
    true,
  );
}
