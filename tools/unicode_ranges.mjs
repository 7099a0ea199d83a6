// Makes core/text/unicode_ranges.hpp of the Unicode that this node knows:
//   node tools/unicode_ranges.mjs > core/text/unicode_ranges.hpp

/** @param {(RegExp | null)[]} classes */
function changesOf(classes) {
    const changes = [];
    for (let point = 0, before = -1; point <= 0x10FFFF; ++point) {
        const character = String.fromCodePoint(point);
        const now = Math.max(0, classes.findIndex((pattern) => pattern?.test(character)));
        if (now !== before) {
            changes.push(`0x${((point << 2) | now).toString(16)}`);
            before = now;
        }
    }
    return changes;
}

/** @param {string[]} changes */
function written(changes) {
    /** @type {string[]} */
    const lines = [];
    for (const change of changes) {
        const longer = `${lines.at(-1)} ${change},`;
        if (lines.length > 0 && longer.length <= 110) {
            lines[lines.length - 1] = longer;
        } else {
            lines.push(`    ${change},`);
        }
    }
    return lines.join('\n');
}

const classes = changesOf([null, /\p{L}/u, /\p{N}/u, /\p{White_Space}/u]);
const cases = changesOf([null, /[\p{Lu}\p{Lt}]/u, /\p{Ll}/u, /[\p{Lm}\p{Lo}\p{M}]/u]);
const punctuation = changesOf([null, /\p{P}/u]);

process.stdout.write(`// Letters (\\p{L}), numbers (\\p{N}) and white space (\\p{White_Space}); capitals (\\p{Lu}, \\p{Lt}), small letters
// (\\p{Ll}), and letters without case and marks (\\p{Lm}, \\p{Lo}, \\p{M}); punctuation (\\p{P}); from Unicode ${process.versions.unicode}. Generated
// by tools/unicode_ranges.mjs.
#pragma once

#include <array>
#include <cstdint>

namespace attn {

enum class UnicodeClass : std::uint8_t { other, letter, number, space };
enum class LetterCase : std::uint8_t { none, upper, lower, uncased };

// Ascending: code point · 4 + class, for each code point whose class differs from that of the one before.
// clang-format off
inline constexpr std::array<std::uint32_t, ${classes.length}> unicode_class_changes{
${written(classes)}
};
inline constexpr std::array<std::uint32_t, ${cases.length}> letter_case_changes{
${written(cases)}
};
inline constexpr std::array<std::uint32_t, ${punctuation.length}> punctuation_changes{
${written(punctuation)}
};
// clang-format on

}  // namespace attn
`);
