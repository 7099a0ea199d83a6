// Makes core/text/unicode_ranges.hpp of the Unicode that this node knows:
//   node tools/unicode_ranges.mjs > core/text/unicode_ranges.hpp
const classes = [null, /\p{L}/u, /\p{N}/u, /\s/u];

function classOf(point) {
    const character = String.fromCodePoint(point);
    return Math.max(0, classes.findIndex((pattern) => pattern?.test(character)));
}

const changes = [];
for (let point = 0, before = -1; point <= 0x10FFFF; ++point) {
    const now = classOf(point);
    if (now !== before) {
        changes.push(`0x${((point << 2) | now).toString(16)}`);
        before = now;
    }
}

const lines = [];
for (const change of changes) {
    const longer = `${lines.at(-1)} ${change},`;
    if (lines.length > 0 && longer.length <= 110) {
        lines[lines.length - 1] = longer;
    } else {
        lines.push(`    ${change},`);
    }
}

process.stdout.write(`// Letters (\\p{L}), numbers (\\p{N}) and white space (\\s) as JavaScript has them, of Unicode ${process.versions.unicode}.
// Made by tools/unicode_ranges.mjs.
#pragma once

#include <array>
#include <cstdint>

namespace attn {

enum class UnicodeClass : std::uint8_t { other, letter, number, space };

// Ascending: code point · 4 + class, wherever the class is another than that of the code point before.
// clang-format off
inline constexpr std::array<std::uint32_t, ${changes.length}> unicode_class_changes{
${lines.join('\n')}
};
// clang-format on

}  // namespace attn
`);
