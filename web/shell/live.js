// The live region holds what a screen reader says about the selection. It speaks only the last of a quick
// series, and is emptied once there has been time to say it, so that it never holds outdated text.

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
const toSay = (/** @type {string} */ text) => 3000 + 80 * text.length;  // ms

/** @param {string} text */
export function announce(text) {
    clearTimeout(timer);
    const region = document.getElementById('live');
    timer = setTimeout(() => {
        region.textContent = region.textContent === text ? `${text}\u00a0` : text;
        timer = setTimeout(() => { region.textContent = ''; }, toSay(text));
    }, 200);
}
