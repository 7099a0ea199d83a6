// The live region is what a screen reader says of the selection. It speaks only the last of a quick series.

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} text */
export function announce(text) {
    clearTimeout(timer);
    timer = setTimeout(() => {
        const region = document.getElementById('live');
        region.textContent = region.textContent === text ? `${text}\u00a0` : text;
    }, 200);
}
