// @ts-check
// What a picture inside the viewer has in the place of a host: it is handed its data, and tells of what was selected.

/** What a part needs of its surroundings. @param {(selection: any) => void} select */
export const partHost = (select) => ({ get: () => new Uint8Array(), onChange: () => {}, select });
