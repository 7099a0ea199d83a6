#include "cli/card.hpp"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analysis/heads/repeated_tokens.hpp"
#include "cli/card_numbers.hpp"
#include "cli/model_folder.hpp"
#include "cli/pronouns.hpp"
#include "cli/puzzle_card.hpp"
#include "cli/tokenizer.hpp"
#include "cli/training.hpp"
#include "cli/translation_card.hpp"
#include "model/families.hpp"
#include "train/evaluation.hpp"

namespace attn {

namespace {

using nlohmann::ordered_json;

constexpr Index repeated_period = 64, repeated_sequences = 16;
constexpr std::uint64_t repeated_seed = 1;

struct Validation {
    std::string file;
    double bits_per_byte = 0, accuracy = 0;
};

Result<Validation> validate(const Model& model, const Bpe& tokenizer, const std::string& file) {
    const auto text = read_file(file);
    if (!text) return text.error();
    if (Status can = TrainedNetwork::check(model); !can) return can.error();
    const auto layout = ParameterLayout::of(model.config());
    if (!layout) return layout.error();
    const TrainedNetwork network(model, *layout, false);
    const auto ids = tokenizer.encode(as_text(*text));
    const Evaluation found = evaluate(network, parameters_of(*layout, model), model.config().context, ids);
    return Validation{file.substr(file.rfind('/') + 1), bits_per_byte(found, text->size()), found.accuracy};
}

ordered_json head_json(Index layer, Index head, const RepeatedTokenScores& s, const PronounHead& pronoun) {
    return {{"layer", layer},
            {"head", head},
            {"previous_token", rounded(s.head.previous_token)},
            {"duplicate_token", rounded(s.head.duplicate_token)},
            {"induction", rounded(s.head.induction)},
            {"duplicate_stripe", rounded(s.duplicate_stripe)},
            {"induction_stripe", rounded(s.induction_stripe)},
            {"entropy", rounded(s.head.entropy)},
            {"first_token", rounded(s.head.first_token)},
            {"pronoun_right", rounded(pronoun.right)},
            {"pronoun_flipped", rounded(pronoun.flipped)}};
}

// Returns the head with the largest value for that key.
const ordered_json& best(const ordered_json& heads, const char* key) {
    const ordered_json* found = &heads.front();
    for (const ordered_json& head : heads)
        if (head[key].get<double>() > (*found)[key].get<double>()) found = &head;
    return *found;
}

// Says of the model what its files say and what was measured; how it was made is known from its recipe only.
std::string card_of(const std::string& name_of_model, const Model& model, const ordered_json& scores,
                    const std::string& recipe) {
    const ModelConfig& config = model.config();
    std::string text = "---\n";
    if (!recipe.empty()) text += "license: mit\nlanguage: en\n";
    text += "library_name: transformers\npipeline_tag: text-generation\n---\n\n";
    text += "# " + (recipe.empty() ? name_of_model : "A small storyteller") + "\n\n";
    text += "A " + std::string(family_rules(config.family).title) + " of " + std::to_string(config.layers) +
            " layers, " + std::to_string(config.heads) + " heads and " + std::to_string(config.d_model) +
            " components, " + std::to_string(model.parameter_count()) + " parameters, a vocabulary of " +
            std::to_string(config.vocab_size) + " tokens and a context of " + std::to_string(config.context) +
            ".";
    if (!recipe.empty())
        text +=
            " Attention Explorer trained it with its own kernels (`attn train`) on public-domain story books "
            "and on sentences of its own seeded generator, so that its heads can be looked at. It writes "
            "plausible nonsense and knows nothing.";
    text += "\n\n";
    text +=
        "This card is written by `attn card`, which measures what it says; `scores.json` holds the same "
        "numbers.\n\n";
    text += "| measured | |\n| --- | --- |\n";
    if (scores.contains("validation")) {
        const auto& v = scores["validation"];
        text += "| bits per byte of " + v["file"].get<std::string>() + " | " + fixed(v["bits_per_byte"], 3) +
                " |\n";
        text += "| next token right, there | " + percent(v["accuracy"]) + " |\n";
    }
    const auto& pronouns = scores["pronouns"];
    text += "| pronouns: right noun likelier, of " + std::to_string(2 * pronouns["pairs"].get<Index>()) +
            " texts | " + percent(pronouns["preferred"]) + " |\n";
    text += "| in both twins, of " + std::to_string(pronouns["pairs"].get<Index>()) + " pairs | " +
            percent(pronouns["preferred_in_both"]) + " |\n";
    const auto row = [&](const char* what, const char* key, bool share) {
        const auto& head = best(scores["heads"], key);
        text += std::string("| ") + what + ", head " + name(head["layer"], head["head"]) + " | " +
                (share ? percent(head[key]) : fixed(head[key], 3)) + " |\n";
    };
    row("pronouns: more weight on the right noun", "pronoun_right", true);
    row("in both twins", "pronoun_flipped", true);
    row("previous token", "previous_token", false);
    row("induction", "induction_stripe", false);
    row("duplicate token", "duplicate_stripe", false);
    text += "\n";
    if (!recipe.empty())
        text += "The pronoun texts are held out: no training text lets their two nouns compete. ";
    text +=
        "\"It\" is the pronoun after the adjective: in \"The animal didn't cross the street because it was "
        "too tired. It\" "
        "the first \"it\" stands before the adjective, and a causal model gives it the same attention "
        "whether tired or wide follows.\n\n";
    text +=
        "Heads on " + std::to_string(repeated_sequences) + " sequences of " +
        std::to_string(repeated_period) + " random tokens, given twice (seed " +
        std::to_string(repeated_seed) +
        "). Previous, duplicate and induction are shares of all weights on those patterns (the score `mul` "
        "of TransformerLens); a stripe is the mean weight, over the second copy, on the same token in the "
        "first, or on the one after it. Entropy in nats; first is the weight on the first token.\n\n";
    text +=
        "| head | previous | duplicate | induction | duplicate stripe | induction stripe | entropy | first | "
        "pronoun |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (const auto& head : scores["heads"]) {
        text += "| " + name(head["layer"], head["head"]);
        for (const char* key : {"previous_token", "duplicate_token", "induction", "duplicate_stripe",
                                "induction_stripe", "entropy", "first_token", "pronoun_right"})
            text += " | " + fixed(head[key], 3);
        text += " |\n";
    }
    if (!recipe.empty()) text += "\nThe recipe:\n\n```json\n" + recipe + "```\n";
    return text;
}

}  // namespace

