#include "cli/puzzle_card.hpp"

#include <cstdio>

#include "cli/card_numbers.hpp"
#include "cli/model_folder.hpp"
#include "model/families.hpp"
#include "text/word_list.hpp"

namespace attn {

namespace {

constexpr std::size_t lists_measured = 4000;
constexpr std::uint64_t lists_seed = 2;  // not those that training reports on

struct WithoutHeads {
    HeadIndex head;
    double off = 0, alone = 0;  // shares of right answers without it, and without the others of its layer
};

Result<std::vector<WithoutHeads>> without_heads(const Model& model, std::span<const PuzzleList> lists) {
    std::vector<WithoutHeads> all;
    const auto& config = model.config();
    for (Index layer = 0; layer < config.layers; ++layer)
        for (Index head = 0; head < config.heads; ++head) {
            const HeadIndex it{layer, head};
            std::vector<HeadIndex> others;
            for (Index other = 0; other < config.heads; ++other)
                if (other != head) others.push_back({layer, other});
            const auto off = share_answered(model, lists, std::span(&it, 1)),
                       alone = share_answered(model, lists, others);
            if (!off) return off.error();
            if (!alone) return alone.error();
            all.push_back({it, *off, *alone});
        }
    return all;
}

const char* asks(Puzzle puzzle) {
    return puzzle == Puzzle::largest
               ? "After `list 3 7 1 7 largest` it says `7`: the largest digit of the list."
               : "After `list A B A C different` it says `3`: how many different letters the list has.";
}

std::string puzzle_card_of(Puzzle puzzle, const Model& model, double right,
                           std::span<const WithoutHeads> heads, const std::string& recipe) {
    const ModelConfig& config = model.config();
    std::string text = "---\n";
    if (!recipe.empty()) text += "license: mit\n";
    text += "library_name: transformers\npipeline_tag: text-generation\n---\n\n# A puzzle: " +
            std::string(name_of(puzzle)) + "\n\n";
    text += "A " + std::string(family_rules(config.family).title) + " of " + std::to_string(config.layers) +
            (config.layers == 1 ? " layer, " : " layers, ") + std::to_string(config.heads) + " heads and " +
            std::to_string(config.d_model) + " components, " + std::to_string(model.parameter_count()) +
            " parameters, a vocabulary of " + std::to_string(config.vocab_size) + " words and a context of " +
            std::to_string(config.context) + ". " + asks(puzzle) +
            " Words are separated by spaces, and a list has 2 to " + std::to_string(config.context - 2) +
            " of them.";
    if (!recipe.empty())
        text +=
            " Attention Explorer trained it with its own kernels (`attn train`) on lists that it generates "
            "itself; only the answer counts in the loss.";
    text += "\n\nThis card is written by `attn card`, which measures what it says.\n\n";
    text += "| measured | |\n| --- | --- |\n| right answers, of " + std::to_string(lists_measured) +
            " held-out lists | " + percent(right) + " |\n\n";
    text += "The lists (seed " + std::to_string(lists_seed) +
            ") are in no training batch.\n\nHeads that write nothing: how often the answer is right without "
            "the head, and with the head but without the others of its "
            "layer.\n\n| head | right without it | right without the others |\n| --- | --- | --- |\n";
    for (const WithoutHeads& each : heads)
        text += "| " + name(each.head.layer, each.head.head) + " | " + percent(each.off) + " | " +
                percent(each.alone) + " |\n";
    if (!recipe.empty()) text += "\nThe recipe:\n\n```json\n" + recipe + "```\n";
    return text;
}

}  // namespace

std::optional<Puzzle> puzzle_of(const std::string& folder) {
    const auto bytes = read_file(folder + "/tokenizer.json");
    if (!bytes) return std::nullopt;
    for (const Puzzle puzzle : {Puzzle::largest, Puzzle::different})
        if (as_text(*bytes) == word_list_tokenizer(puzzle_words(puzzle))) return puzzle;
    return std::nullopt;
}

Status write_puzzle_card(Puzzle puzzle, const std::string& folder, const std::string& recipe) {
    const auto model = load_model_folder(folder);
    if (!model) return model.error();
    const std::size_t words = puzzle_words(puzzle).size();
    if (static_cast<std::size_t>((*model)->config().vocab_size) != words)
        return Error{folder + " has a vocabulary of " + std::to_string((*model)->config().vocab_size) +
                     " tokens, but its tokenizer.json has " + std::to_string(words) + " words"};
    const Index context = (*model)->config().context;
    if (const auto possible = puzzle_batches(puzzle, context, lists_seed); !possible) return possible.error();
    const auto lists = held_out_lists(puzzle, context, lists_measured, lists_seed);
    const auto right = share_answered(**model, lists);
    if (!right) return right.error();
    const auto heads = without_heads(**model, lists);
    if (!heads) return heads.error();
    const std::string card = puzzle_card_of(puzzle, **model, *right, *heads, recipe);
    std::fwrite(card.data(), 1, card.find("\nThe recipe"), stdout);
    return write_file(folder + "/README.md", std::as_bytes(std::span(card)));
}

}  // namespace attn
