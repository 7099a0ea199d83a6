// The core's builds as contestants in a page, without the others.
import { contest, laidOut } from '../contest.mjs';

export async function core({ name, module, threads }) {
    const program = await (await import(module)).default();
    const ask = (request) => JSON.parse(program.ccall('answer', 'string', ['string'], [JSON.stringify(request)]));
    const bytes = (at, size) => new Uint8Array(program.wasmMemory.buffer, at, size);
    return {
        name,
        list: () => ask({ do: 'list' }).cases,
        open: (task) => laidOut(ask({ do: 'open', case: task.name, threads }), (inputs, size) => {
            const all = new Uint8Array(size);
            for (const input of inputs) all.set(bytes(input.address, input.bytes), input.offset);
            return all.buffer;
        }),
        run: (seconds) => ask({ do: 'run', seconds }).times,
        output() {
            const output = ask({ do: 'output' });
            return new Float32Array(bytes(output.address, output.bytes).slice().buffer);
        },
        ceiling: (seconds) => ask({ do: 'ceiling', seconds }).rate,
        close: () => ask({ do: 'close' }),
    };
}

export async function runOurs({ ours, task }) {
    return contest({ name: task }, await Promise.all(ours.map(core)), []);
}
