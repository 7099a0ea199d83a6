// Computes what a flow should show, and reads what it shows.

// The keys that make up the share of a row, the heaviest first.
export function heaviest(row, share) {
    const keys = row.map((_, k) => k).sort((a, b) => row[b] - row[a]);
    const chosen = [];
    for (let mass = 0; mass < share - 1e-6;) {
        chosen.push(keys[chosen.length]);
        mass += row[chosen.at(-1)];
    }
    return chosen;
}

// The keys to which the flow shows edges from a query.
export async function edgesFrom(explorer, query) {
    await explorer.settled();
    return Object.keys(await explorer.landmarks()).map((name) => /^flow\/edge\/(\d+)\/(\d+)$/.exec(name))
        .filter((found) => found && Number(found[1]) === query).map((found) => Number(found[2])).sort((a, b) => a - b);
}
