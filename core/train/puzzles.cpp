#include "train/puzzles.hpp"

#include <algorithm>
#include <array>

#include "tensor/random.hpp"
#include "train/parameters.hpp"

namespace attn {

namespace {

constexpr std::int32_t list_word = 0, question_word = 1, first_word = 2;
constexpr std::int32_t digits = 10, letters = 8;
constexpr std::size_t least_symbols = 2, words_around = 2;

std::size_t drawn_below(Random& random, std::size_t end) {
    return static_cast<std::size_t>(random.below(end));
}

// At least one of the digits is the largest, and none is larger.
PuzzleList drawn_digits(Random& random, std::size_t count) {
    const auto largest = static_cast<std::int32_t>(random.below(digits));
    std::vector<std::int32_t> symbols = random_integers(random, count, first_word, first_word + largest + 1);
    symbols[drawn_below(random, count)] = first_word + largest;
    return {std::move(symbols), first_word + largest};
}

// The answers 1 … 8 come before the letters in the vocabulary.
PuzzleList drawn_letters(Random& random, std::size_t count) {
    std::array<std::int32_t, letters> deck;
    for (std::int32_t i = 0; i < letters; ++i) deck[static_cast<std::size_t>(i)] = first_word + letters + i;
    for (std::size_t i = 0; i + 1 < deck.size(); ++i)
        std::swap(deck[i], deck[i + drawn_below(random, deck.size() - i)]);
    const std::size_t different = 1 + drawn_below(random, std::min<std::size_t>(count, letters));
    std::vector<std::int32_t> symbols(deck.begin(), deck.begin() + static_cast<std::ptrdiff_t>(different));
    while (symbols.size() < count) symbols.push_back(deck[drawn_below(random, different)]);
    for (std::size_t i = 0; i + 1 < count; ++i)
        std::swap(symbols[i], symbols[i + drawn_below(random, count - i)]);
    return {std::move(symbols), first_word + static_cast<std::int32_t>(different) - 1};
}

PuzzleList drawn_list(Puzzle puzzle, Random& random, std::size_t context) {
    const std::size_t most = context - words_around,
                      count = least_symbols + drawn_below(random, most - least_symbols + 1);
    PuzzleList list = puzzle == Puzzle::largest ? drawn_digits(random, count) : drawn_letters(random, count);
    list.ids.insert(list.ids.begin(), list_word);
    list.ids.push_back(question_word);
    return list;
}

PuzzleList drawn_list(Puzzle puzzle, Random& random, std::size_t context, bool held_out) {
    for (;;) {
        PuzzleList list = drawn_list(puzzle, random, context);
        if (is_held_out(list) == held_out) return list;
    }
}

}  // namespace

std::optional<Puzzle> puzzle_named(std::string_view name) {
    for (const Puzzle puzzle : {Puzzle::largest, Puzzle::different})
        if (name == name_of(puzzle)) return puzzle;
    return std::nullopt;
}

std::string_view name_of(Puzzle puzzle) { return puzzle == Puzzle::largest ? "largest" : "different"; }

std::vector<std::string> puzzle_words(Puzzle puzzle) {
    std::vector<std::string> words{"list", std::string(name_of(puzzle))};
    if (puzzle == Puzzle::largest) {
        for (int i = 0; i < digits; ++i) words.push_back(std::to_string(i));
        return words;
    }
    for (int i = 1; i <= letters; ++i) words.push_back(std::to_string(i));
    for (int i = 0; i < letters; ++i) words.emplace_back(1, static_cast<char>('A' + i));
    return words;
}

bool is_held_out(const PuzzleList& list) {
    std::uint64_t hash = list.ids.size();
    for (const std::int32_t id : list.ids) hash = mixed(hash, static_cast<std::uint64_t>(id));
    return hash % 10 == 0;
}

Result<Batches> puzzle_batches(Puzzle puzzle, Index context, std::uint64_t seed) {
    constexpr auto least = static_cast<Index>(least_symbols + words_around);
    if (context < least)
        return Error{"a context of " + std::to_string(context) +
                     " has no room for a list of 2 symbols between two words: give at least " +
                     std::to_string(least)};
    return Batches([=](std::int64_t step, Index sequence, std::span<std::int32_t> ids,
                       std::span<std::int32_t> targets) {
        Random random(mixed(seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sequence)));
        const PuzzleList list = drawn_list(puzzle, random, ids.size(), false);
        std::ranges::fill(ids, list_word);  // what stands behind the question, where nothing is asked
        std::ranges::copy(list.ids, ids.begin());
        std::ranges::fill(targets, -1);
        targets[list.ids.size() - 1] = list.answer;
    });
}

std::vector<PuzzleList> held_out_lists(Puzzle puzzle, Index context, std::size_t count, std::uint64_t seed) {
    Random random(mixed(seed, 1));
    std::vector<PuzzleList> lists;
    while (lists.size() < count)
        lists.push_back(drawn_list(puzzle, random, static_cast<std::size_t>(context), true));
    return lists;
}

Result<double> share_answered(const Model& model, std::span<const PuzzleList> lists,
                              std::span<const HeadIndex> ablated) {
    if (Status can = TrainedNetwork::check(model); !can) return can.error();
    const auto layout = ParameterLayout::of(model.config());
    if (!layout) return layout.error();
    const TrainedNetwork network(model, *layout, false, {}, ablated);
    const ParameterBuffer parameters = parameters_of(*layout, model);
    std::size_t longest = 0;
    for (const PuzzleList& list : lists) longest = std::max(longest, list.ids.size());
    const auto kept = network.activations(static_cast<Index>(longest));
    Index right = 0;
    std::vector<std::int32_t> targets;
    for (const PuzzleList& list : lists) {
        targets.assign(list.ids.size(), -1);
        targets.back() = list.answer;
        right += network.loss(parameters, list.ids, targets, *kept).right;
    }
    return static_cast<double>(right) / static_cast<double>(std::max<std::size_t>(lists.size(), 1));
}

}  // namespace attn
