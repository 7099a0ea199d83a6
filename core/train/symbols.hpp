// Tasks over meaningless symbols. Each is solved by one mechanism of attention that can be watched as it
// forms.
#pragma once

#include "train/trainer.hpp"

namespace attn {

enum class SymbolTask {
    repeated,  // random symbols, repeated: an induction head predicts them
    reversal,  // symbols, the separator, the same symbols backwards
    copying,   // symbols, the separator, the same symbols
};

// Symbols are 1 … vocabulary − 1, and 0 is the separator. What cannot be predicted is no target (−1). Within
// the part to be repeated, no symbol occurs twice unless the vocabulary is used up, and its length differs
// from sequence to sequence, so that positions alone do not tell where it is. It is an error if the
// vocabulary has fewer than two symbols.
Result<Batches> symbol_batches(SymbolTask task, Index vocabulary, std::uint64_t seed);

}  // namespace attn
