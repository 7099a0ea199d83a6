// Launches Chromium with what the browser tests have installed.
import { existsSync } from 'node:fs';
import { chromium } from '../../browser/node_modules/playwright-core/index.mjs';
import { launchOptions } from '../../browser/lib/browser.mjs';

const shell = '/usr/bin/chromium-headless-shell';

export const launch = () => chromium.launch({
    ...launchOptions,
    ...!process.env.CHROMIUM && existsSync(shell) && { executablePath: shell },
});
