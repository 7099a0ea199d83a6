// The live region: what a screen reader says of the selection. Only the last of a quick series is spoken.

let timer = 0;

export function announce(text) {
    clearTimeout(timer);
    timer = setTimeout(() => {
        const region = document.getElementById('live');
        region.textContent = region.textContent === text ? `${text}\u00a0` : text;
    }, 200);
}
