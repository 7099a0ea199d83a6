// The dialog that opens models of the hub: it looks a model up, says what would be fetched, and asks; it
// shows the progress, and the kept models. Nothing is requested from the hub before the user agrees, not even
// for links.

import { Fetching } from './fetching.js';
import { Cancelled } from './file_chunks.js';
import { Hub, HubError, linkOf, placeOf, shownNameOf, typedNameOf } from './hub.js';
import { choicesOf, onlyRounded, sizeOf, tooLarge } from './hub_choice.js';
import { choiceOption, element, facts, fileRows, firstModel, firstModels, howFar, keptModel, say, sayBusy, sayFault, showPart } from './hub_parts.js';
import { Kept, isFor, sizeOfPlan } from './kept.js';
import { bytes } from './model_files.js';
import { reasonOf } from './reason.js';
import { isOneFile } from './site_files.js';

/**
 * @import { Choice } from './hub_choice.js'
 * @import { Place, Repository } from './hub.js'
 * @import { KeptModel, Plan } from './kept.js'
 * @import { Models } from './models.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/**
 * A link that waits for its model; `answer` says whether the model is open or will not be opened.
 *
 * @typedef {{link: string, place: Place, answer: (open: boolean) => void}} Asked
 */

/**
 * The result of a look-up.
 *
 * @typedef {{place: Place, repository: Repository, choices: Choice[]}} Found
 */

const often = 200;  // ms between two updates of the progress

export class HubDialog {
    #hub = new Hub();
    #program;
    #models;
    #notices;
    #dialog = element('hub-dialog');
    /** @type {Promise<Kept | null> | undefined} */
    #store;
    /** @type {Asked | null} */
    #asked = null;
    /** @type {Found | null} */
    #found = null;
    /** @type {Plan | null} What the button fetches. */
    #plan = null;
    /** @type {Fetching | null} */
    #fetching = null;
    /** @type {ReturnType<Notices['progress']> | null} Replaces the dialog while that is closed. */
    #notice = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    #turn = 0;  // an answer to a question from an earlier turn is dropped

