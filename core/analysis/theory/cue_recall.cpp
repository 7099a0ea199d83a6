#include "analysis/theory/cue_recall.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr Index patterns_visited = Index{1} << 18;  // in a slice

std::uint64_t seed_of(Index seed, Index pattern) {
    return mixed(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(pattern));
}

}  // namespace

CueRecall::CueRecall(const std::shared_ptr<const BinaryMemory>& memory, Index pattern, double flipped,
                     Index seed, std::optional<double> beta)
    : pattern_(memory->pattern(pattern)),
      cue_(with_flips(pattern_,
                      static_cast<Index>(std::lround(flipped * static_cast<double>(memory->bits()))),
                      seed_of(seed, pattern))),
      run_(memory, cue_, seed_of(seed, pattern)) {
    if (beta)
        modern_.emplace(std::make_shared<const HopfieldPatterns>(patterns_of(*memory)), *beta,
                        std::vector<double>(cue_.begin(), cue_.end()));
}

void CueRecall::step() {
    if (!run_.done())
        for (Index visits = patterns_visited / (run_.memory().count() + 1); visits >= 0 && run_.step();
             --visits)
            continue;
    else if (modern_ && !modern_->done())
        modern_->step();
}

BinaryMemory signs_stored(const HopfieldPatterns& patterns, Index most) {
    const auto numbers =
        std::span(patterns.values)
            .first(static_cast<std::size_t>(std::min(patterns.count(), most) * patterns.components));
    return {patterns.components, signs_of(std::vector<double>(numbers.begin(), numbers.end()))};
}

}  // namespace attn
