#include "train/symbols.hpp"

#include <algorithm>
#include <numeric>

#include "tensor/random.hpp"
#include "train/repeats.hpp"

namespace attn {

namespace {

// Shuffles all symbols and lists them, repeatedly until there are enough.
std::vector<std::int32_t> drawn(Random& random, Index vocabulary, std::size_t count) {
    std::vector<std::int32_t> deck(static_cast<std::size_t>(vocabulary - 1)), symbols;
    std::iota(deck.begin(), deck.end(), 1);
    while (symbols.size() < count)
        for (std::size_t i = 0; i < deck.size() && symbols.size() < count; ++i) {
            std::swap(deck[i], deck[i + static_cast<std::size_t>(random.below(deck.size() - i))]);
            symbols.push_back(deck[i]);
        }
    return symbols;
}

// A sequence of symbols, each of which is the target of the one before, and where the
// predictable part begins and ends.
struct Drawn {
    std::vector<std::int32_t> symbols;
    std::size_t foretold = 0, end = 0;
};

Drawn drawn_repeats(Random& random, Index vocabulary, std::size_t length) {
    const std::size_t period = drawn_period(random, length);
    return {repeated(drawn(random, vocabulary, period), length), period + 1, length};
}

// Makes symbols, the separator, the same symbols again or backwards, and separators to the end.
Drawn answered(Random& random, Index vocabulary, std::size_t length, bool backwards) {
    const std::size_t most = (length - 1) / 2,
                      count = most - static_cast<std::size_t>(random.below(most / 2 + 1));
    Drawn d{drawn(random, vocabulary, count), count + 1, 2 * count + 1};
    std::vector<std::int32_t> answer = d.symbols;
    if (backwards) std::ranges::reverse(answer);
    d.symbols.push_back(0);
    d.symbols.insert(d.symbols.end(), answer.begin(), answer.end());
    d.symbols.resize(length, 0);
    return d;
}

}  // namespace

Result<Batches> symbol_batches(SymbolTask task, Index vocabulary, std::uint64_t seed) {
    if (vocabulary < 3)
        return Error{"a vocabulary of " + std::to_string(vocabulary) +
                     " leaves nothing to foretell: give at least 3, the separator and two symbols"};
    return Batches([=](std::int64_t step, Index sequence, std::span<std::int32_t> ids,
                       std::span<std::int32_t> targets) {
        Random random(mixed(seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sequence)));
        const std::size_t length = ids.size() + 1;
        const Drawn d = task == SymbolTask::repeated
                            ? drawn_repeats(random, vocabulary, length)
                            : answered(random, vocabulary, length, task == SymbolTask::reversal);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ids[i] = d.symbols[i];
            targets[i] = i + 1 >= d.foretold && i + 1 < d.end ? d.symbols[i + 1] : -1;
        }
    });
}

}  // namespace attn
