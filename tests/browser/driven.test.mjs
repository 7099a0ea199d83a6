// Drives the page at random (lib/driver.mjs), for a minute or for the time given to run.mjs.
import { Driver } from './lib/driver.mjs';
import { test } from './lib/suite.mjs';

const seconds = Number(process.env.DRIVE_SECONDS ?? 60);
const seed = Number(process.env.DRIVE_SEED ?? Date.now() % 1_000_000);

test(`driven at random for ${seconds} s with seed ${seed}, it never stops, always comes to rest and lies still`, { start: false, limit: 1000 * seconds + 240_000 }, async (explorer) => {
    await explorer.open(explorer.variant, '');
    await new Driver(explorer, seed).drive(seconds);
});