    /** @param {{program: Program, models: Models, notices: Notices}} parts */
    constructor({ program, models, notices }) {
        this.#program = program;
        this.#models = models;
        this.#notices = notices;
        const { host } = this.#hub;
        element('hub-says').textContent = `${host} is asked only when you look a model up or fetch it here. What you type into the page stays on this machine.`;
        element('hub-token-says').textContent = `It goes to ${host} alone, and is forgotten when the page is closed.`;
        element('hub-first-list').replaceChildren(...firstModels.map((model) => firstModel(model, () => {
            element('hub-name').value = model.name;
            this.#lookUp();
        })));
        const submitted = (/** @type {HTMLFormElement} */ form, /** @type {() => void} */ then) => form.addEventListener('submit', (event) => {
            event.preventDefault();
            then();
        });
        submitted(element('hub-form'), () => this.#lookUp());
        submitted(element('hub-secret'), () => this.#useToken());
        element('hub-close').addEventListener('click', () => this.#dialog.close());
        element('hub-back').addEventListener('click', () => this.#choose());
        element('hub-choice').addEventListener('change', () => this.#chosen());
        element('hub-fetch').addEventListener('click', () => this.#plan && this.#start(this.#plan));
        element('hub-pause').addEventListener('click', () => (this.#fetching?.paused ? this.#fetching.resume() : this.#fetching?.pause()));
        element('hub-stop').addEventListener('click', () => this.#fetching?.end());
        element('hub-unkept').addEventListener('click', () => this.#fetching?.keepNothing());
        element('hub-retry').addEventListener('click', () => this.#lookUp());
        this.#dialog.addEventListener('close', () => this.#closed());
    }

    /** Called from the menu, and from the notice that replaces the dialog. */
    show() {
        if (isOneFile()) {
            this.#notices.info('This page is one file and asks no network for anything: models of the hub open on the explorer’s site.');
            return;
        }
        this.#notice?.end();
        this.#notice = null;
        if (!this.#dialog.open) {
            this.#dialog.showModal();
        }
        if (this.#fetching) {
            this.#flow(this.#fetching);
        } else {
            this.#choose();
        }
    }

    /**
     * Opens what a link names: at once if it is kept, otherwise after asking. Resolves to false if it will
     * not be opened.
     *
     * @param {string} link
     * @param {Place} place
     * @returns {Promise<boolean>}
     */
    async openLink(link, place) {
        if (isOneFile()) {
            this.show();
            return false;
        }
        this.#asked?.answer(true);  // the page has gone on to another link, and waits for that link's model
        const [found, ...older] = (await this.#listed()).filter(({ plan, whole }) => whole && isFor(plan, place)).sort((a, b) => b.since - a.since);
        const entries = found && await this.#entries(found.plan);
        if (entries) {
            if (!place.revision) {
                const of = older.length > 0 ? `, the newest of ${older.length + 1} that are kept` : '';
                this.#notices.info(`The link names no commit: ${shownNameOf(place)} opens as kept on this machine on ${new Date(found.since).toLocaleDateString('en', { dateStyle: 'medium' })}, commit ${found.plan.commit.slice(0, 7)}${of}.`);
            }
            return this.#models.open(entries, { awaited: true, link, shown: shownNameOf(place) });
        }
        return new Promise((resolve) => {
            const answer = (/** @type {boolean} */ open) => {
                this.#asked = null;
                resolve(open);
            };
            this.#asked = { link, place, answer };
            this.show();
        });
    }

    /** Null if this browser keeps nothing. */
    #keeping() {
        return this.#store ??= Kept.open();
    }

    /** Returns the kept models; none if the browser does not list them, and the dialog says why. */
    async #listed() {
        try {
            return await (await this.#keeping())?.list() ?? [];
        } catch (error) {
            sayFault(reasonOf(error));
            return [];
        }
    }

    /**
     * Returns the files of a kept model; null if another tab has deleted some of them, which the dialog says.
     *
     * @param {Plan} plan
     */
    async #entries(plan) {
        try {
            return await (await this.#keeping())?.entries(plan) ?? null;
        } catch (error) {
            sayFault(reasonOf(error));
            return null;
        }
    }

    #closed() {
        ++this.#turn;
        element('hub-token').value = '';
        if (this.#fetching) {
            this.#report();
        } else {
            this.#asked?.answer(false);
        }
    }

    // ---- Choosing -----------------------------------------------------------------------------------------

    #choose() {
        ++this.#turn;
        element('hub-asks').textContent = this.#asked
            ? `This link shows ${shownNameOf(this.#asked.place)}, which is not on this machine. Look it up at ${this.#hub.host}?`
            : 'Its name, or the address of its page';
        showPart('choose');
        sayFault('');
        if (this.#asked) {
            element('hub-name').value = typedNameOf(this.#asked.place);
            element('hub-look').focus();
        } else {
            element('hub-name').focus();
            element('hub-name').select();
        }
        this.#listKept();
    }

    async #listKept() {
        const models = await this.#listed();
        element('hub-kept-list').replaceChildren(...models.map((model) => keptModel(model, {
            open: () => this.#openKept(model),
            remove: () => this.#remove(model.plan),
        })));
        element('hub-kept').hidden = models.length === 0 || element('hub-first').hidden;
    }

    /** @param {Plan} plan */
    async #remove(plan) {
        sayFault('');
        try {
            await (await this.#keeping())?.remove(plan);
        } catch (error) {
            sayFault(reasonOf(error));
        }
        await this.#listKept();
        element('hub-name').focus();
    }

    // ---- Looking a model up -------------------------------------------------------------------------------

    async #lookUp() {
        const turn = ++this.#turn;
        sayFault('');
        try {
            const place = placeOf(element('hub-name').value);
            element('hub-retry').hidden = true;
            sayBusy(`Asking ${this.#hub.host} for ${typedNameOf(place)} …`);
            const repository = await this.#hub.lookUp(place);
            const found = { place, repository, choices: await choicesOf(this.#hub, repository) };
            if (turn === this.#turn) {
                await this.#offer(found);
            }
        } catch (error) {
            if (turn === this.#turn) {
                this.#fails(error);
            }
        }
    }

    /** @param {unknown} error */
    #fails(error) {
        const token = error instanceof HubError && error.token;
        showPart(token ? 'token' : 'choose');
        sayFault(reasonOf(error));
        const passing = error instanceof HubError && error.passing;
        element('hub-retry').hidden = !passing;
        element(token ? 'hub-token' : passing ? 'hub-retry' : 'hub-name').focus();
    }

    #useToken() {
        this.#hub.token = element('hub-token').value;
        if (this.#fetching) {
            this.#fetching.resume();
        } else {
            this.#lookUp();
        }
    }

    /** @param {Found} found */
    async #offer(found) {
        const { place, repository: { repository }, choices } = this.#found = found;
        const asked = place.file ? choices.findIndex(({ files }) => files.some(({ path }) => path === place.file)) : 0;
        if (asked < 0) {
            throw new HubError(`${repository} has no file ${place.file} that opens here: leave it out to choose one.`);
        }
        element('hub-choice').replaceChildren(...choices.map(choiceOption));
        element('hub-choice').hidden = choices.length === 1;
        element('hub-choice').selectedIndex = asked;
        element('hub-found-title').textContent = typedNameOf({ ...place, repository, file: '' });
        await this.#chosen();
    }

    /** Says what would be fetched, and whether that can be opened. */
    async #chosen() {
        const turn = ++this.#turn;
        try {
            const tell = await this.#judged(/** @type {Found} */ (this.#found));
            if (turn === this.#turn) {
                tell();
            }
        } catch (error) {
            if (turn === this.#turn) {
                this.#fails(error);
            }
        }
    }

    /**
     * Finds out what there is to say about the choice. Resolves once that is shown.
     *
     * @param {Found} found
     */
    async #judged({ place, repository: { files: _, ...repository }, choices }) {
        const choice = choices[element('hub-choice').selectedIndex];
        const plan = { ...repository, asked: place.repository, revision: place.revision, file: choice.file, files: choice.files };
        const refusal = tooLarge(choice) ?? await this.#refusal(plan);
        const kept = await this.#keeping();
        const here = (await this.#listed()).find((each) => each.plan.commit === plan.commit && isFor(each.plan, { ...place, file: plan.file }));
        const total = sizeOf(choice.files), rest = total - (here?.here ?? 0);
        const room = await kept?.room() ?? 0;
        return () => {
            this.#plan = plan;
            element('hub-facts').replaceChildren(...facts([
                ['Licence', plan.licence || 'it names none'],
                ['Commit', `${plan.commit.slice(0, 7)} of ${place.revision || 'main'}`],
                ['Size', `${bytes(total)} in ${choice.files.length} ${choice.files.length > 1 ? 'files' : 'file'}`],
            ]));
            element('hub-files').replaceChildren(...fileRows(choice.files));
            const holds = onlyRounded(choice) ? 'A tab can hold it with its matrices rounded to 8 bits, which it asks for when the model opens.' : 'A tab can hold it.';
            element('hub-fits').textContent = !kept ? `${holds} This browser keeps no files here, as in a private window, so it is fetched anew each time.`
                : rest > room ? `${holds} This browser has room for ${bytes(room)} more, so it is opened without being kept: delete kept models to make room.`
                : `${holds} It is kept on this machine and opens without the network from then on.`;
            element('hub-fits').hidden = refusal !== null;
            element('hub-fetch').textContent = here?.whole ? 'Open' : here && here.here > 0 && rest <= room ? `Fetch the other ${bytes(rest)}` : `Fetch ${bytes(total)}`;
            element('hub-fetch').disabled = refusal !== null;
            showPart('found');
            sayFault(refusal ?? '');
            element('hub-found-title').focus();
        };
    }

    /**
     * Returns what the program says about the model's configuration, before its weights are here.
     *
     * @param {Plan} plan
     */
    async #refusal(plan) {
        const config = plan.files.find(({ path }) => path === 'config.json');
        if (!config) {
            return null;
        }
        return this.#program.modelRefusal(new Uint8Array(await this.#hub.bytesOf(plan, config))) || null;
    }

    // ---- Opening a model ----------------------------------------------------------------------------------

    /** @param {KeptModel} model */
    async #openKept({ plan, whole }) {
        if (!whole) {
            await this.#start(plan);
            return;
        }
        const entries = await this.#entries(plan);
        if (!entries) {
            await this.#listKept();
            return;
        }
        this.#open(plan, entries);
        this.#dialog.close();
    }

    /**
     * @param {Plan} plan
     * @param {Awaited<ReturnType<Kept['entries']>>} entries
     */
    async #open(plan, entries) {
        const asked = this.#asked && isFor(plan, this.#asked.place) ? this.#asked : null;
        const place = asked ? asked.place : { ...plan, revision: plan.revision || plan.commit };
        if (asked) {
            this.#asked = null;
        }
        const open = await this.#models.open(entries, { awaited: asked !== null, link: asked ? asked.link : linkOf(place), shown: shownNameOf(place) });
        asked?.answer(open);
        return open;
    }

    /**
     * Opens what has been fetched, unless the page has gone on to a link that waits for another model.
     *
     * @param {Fetching} fetching
     * @param {Awaited<ReturnType<Kept['entries']>>} entries
     */
    async #arrived(fetching, entries) {
        const { plan, keeps } = fetching;
        // Files that are not kept are fetched while they are opened.
        const came = () => `${bytes(fetching.fetched)} were fetched from ${this.#hub.host}`;
        if (keeps && this.#asked && !isFor(plan, this.#asked.place)) {
            this.#notices.info(`${shownNameOf(plan)} is kept on this machine: ${came()}. Open it from the list of kept models.`);
        } else if (await this.#open(plan, entries)) {
            this.#notices.info(`${shownNameOf(plan)} is open: ${came()}${keeps ? ' and are kept on this machine' : ''}.`);
        }
    }

    /** @param {Plan} plan */
    async #start(plan) {
        const kept = await this.#keeping();
        const here = (await this.#listed()).find((each) => each.plan.commit === plan.commit && isFor(each.plan, { ...plan, revision: plan.commit }));
        if (here?.whole) {
            await this.#openKept(here);
            return;
        }
        const keeps = kept && sizeOfPlan(plan) - (here?.here ?? 0) <= await kept.room() ? kept : null;
        const fetching = this.#fetching = new Fetching(this.#hub, keeps, plan, () => this.#report());
        this.#flow(fetching);
        element('hub-pause').focus();
        try {
            await this.#arrived(fetching, await fetching.entries());
            this.#fetching = null;
            if (!this.#asked) {
                this.#dialog.close();
            }
        } catch (error) {
            this.#fetching = null;
            if (!(error instanceof Cancelled)) {
                throw error;
            }
            if (this.#dialog.open && !this.#asked) {
                this.#choose();
            }
        } finally {
            this.#notice?.end();
            this.#notice = null;
        }
        if (this.#asked) {
            this.show();
        }
    }

    /** @param {Fetching} fetching */
    #flow(fetching) {
        showPart('flow');
        sayFault('');
        element('hub-flow-title').textContent = `Fetching ${shownNameOf(fetching.plan)}`;
        this.#picture(fetching);
    }

    /** Shows the progress shortly afterwards. */
    #report() {
        if (this.#timer === undefined) {
            this.#timer = setTimeout(() => {
                this.#timer = undefined;
                if (this.#fetching) {
                    this.#picture(this.#fetching);
                }
            }, often);
        }
    }

    /** @param {Fetching} fetching */
    #picture(fetching) {
        const { plan, arrived, total, paused, words, fault } = fetching;
        const share = arrived / total;
        const far = howFar(fetching) + (paused ? ' · paused' : '');
        if (this.#dialog.open) {
            element('hub-bar').value = share;
            say('hub-far', far);
            const next = this.#asked && !isFor(plan, this.#asked.place) ? `${shownNameOf(this.#asked.place)}, of the link that you followed, comes next.` : '';
            say('hub-flow-says', fault ? next : [words, next].filter(Boolean).join(' '));
            element('hub-unkept').hidden = !fetching.full;
            say('hub-pause', paused ? 'Go on' : 'Pause');
            element('hub-secret').hidden = !(fault instanceof HubError && fault.token);
            sayFault(fault ? fault.message : '');
        } else {
            this.#notice ??= this.#notices.progress('', () => this.show(), 'fetching', 'Show');
            this.#notice(`${fault ? fault.message : `Fetching ${shownNameOf(plan)}: ${far}`}`, share);
        }
    }
}
