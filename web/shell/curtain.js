// The curtain covers the stage while the program is not running. It says what this page is, how far loading
// has come, or what went wrong.

/**
 * @template {keyof PageElements} Id
 * @param {Id} id
 */
const element = (id) => document.getElementById(id);

export const curtain = {
    /**
     * @param {number} arrived
     * @param {number} total
     */
    progress(arrived, total) {
        const share = total ? arrived / total : 0;
        element('loading-bar').value = share;
        element('loading-text').textContent = `Loading: ${(arrived / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`;
    },

    lift() {
        element('curtain').hidden = true;
        element('about').hidden = true;
    },

    /**
     * Shows only the first failure; later ones follow from it.
     *
     * @param {string} title
     * @param {string} reason
     */
    fail(title, reason, { reload = true } = {}) {
        const failure = element('failure');
        if (!failure.hidden) {
            return;
        }
        element('failure-title').textContent = title;
        element('failure-reason').textContent = reason;
        element('failure-reload').hidden = !reload;
        element('failure-reload').onclick = () => location.reload();
        element('loading').hidden = true;
        failure.hidden = false;
        element('curtain').hidden = false;
    },
};
