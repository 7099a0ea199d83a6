// The top bar's buttons and the menu that opens models.

const element = (id) => document.getElementById(id);

export class Bar {
    #menu = element('model-menu');
    #button = element('model');

    constructor({ onUndo, onRedo, onLink }) {
        element('undo').addEventListener('click', onUndo);
        element('redo').addEventListener('click', onRedo);
        element('link').addEventListener('click', onLink);
        this.#button.addEventListener('click', () => this.#show(this.#menu.hidden));
        document.addEventListener('pointerdown', ({ target }) => {
            if (!this.#menu.contains(target) && !this.#button.contains(target)) {
                this.#show(false);
            }
        });
        element('open-folder').addEventListener('click', () => this.#choose('folder-input'));
        element('open-files').addEventListener('click', () => this.#choose('files-input'));
        element('open-tensors').addEventListener('click', () => this.#choose('tensors-input'));
    }

    // Once the program runs. Undo and redo wait for something to undo.
    enable() {
        ['model', 'link', 'table'].forEach((id) => { element(id).disabled = false; });
    }

    setTitle(text) {
        element('model-name').textContent = text;
        this.#button.title = text;
        this.#button.setAttribute('aria-label', `${text}; open a model`);
    }

    setHistory(canUndo, canRedo) {
        element('undo').disabled = !canUndo;
        element('redo').disabled = !canRedo;
    }

    // One entry for each model that comes with the site.
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

    // Escape: closes the menu, gives the focus back.
    escape() {
        if (!this.#menu.hidden) {
            this.#show(false);
            this.#button.focus();
        }
    }

    #show(open) {
        this.#menu.hidden = !open;
        this.#button.setAttribute('aria-expanded', String(open));
    }

    #choose(input) {
        this.#show(false);
        element(input).click();
    }
}
