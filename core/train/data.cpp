#include "train/data.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tensor/random.hpp"
#include "train/repeats.hpp"
#include "train/sentences.hpp"

namespace attn {

namespace {

class MixedSequences {
  public:
    MixedSequences(std::shared_ptr<const Bpe> tokenizer, std::vector<std::int32_t> text, Index special_tokens,
                   const Mixture& mixture, std::uint64_t seed)
        : tokenizer_(std::move(tokenizer)),
          text_(std::move(text)),
          special_tokens_(special_tokens),
          shares_{mixture.text, mixture.sentences, mixture.repeated_text, mixture.repeated_random,
                  mixture.repeated_pairs},
          seed_(seed) {}

    void fill(std::int64_t step, Index sequence, std::span<std::int32_t> ids,
              std::span<std::int32_t> targets) const {
        Random random(mixed(seed_, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sequence)));
        const std::size_t length = ids.size() + 1;
        std::vector<std::int32_t> tokens;
        std::vector<bool> foretold(ids.size(), true);  // per token: whether the next one can be predicted
        switch (kind(random.uniform())) {
            case 0: tokens = stretch(random, length); break;
            case 1: tokens = sentences(random.bits(), length); break;
            case 2: tokens = repeated(stretch(random, drawn_period(random, length)), length); break;
            case 3: {
                const std::size_t once = drawn_period(random, length);
                tokens = repeated(random_integers(random, once, static_cast<std::int32_t>(special_tokens_),
                                                  tokenizer_->vocabulary_size()),
                                  length);
                std::fill_n(foretold.begin(), std::min(once, foretold.size()), false);
                break;
            }
            default: tokens = pairs(random, length, foretold);
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ids[i] = tokens[i];
            targets[i] = foretold[i] ? tokens[i + 1] : -1;
        }
    }

  private:
    std::size_t kind(double at) const {
        double sum = 0;
        for (const double share : shares_) sum += share;
        at *= sum;
        for (std::size_t i = 0; i + 1 < shares_.size(); ++i) {
            if (at < shares_[i]) return i;
            at -= shares_[i];
        }
        return shares_.size() - 1;
    }

    std::vector<std::int32_t> stretch(Random& random, std::size_t length) const {
        const auto from =
            text_.begin() + static_cast<std::ptrdiff_t>(random.below(text_.size() - length + 1));
        return {from, from + static_cast<std::ptrdiff_t>(length)};
    }

    std::vector<std::int32_t> sentences(std::uint64_t seed, std::size_t length) const {
        SentenceWriter writer(seed);
        std::vector<std::int32_t> tokens;
        while (tokens.size() < length) {
            const auto more = tokenizer_->encode(writer.paragraph() + "\n");
            tokens.insert(tokens.end(), more.begin(), more.end());
        }
        return tokens;
    }

    // There are so many pairs that each occurs about four to sixteen times.
    std::vector<std::int32_t> pairs(Random& random, std::size_t length, std::vector<bool>& foretold) const {
        const std::size_t count = std::max<std::size_t>(drawn_period(random, length) / 4, 1);
        const auto drawn = random_integers(random, 2 * count, static_cast<std::int32_t>(special_tokens_),
                                           tokenizer_->vocabulary_size());
        std::vector<bool> seen(count);
        std::vector<std::int32_t> tokens;
        while (tokens.size() < length) {
            const auto pair = static_cast<std::size_t>(random.below(count));
            if (tokens.size() < foretold.size()) foretold[tokens.size()] = seen[pair];
            if (tokens.size() + 1 < foretold.size()) foretold[tokens.size() + 1] = false;
            seen[pair] = true;
            tokens.insert(tokens.end(), {drawn[2 * pair], drawn[2 * pair + 1]});
        }
        return tokens;
    }

    std::shared_ptr<const Bpe> tokenizer_;
    std::vector<std::int32_t> text_;
    Index special_tokens_;
    std::array<double, 5> shares_;
    std::uint64_t seed_;
};

}  // namespace

Result<Batches> mixed_batches(std::shared_ptr<const Bpe> tokenizer, std::vector<std::int32_t> text,
                              Index context, Index special_tokens, const Mixture& mixture,
                              std::uint64_t seed) {
    const std::array shares{mixture.text, mixture.sentences, mixture.repeated_text, mixture.repeated_random,
                            mixture.repeated_pairs};
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (!(sum > 0) || std::ranges::any_of(shares, [](double share) { return share < 0; }))
        return Error{"the shares of the mixture have to be 0 or more, and one of them more than 0"};
    if ((mixture.text > 0 || mixture.repeated_text > 0) && std::ssize(text) <= context)
        return Error{"the text has " + std::to_string(text.size()) + " tokens; training on sequences of " +
                     std::to_string(context) + " needs more than that: give more text or a shorter context"};
    const auto sequences = std::make_shared<const MixedSequences>(std::move(tokenizer), std::move(text),
                                                                  special_tokens, mixture, mixed(seed, 1));
    return Batches(
        [sequences](std::int64_t step, Index sequence, std::span<std::int32_t> ids,
                    std::span<std::int32_t> targets) { sequences->fill(step, sequence, ids, targets); });
}

}  // namespace attn
