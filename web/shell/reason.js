// Turns anything thrown into words for users.

/** @param {unknown} error */
export const reasonOf = (error) => (error instanceof Error ? error.message : String(error));
