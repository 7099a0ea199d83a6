// Chromium without a display and without a GPU.
export const launchOptions = {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist',
        '--disable-gpu-compositing', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--no-first-run'],
};
