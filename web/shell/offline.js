// Lets the browser keep the site for when there is no network (offline_worker.js). A server on this machine is there without one,
// and shows every build at once.

import { isOneFile } from './site_files.js';

const local = ['localhost', '127.0.0.1', '[::1]'];

export function keepOffline() {
    if (isOneFile() || local.includes(location.hostname) || !('serviceWorker' in navigator)) {
        return;
    }
    // Private windows and some settings refuse it: then the page needs its network, as before.
    navigator.serviceWorker.register('offline_worker.js').catch(() => {});
}
