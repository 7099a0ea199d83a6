// Messages of one sentence. Errors and pending matters stand above the stage until dismissed and cover nothing;
// other messages float over it for a while.

const area = () => document.getElementById('notices');
const moment = 200;  // ms
const shortly = (text) => Math.min(4000 + 50 * text.length, 12000);

function button(label, action) {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = label;
    made.addEventListener('click', action);
    return made;
}

function place(kind, text, action) {
    const notice = document.createElement('div');
    notice.className = `notice ${kind}`;
    if (kind === 'error') {
        notice.setAttribute('role', 'alert');
    }
    const words = document.createElement('p');
    words.textContent = text;
    notice.append(words, action(notice));
    area().append(notice);
    return notice;
}

const dismiss = (then) => (notice) => button('Dismiss', () => {
    notice.remove();
    then?.();
});

function only(kind) {
    area().querySelectorAll(`.${kind}`).forEach((notice) => notice.remove());
}

function says(kind, text) {
    return [...area().querySelectorAll(`.${kind} p`)].some((words) => words.textContent === text);
}

let passing = 0;

export const notices = {
    info(text) {
        if (!says('info', text)) {
            only('info');
            place('info', text, dismiss());
        }
        clearTimeout(passing);
        passing = setTimeout(() => only('info'), shortly(text));
    },

    // At most two errors stand; the newest stay.
    error(text) {
        if (!says('error', text)) {
            [...area().querySelectorAll('.error')].slice(0, -1).forEach((notice) => notice.remove());
            place('error', text, dismiss());
        }
    },

    // A matter that stays open until it is settled: one per `matter`, null ends it. Dismissing it calls `forget`.
    pending(matter, text, forget) {
        only(matter);
        if (text) {
            place(`pending ${matter}`, text, dismiss(forget));
        }
    },

    // Work with a progress bar and a way out of it, shown once it takes longer than a moment. Returns
    // (text, share) => void, and end() on it.
    progress(text, cancel) {
        only('progress');
        const bar = document.createElement('progress');
        let now = text, notice = null;
        const timer = setTimeout(() => {
            notice = place('progress', now, () => button('Cancel', cancel));
            notice.insertBefore(bar, notice.lastChild);
            notice.setAttribute('aria-live', 'off');  // its text changes with every slice
        }, moment);
        const update = (words, share) => {
            now = words;
            bar.value = share;
            if (notice) {
                notice.firstChild.textContent = words;
            }
        };
        const end = () => {
            clearTimeout(timer);
            notice?.remove();
        };
        return Object.assign(update, { end });
    },
};
