// Launches Chromium without a display and without a GPU. A window has pop-ups of its address bar, pages of
// their own that cost as much as half a test.
const omnibox = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'];

export const launchOptions = {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist',
        '--disable-gpu-compositing', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--no-first-run', `--disable-features=${omnibox}`],
};
