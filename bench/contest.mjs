// One case, everyone in turn, round by round, so that what disturbs the machine disturbs all alike. Natively and in
// the page alike.
//
// A contestant has a `name` and
//   open(task)    ready to run; what `reason` it gives instead, or false where the case is no business of its own
//   run(seconds)  times in milliseconds of as many calls as fit, one at least
//   output()      Float32Array of the last run; missing where it gives none out
//   close()
// One of ours also has ceiling(seconds), in operations a second, and its open answers with the operations of a call,
// the name of its table, and the inputs that the others get, each a piece of `data`.

const rounds = { least: 5, most: 15, seconds: 6 };
const secondsARound = 0.1;
const tooLong = 5000;  // milliseconds a call, for more than two of them

const sorted = (numbers) => Float64Array.from(numbers).sort();

function statistics(times) {
    const all = sorted(times);
    return { calls: all.length, fastest: all[0], median: all[all.length >> 1] };
}

// The largest difference, as a fraction of the largest value.
function difference(a, b) {
    if (a.length !== b.length) return Infinity;
    let largest = 0, apart = 0;
    for (let i = 0; i < a.length; i++) {
        largest = Math.max(largest, Math.abs(a[i]));
        const d = Math.abs(a[i] - b[i]);
        if (!(d <= apart)) apart = d;
    }
    return apart / largest;
}

// { name, operations, entries: [{ name, ours, table, reason, difference, ceiling, calls, fastest, median }] }
export async function contest(task, ours, peers) {
    const first = await ours[0].open(task);
    const entries = [];
    const take = async (contestant, open) => {
        const entry = { name: contestant.name, ours: ours.includes(contestant) };
        try {
            const opened = await open();
            if (opened === false) return;
            entry.table = opened?.table;
            await contestant.run(0);
            const output = await contestant.output?.();
            if (output) entry.difference = entries.length ? difference(entries[0].output, output) : 0;
            Object.assign(entry, { contestant, output, times: [], ceilings: [] });
        } catch (error) {
            entry.reason = /** @type {Error} */ (error).message.split('\n')[0].replace(/^.*ERROR_MESSAGE: (\S*\/)?/, '');
            await Promise.resolve().then(() => contestant.close()).catch(() => {});  // as far as it was open
        }
        entries.push(entry);
    };
    await take(ours[0], () => first);
    for (const other of ours.slice(1)) await take(other, () => other.open(task));
    for (const peer of peers) await take(peer, () => peer.open({ ...task, ...first }));
    for (const entry of entries) delete entry.output;

    const start = performance.now();
    const running = entries.filter((entry) => entry.contestant);
    const more = (round) => round < rounds.least ||
        (round < rounds.most && performance.now() - start < 1000 * rounds.seconds);
    for (let round = 0; more(round); round++) {
        for (const entry of running) {
            if (round > 1 && Math.min(...entry.times) > tooLong) continue;
            if (entry.ours) entry.ceilings.push(await entry.contestant.ceiling(secondsARound / 4));
            entry.times.push(...await entry.contestant.run(secondsARound));
        }
    }
    for (const { contestant } of running) await contestant.close();
    return {
        name: task.name,
        operations: first.operations,
        entries: entries.map(({ contestant, times, ceilings, ...entry }) => ({
            ...entry, ...(times && statistics(times)), ceiling: ceilings?.length ? Math.max(...ceilings) : 0,
        })),
    };
}

// The inputs of a task as pieces of one buffer, which `copy` fills from where the core has them.
export function laidOut(answer, copy) {
    let end = 0;
    const inputs = answer.inputs.map((input) => ({ ...input, offset: (end += input.bytes) - input.bytes }));
    return {
        table: answer.table,
        operations: answer.operations,
        inputs: Object.fromEntries(inputs.map((input) => [input.name, input])),
        data: copy(inputs, end),
    };
}
