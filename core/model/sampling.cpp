#include <algorithm>
#include <cmath>

#include "model/generate.hpp"

namespace attn {

namespace {

bool likelier(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Returns how many of `sorted` top_k and top_p keep. Probabilities are relative to the first.
std::size_t kept(std::span<const Candidate> sorted, const Sampling& sampling) {
    std::size_t count = sorted.size();
    if (sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) < count) {
        count = static_cast<std::size_t>(sampling.top_k);
        const float last = sorted[count - 1].logit;
        while (count < sorted.size() && sorted[count].logit == last) ++count;
    }
    if (sampling.top_p < 1) {
        double total = 0, before = 0;
        for (const Candidate& c : sorted.first(count)) total += c.probability;
        std::size_t i = 0;
        for (; i < count && before < static_cast<double>(sampling.top_p) * total; ++i)
            before += sorted[i].probability;
        count = i;
    }
    return count;
}

}  // namespace

std::vector<Candidate> next_token_distribution(std::span<const float> logits, const Sampling& sampling,
                                               Index at_most) {
    std::vector<Candidate> all;
    all.reserve(logits.size());
    for (float logit : logits) {
        if (std::isnan(logit)) return {};
        all.push_back({static_cast<std::int32_t>(all.size()), logit, 0});
    }
    if (all.empty()) return {};
    const Candidate best = *std::ranges::min_element(all, likelier);
    if (!std::isfinite(best.logit)) return {};
    if (sampling.temperature == 0) return {{best.id, best.logit, 1}};

    const auto temperature = static_cast<double>(sampling.temperature);
    for (Candidate& c : all)
        c.probability =
            std::exp((static_cast<double>(c.logit) - static_cast<double>(best.logit)) / temperature);
    const bool everything_stays = sampling.top_k == 0 && sampling.top_p >= 1;
    double total = 0;
    if (everything_stays) {
        for (const Candidate& c : all) total += c.probability;
        const auto wanted = std::min(all.size(), static_cast<std::size_t>(at_most));
        std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(wanted), likelier);
    } else {
        std::ranges::sort(all, likelier);
        all.resize(kept(all, sampling));
        for (const Candidate& c : all) total += c.probability;
    }
    all.resize(std::min(all.size(), static_cast<std::size_t>(at_most)));
    for (Candidate& c : all) c.probability /= total;
    return all;
}

Result<Sampler> Sampler::start(const Sampling& sampling) {
    const auto at_least_zero = [](float x) { return std::isfinite(x) && x >= 0; };
    if (!at_least_zero(sampling.temperature)) return Error{"the temperature must be a number from 0 on"};
    if (sampling.top_k < 0) return Error{"top-k must be a whole number from 0 on; 0 keeps every token"};
    if (!(sampling.top_p > 0 && sampling.top_p <= 1)) return Error{"top-p must lie above 0 and not above 1"};
    return Sampler(sampling);
}

Result<std::int32_t> Sampler::draw(std::span<const float> logits, Index position) {
    const std::vector<Candidate> candidates = next_token_distribution(logits, sampling_, std::ssize(logits));
    if (candidates.empty())
        return Error{"no token can be chosen: the logits after position " + std::to_string(position) +
                     " are not finite numbers"};
    // The choice is the first candidate at which the summed probabilities exceed a uniform number.
    const double uniform = random_.uniform();
    double sum = 0;
    std::size_t i = 0;
    while (i + 1 < candidates.size() && (sum += candidates[i].probability) <= uniform) ++i;
    return candidates[i].id;
}

}  // namespace attn
