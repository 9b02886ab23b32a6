// @ts-check
// Puts views on a page: through `mount` on any host, and as Streamlit components.

import { reporter } from "./shared/busy.js";
import { setColors } from "./shared/color.js";
import { div, h } from "./shared/dom.js";
import { readFrame, sameBytes } from "./shared/frame.js";
import shared from "./shared/style.css";

/** @typedef {import("./shared/shell.js").Host} Host */
/** @typedef {(element: HTMLElement | ShadowRoot, host: Host) => () => void} Mount */

/**
 * Make a view's `mount`: it draws the view into an element, again whenever the host's data changes, and returns the
 * clean-up. The element is in a shadow root of its own, which keeps the style inside.
 * @template Data
 * @param {new (root: HTMLElement, host: Host) => import("./shared/shell.js").View<Data>} Kind
 * @param {string} name
 * @param {string} style
 * @returns {Mount}
 */
export const mounting = (Kind, name, style) => (element, host) => {
  const root = div(`hl hl-${name}`);
  element.append(h("style", {}, shared + style), root);
  const view = new Kind(root, host);
  view.build();
  const show = () => {
    const given = host.get();
    const data = given instanceof Uint8Array ? readFrame(given) : given;
    view.data = { ...data, ...host.adapt?.(data) };
    setColors(root, view.data.colors);
    view.update();
  };
  show();
  host.onChange(show);
  const observer = new ResizeObserver(() => root.clientWidth !== view.width && view.layout());
  observer.observe(root);
  document.fonts.ready.then(() => view.layout());
  Object.assign(root, { state: () => view.state(), isPending: () => view.isPending || host.isReporting?.() });
  return () => {
    observer.disconnect();
    view.end();
  };
};

/**
 * The argument with which Streamlit calls a component's script at every update.
 * @template [Data=any]
 * @typedef {object} Component
 * @property {HTMLElement | ShadowRoot} parentElement
 * @property {Data} data
 * @property {(name: string, value: unknown) => void} setTriggerValue
 */

/**
 * Turn `mount` into a component's script. Streamlit calls it again at every update, in the same element and without a
 * clean-up in between: the view is made once and then updated.
 * @param {Mount} mount
 * @returns {(component: Component) => () => void}
 */
export function forStreamlit(mount) {
  /** @type {WeakMap<Node, {leave: () => void, update: (component: Component) => void}>} */
  const mounted = new WeakMap();

  /** @param {Component} component */
  const begin = (component) => {
    let latest = component;
    let listener = () => {};
    const select = reporter(component.parentElement, (selection) =>
      latest.setTriggerValue("select", selection),
    );
    const leave = mount(component.parentElement, {
      get: () => latest.data,
      onChange: (changed) => {
        listener = changed;
      },
      select,
      isReporting: select.isWaiting,
    });
    /** @param {Component} next */
    const update = (next) => {
      const same = sameBytes(latest.data, next.data);
      latest = next;
      if (!same) listener();
    };
    return { leave, update };
  };

  return (component) => {
    const known = mounted.get(component.parentElement);
    known?.update(component);
    const view = known ?? begin(component);
    mounted.set(component.parentElement, view);
    return view.leave;
  };
}
