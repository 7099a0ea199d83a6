// A cue of a stored pattern, some of whose bits are flipped, on its way to rest in the classical network
// (analysis/theory/binary_memory.hpp) and in the modern one beside it.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "analysis/theory/binary_memory.hpp"

namespace attn {

// In slices.
class CueRecall {
  public:
    // `flipped` is the share of bits; without a β, the modern network stays out of it.
    CueRecall(const std::shared_ptr<const BinaryMemory>& memory, Index pattern, double flipped, Index seed,
              std::optional<double> beta);

    bool done() const { return run_.done() && (!modern_ || modern_->done()); }
    void step();
    const Bits& cue() const { return cue_; }
    const Bits& pattern() const { return pattern_; }  // the one to recover
    const BinaryRecall& run() const { return run_; }
    const std::optional<Retrieval>& modern() const { return modern_; }
    // At the start, and now.
    std::array<Index, 2> wrong_bits() const {
        return {bits_that_differ(cue_, pattern_), bits_that_differ(run_.state(), pattern_)};
    }

  private:
    Bits pattern_, cue_;
    BinaryRecall run_;
    std::optional<Retrieval> modern_;
};

// Stores the signs of the first patterns, at most so many.
BinaryMemory signs_stored(const HopfieldPatterns& patterns, Index most);

}  // namespace attn
