#include "train/symbols.hpp"

#include <algorithm>
#include <numeric>

#include "tensor/random.hpp"
#include "train/dropout.hpp"

namespace attn {

namespace {

std::size_t below(Random& random, std::size_t end) { return static_cast<std::size_t>(random.bits() % end); }

// All symbols in a random order, again and again.
std::vector<std::int32_t> drawn(Random& random, Index vocabulary, std::size_t count) {
    std::vector<std::int32_t> deck(static_cast<std::size_t>(vocabulary - 1)), symbols;
    std::iota(deck.begin(), deck.end(), 1);
    while (symbols.size() < count)
        for (std::size_t i = 0; i < deck.size() && symbols.size() < count; ++i) {
            std::swap(deck[i], deck[i + below(random, deck.size() - i)]);
            symbols.push_back(deck[i]);
        }
    return symbols;
}

// A sequence of symbols, the last the target of the one before, and where what can be foretold begins and ends.
struct Drawn {
    std::vector<std::int32_t> symbols;
    std::size_t foretold = 0, end = 0;
};

// From an eighth of the sequence to a half of it, again and again.
Drawn repeated(Random& random, Index vocabulary, std::size_t length) {
    const std::size_t least = std::max<std::size_t>(length / 8, 2), most = std::max(length / 2, least);
    const std::size_t period = least + below(random, most - least + 1);
    Drawn d{drawn(random, vocabulary, period), period + 1, length};
    for (std::size_t i = period; i < length; ++i) d.symbols.push_back(d.symbols[i - period]);
    return d;
}

// Symbols, the separator, the same again or backwards, and separators to the end.
Drawn answered(Random& random, Index vocabulary, std::size_t length, bool backwards) {
    const std::size_t most = (length - 1) / 2, count = most - below(random, most / 2 + 1);
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
                            ? repeated(random, vocabulary, length)
                            : answered(random, vocabulary, length, task == SymbolTask::reversal);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ids[i] = d.symbols[i];
            targets[i] = i + 1 >= d.foretold && i + 1 < d.end ? d.symbols[i + 1] : -1;
        }
    });
}

}  // namespace attn