Status write_card(const std::string& folder, const std::string& validation, const std::string& recipe) {
    std::string recipe_text;
    if (!recipe.empty()) {
        const auto bytes = read_file(recipe);
        if (!bytes) return bytes.error();
        recipe_text = as_text(*bytes);
    }
    const auto translator = is_translator(folder);
    if (!translator) return translator.error();
    if (*translator) {
        if (!validation.empty())
            return Error{folder +
                         " is a translator, which is measured on generated pairs: leave out the text"};
        return write_translation_card(folder, recipe_text);
    }
    if (const auto puzzle = puzzle_of(folder)) {
        if (!validation.empty())
            return Error{folder + " answers puzzles, and is measured on generated lists: leave out the text"};
        return write_puzzle_card(*puzzle, folder, recipe_text);
    }
    const auto model = load_model_folder(folder);
    if (!model) return model.error();
    const auto tokenizer = load_tokenizer(folder + "/tokenizer.json");
    if (!tokenizer) return tokenizer.error();

    ordered_json scores;
    if (!validation.empty()) {
        const auto found = validate(**model, *tokenizer, validation);
        if (!found) return found.error();
        scores["validation"] = {{"file", found->file},
                                {"bits_per_byte", rounded(found->bits_per_byte)},
                                {"accuracy", rounded(found->accuracy)}};
    }
    const auto pronouns = score_pronouns(*model, *tokenizer);
    if (!pronouns) return pronouns.error();
    scores["pronouns"] = {{"pairs", pronouns->pairs},
                          {"preferred", rounded(pronouns->preferred)},
                          {"preferred_in_both", rounded(pronouns->preferred_in_both)}};
    const auto repeated =
        score_repeated_tokens(*model, repeated_period, repeated_sequences, special_tokens, repeated_seed);
    if (!repeated) return repeated.error();
    scores["heads"] = ordered_json::array();
    for (const PronounHead& head : pronouns->heads)
        scores["heads"].push_back(head_json(
            head.layer, head.head,
            (*repeated)[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)], head));

    const std::string written = scores.dump(1) + "\n";
    std::error_code none;
    const std::string named = std::filesystem::weakly_canonical(folder, none).filename().string();
    const std::string card = card_of(named, **model, scores, recipe_text);
    std::fwrite(card.data(), 1, card.find("\nHeads on"), stdout);
    if (auto status = write_file(folder + "/scores.json", std::as_bytes(std::span(written))); !status)
        return status;
    return write_file(folder + "/README.md", std::as_bytes(std::span(card)));
}

}  // namespace attn
