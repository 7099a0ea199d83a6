// Anything may be thrown; people read words.

/** @param {unknown} error */
export const reasonOf = (error) => (error instanceof Error ? error.message : String(error));
