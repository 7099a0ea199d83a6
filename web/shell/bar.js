// The top bar's buttons and the menu that opens models.

/**
 * @template {keyof PageElements} Id
 * @param {Id} id
 */
const element = (id) => document.getElementById(id);

export class Bar {
    #menu = element('model-menu');
    #button = element('model');

    /**
     * @param {{onFind: () => void, onUndo: () => void, onRedo: () => void, onLink: () => void, onEmbed:
     *     () => void, onHub: () => void, onSave: () => void}} calls
     */
    constructor({ onFind, onUndo, onRedo, onLink, onEmbed, onHub, onSave }) {
        element('undo').addEventListener('click', onUndo);
        element('find').addEventListener('click', onFind);
        element('redo').addEventListener('click', onRedo);
        element('link').addEventListener('click', onLink);
        element('embed').addEventListener('click', onEmbed);
        this.#button.addEventListener('click', () => this.#show(Boolean(this.#menu.hidden)));
        document.addEventListener('pointerdown', ({ target }) => {
            if (!(target instanceof Node && (this.#menu.contains(target) || this.#button.contains(target)))) {
                this.#show(false);
            }
        });
        element('open-hub').addEventListener('click', () => {
            this.#show(false);
            this.#button.focus();  // it gets the focus back when the dialog is closed
            onHub();
        });
        element('save-page').addEventListener('click', () => {
            this.#show(false);
            onSave();
        });
        element('open-folder').addEventListener('click', ({ detail }) => this.#choose('folder-input', detail === 0));
        element('open-files').addEventListener('click', ({ detail }) => this.#choose('files-input', detail === 0));
        element('open-tensors').addEventListener('click', ({ detail }) => this.#choose('tensors-input', detail === 0));
    }

    /** Called when the program runs. Undo and redo wait for something to undo. */
    enable() {
        for (const id of /** @type {const} */ (['model', 'link', 'embed', 'table', 'find'])) {
            element(id).disabled = false;
        }
    }

    /** @param {string} text */
    setTitle(text) {
        element('model-name').textContent = text;
        this.#button.title = text;
        this.#button.setAttribute('aria-label', `${text}; open a model`);
    }

    /**
     * @param {boolean} canUndo
     * @param {boolean} canRedo
     */
    setHistory(canUndo, canRedo) {
        element('undo').disabled = !canUndo;
        element('redo').disabled = !canRedo;
    }

    /**
     * Gives the menu one entry for each model that comes with the site.
     *
     * @param {string[]} names
     * @param {(name: string) => void} open
     */
    offer(names, open) {
        element('bundled').replaceChildren(...names.map((name) => {
            const button = document.createElement('button');
            button.type = 'button';
            button.textContent = `Bundled: ${name}`;
            button.addEventListener('click', () => {
                this.#show(false);
                open(name);
            });
            return button;
        }));
    }

    /** The Escape key closes the menu and returns the focus. Returns whether it was open. */
    escape() {
        if (this.#menu.hidden) {
            return false;
        }
        this.#show(false);
        this.#button.focus();
        return true;
    }

    /** @param {boolean} open */
    #show(open) {
        this.#menu.hidden = !open;
        this.#button.setAttribute('aria-expanded', String(open));
    }

    /**
     * @param {'folder-input' | 'files-input' | 'tensors-input'} input
     * @param {boolean} byKeyboard
     */
    #choose(input, byKeyboard) {
        this.#show(false);
        if (byKeyboard) {
            this.#button.focus();  // the menu cannot keep the focus, and without one it begins anew
        }
        element(input).click();
    }
}
