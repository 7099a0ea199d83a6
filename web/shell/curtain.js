// What covers the stage while the program is not running: what this is, progress, or what went wrong.

const element = (id) => document.getElementById(id);

export const curtain = {
    progress(arrived, total) {
        const share = total ? arrived / total : 0;
        element('loading-bar').value = share;
        element('loading-text').textContent = `Loading: ${(arrived / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`;
    },

    lift() {
        element('curtain').hidden = true;
        element('about').hidden = true;
    },

    // Only the first failure is told; later ones follow from it.
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
