// The parts of a Mask. They are private to mask.cpp (evaluation), mask_text.cpp (text), mask_terms.cpp (what
// can be set) and mask_program.cpp (the same in Python).
#pragma once

#include <variant>
#include <vector>

#include "attention/mask.hpp"

namespace attn {

struct Causal {
    Index offset;
    bool operator==(const Causal&) const = default;
};
struct Window {
    Index before, after;
    bool operator==(const Window&) const = default;
};
struct Padding {
    Index visible_keys;
    bool operator==(const Padding&) const = default;
};
struct SameDocument {
    std::vector<std::int32_t> query, key;
    bool operator==(const SameDocument&) const = default;
};
struct Prefix {
    Index length;
    bool operator==(const Prefix&) const = default;
};
struct Strided {
    Index stride;  // >= 1
    bool operator==(const Strided&) const = default;
};
struct BlockSparse {
    Index block;  // >= 1
    Index query_blocks, key_blocks;
    std::vector<std::uint8_t> allowed;  // [query_blocks, key_blocks], 0 or 1
    bool operator==(const BlockSparse&) const = default;
};
struct GlobalLocal {
    std::vector<Index> tokens;  // ascending, each once
    Index radius;
    bool operator==(const GlobalLocal&) const = default;
};
struct Cells {
    CellRegion region;
    bool operator==(const Cells&) const = default;
};
// There are two or more operands; none of them is of the same kind or allows everything.
struct Conjunction {
    std::vector<Mask> operands;
    bool operator==(const Conjunction&) const = default;
};
struct Disjunction {
    std::vector<Mask> operands;
    bool operator==(const Disjunction&) const = default;
};
struct Negation {
    Mask operand;
    bool operator==(const Negation&) const = default;
};

struct Mask::Node {
    std::variant<Causal, Window, Padding, SameDocument, Prefix, Strided, BlockSparse, GlobalLocal,
                 PaintedBits, Cells, Conjunction, Disjunction, Negation>
        value;

    static const Node* of(const Mask& mask) { return mask.node_.get(); }
    template <class T>
    static Mask make(T value) {
        return Mask(std::make_shared<const Node>(Node{std::move(value)}));
    }
};

// No position may exceed this, so that sums of two stay within a 32-bit Index.
inline constexpr Index position_limit = 1'000'000'000;

}  // namespace attn
