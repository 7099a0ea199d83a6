// Tasks over symbols that mean nothing, each solved by one mechanism of attention that can be watched as it forms.
#pragma once

#include "train/trainer.hpp"

namespace attn {

enum class SymbolTask {
    repeated,  // random symbols, again and again: foretold by an induction head
    reversal,  // symbols, the separator, the same symbols backwards
    copying,   // symbols, the separator, the same symbols
};

// Symbols are 1 … vocabulary − 1, and 0 the separator; what comes before its like is no target (−1). Within what
// is to be repeated no symbol comes twice while the vocabulary has others, and its length differs from sequence to
// sequence, so that positions alone do not tell where it is. An error where the vocabulary has less than two.
Result<Batches> symbol_batches(SymbolTask task, Index vocabulary, std::uint64_t seed);

}  // namespace attn
