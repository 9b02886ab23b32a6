// @ts-check
// The address of a scene.

/** The page whose path is empty. */
const FIRST = "explore";
const LARGE = "large";

/**
 * The app's base path, from the address and the current page's path in the navigation.
 * @param {string} pathname
 * @param {string} here
 */
export function baseOf(pathname, here) {
  const base = here && pathname.endsWith(`/${here}`) ? pathname.slice(0, -here.length) : pathname;
  return base.endsWith("/") ? base : `${base}/`;
}

/**
 * @param {import("./scenes.js").Scene} scene
 * @param {string} base
 * @param {boolean} large whether to use large type
 */
export function addressOf({ page, choices }, base, large) {
  const said = new URLSearchParams();
  for (const [name, values] of Object.entries(choices)) {
    for (const value of [values].flat()) said.append(name, value);
  }
  said.delete(LARGE);
  if (large) said.set(LARGE, "true");
  return `${base}${page === FIRST ? "" : page}?${said}`;
}

/** Whether an address asks for large type. @param {string} search */
export const isLarge = (search) => new URLSearchParams(search).get(LARGE) === "true";
