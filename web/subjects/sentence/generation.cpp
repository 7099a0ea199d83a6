#include "subjects/sentence/generation.hpp"

#include <algorithm>
#include <utility>

namespace attn::app {

Result<std::int32_t> Generation::draw(std::span<const std::int32_t> text, const SamplingState& sampling,
                                      std::span<const float> logits, Index row) {
    if (!sampler_ || !std::ranges::equal(text_, text) || sampling != sampler_for_) {
        auto sampler = Sampler::start(sampling_of(sampling));
        if (!sampler) return sampler.error();
        sampler_ = *std::move(sampler);
        sampler_for_ = sampling;
        text_.assign(text.begin(), text.end());
    }
    return sampler_->draw(logits, row);
}

}  // namespace attn::app
