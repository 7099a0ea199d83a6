// A message is one sentence. Messages float over the lens, and cover neither the inspector nor the controls.
// An error stays until it is dismissed or obsolete, a pending matter until it is settled, anything else for a
// while.

const area = () => document.getElementById('notices');
const moment = 200;  // ms
const shortly = (/** @type {string} */ text) => Math.min(4000 + 50 * text.length, 12000);

/**
 * @param {string} label
 * @param {() => void} action
 */
function button(label, action) {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = label;
    made.addEventListener('click', action);
    return made;
}

function fit() {
    area().classList.toggle('full', area().scrollHeight > area().clientHeight);
}
new MutationObserver(fit).observe(area(), { childList: true, subtree: true, characterData: true });
new ResizeObserver(fit).observe(area());

/**
 * @param {string} kind
 * @param {string} text
 * @param {(notice: HTMLElement) => HTMLElement} action
 */
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
    fit();
    area().scrollTop = area().scrollHeight;  // keeps the newest in view
    return { notice, words };
}

/** @param {() => void} [then] */
const dismiss = (then) => (/** @type {HTMLElement} */ notice) => button('Dismiss', () => {
    notice.remove();
    then?.();
});

/** @param {string} kind */
function only(kind) {
    area().querySelectorAll(`.${kind}`).forEach((notice) => notice.remove());
}

/**
 * @param {string} kind
 * @param {string} text
 */
function says(kind, text) {
    return [...area().querySelectorAll(`.${kind} p`)].some((words) => words.textContent === text);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let passing;

/** @type {(kind: 'info' | 'error', text: string) => void} */
let told = () => {};

/** @typedef {typeof notices} Notices */

export const notices = {
    /**
     * Passes what is said on, too.
     *
     * @param {typeof told} listener
     */
    tell(listener) {
        told = listener;
    },

    /** @param {string} text */
    info(text) {
        if (!says('info', text)) {
            only('info');
            place('info', text, dismiss());
        }
        told('info', text);
        clearTimeout(passing);
        passing = setTimeout(() => only('info'), shortly(text));
    },

    /**
     * Shows at most two errors, the newest.
     *
     * @param {string} text
     */
    error(text) {
        const standing = [...area().querySelectorAll('.error')];
        const others = standing.filter((notice) => notice.querySelector('p')?.textContent !== text).slice(-1);
        standing.filter((notice) => !others.includes(notice)).forEach((notice) => notice.remove());
        place('error', text, dismiss());
        told('error', text);
    },

    /**
     * The user has moved on: the present errors are obsolete, and go once there has been time to read them.
     */
    over() {
        area().querySelectorAll('.error:not(.over)').forEach((notice) => {
            notice.classList.add('over');
            setTimeout(() => notice.remove(), shortly(notice.textContent ?? ''));
        });
    },

    /** A new attempt has begun: earlier errors about it go at once. */
    renew: () => only('error'),

    /**
     * Says what stays open until it is settled. There is one sentence per matter; null ends it, and
     * dismissing it calls `forget`.
     *
     * @param {string} matter
     * @param {string | null} text
     * @param {() => void} [forget]
     */
    pending(matter, text, forget) {
        only(matter);
        if (text) {
            place(`pending ${matter}`, text, dismiss(forget));
        }
    },

    /**
     * Offers something that the user may not want. There is one question per matter.
     *
     * @param {string} matter
     * @param {string} text
     * @param {string} label
     * @param {() => void} action
     */
    offer(matter, text, label, action) {
        only(matter);
        const { notice } = place(`pending ${matter}`, text, dismiss());
        const accept = button(label, () => {
            notice.remove();
            action();
        });
        notice.lastElementChild?.before(accept);
    },

    /**
     * Shows work with a progress bar and a way to stop it, once it takes longer than a moment. Returns
     * functions that report progress and end it. There is one notice of each kind.
     *
     * @param {string} text
     * @param {() => void} act
     */
    progress(text, act, kind = 'progress', label = 'Cancel') {
        only(kind);
        const bar = document.createElement('progress');
        let now = text;
        /** @type {ReturnType<typeof place> | undefined} */
        let shown;
        const timer = setTimeout(() => {
            shown = place(kind, now, () => button(label, act));
            shown.words.after(bar);
            shown.notice.setAttribute('aria-live', 'off');  // its text changes with every slice
        }, moment);
        const update = (/** @type {string} */ words, /** @type {number} */ share) => {
            now = words;
            bar.value = share;
            if (shown) {
                shown.words.textContent = words;
            }
        };
        const end = () => {
            clearTimeout(timer);
            shown?.notice.remove();
        };
        return Object.assign(update, { end });
    },
};
