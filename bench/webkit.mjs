// node webkit.mjs  Plain SIMD with two threads beside one thread, in turn in one page of WebKitGTK, which WebDriver drives on a
// screen of Xvfb. Prints a table.
import { spawn } from 'node:child_process';
import { serve } from '../tools/lib/serve.mjs';
import { webkit } from '../tools/lib/webkit.mjs';
import { here, measuredOn } from './machine.mjs';

const cases = ['attention 12×64 n=1024 full', 'attention 12×64 n=1024 causal', 'GEMM 512×768×768', 'GPT-2 small n=128'];
const build = (variant, threads) => ({ name: variant, module: `/build/web/bench/bench-${variant}.mjs`, threads });
const ours = [build('simd', 1), build('simd-threads', 2)];
const display = ':97';

const server = await serve({ folder: here('..') }), measured = measuredOn();
const screen = spawn('Xvfb', [display, '-screen', '0', '1440x900x24'], { stdio: 'ignore' });
try {
    // Safari shares memory in an isolated page; WebKitGTK does so only when JavaScriptCore is told to.
    const session = await webkit(display, { JSC_useSharedArrayBuffer: '1' });
    console.log(`| ${session.browser} | one thread, ms | two threads, ms | times as fast |\n| --- | --- | --- | --- |`);
    for (const task of cases) {
        await session.goto(`${server.url}bench/web/program.html`);
        const answer = JSON.parse(await session.evaluate(`import('/bench/web/core.mjs').then(({ runOurs }) => runOurs(${JSON.stringify({ ours, task })}))
            .then((measured) => JSON.stringify(measured))`));
        const [alone, shared] = answer.entries, time = ({ fastest, median }) => `${fastest.toFixed(1)} (${median.toFixed(1)})`;
        console.log(`| ${task} | ${time(alone)} | ${time(shared)} | ${(alone.fastest / shared.fastest).toFixed(2)} (${(alone.median / shared.median).toFixed(2)}) |`);
    }
    await session.end();
    console.log(`\n${measured}`);
} finally {
    screen.kill();
    await server.close();
}
