// Saves something as a file that the browser downloads.

/**
 * @param {string} name
 * @param {Blob} contents
 */
export function save(name, contents) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(contents);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
