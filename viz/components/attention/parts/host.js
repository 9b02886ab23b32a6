// @ts-check
// The host of a picture inside the viewer, which sets the picture's data itself.

/** A host that only takes selections. @param {(selection: any) => void} select */
export const partHost = (select) => ({ get: () => new Uint8Array(), onChange: () => {}, select });
