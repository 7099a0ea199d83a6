#include "cli/translation_card.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/card_numbers.hpp"
#include "cli/model_folder.hpp"
#include "io/json.hpp"
#include "train/translation_scores.hpp"

namespace attn {

namespace {

using nlohmann::ordered_json;

constexpr Index card_pairs = 2000;
constexpr std::uint64_t card_seed = 2;  // not those that training reports on

struct Translator {
    ModelConfig config;
    ParameterLayout layout;
    ParameterBuffer parameters;
};

Result<Translator> load_translator(const std::string& folder) {
    const auto json = read_file(folder + "/config.json");
    if (!json) return json.error();
    if (const auto config = parse_t5_config(*json); !config) return config.error();
    const auto model = load_model_folder(folder);
    if (!model) return model.error();
    auto layout = t5_layout((*model)->config());
    if (!layout) return layout.error();
    ParameterBuffer parameters = parameters_of(*layout, **model);
    return Translator{(*model)->config(), *std::move(layout), std::move(parameters)};
}

ordered_json scores_json(const TranslationScores& scores) {
    ordered_json heads = ordered_json::array();
    for (const TranslationScores::Head& head : scores.heads)
        heads.push_back(
            {{"layer", head.at.layer}, {"head", head.at.head}, {"aligned", rounded(head.aligned)}});
    return {{"translation",
             {{"pairs", scores.pairs},
              {"seed", card_seed},
              {"right", rounded(scores.right)},
              {"combining", rounded(scores.combining)}}},
            {"heads", heads}};
}

std::string card_of(const Translator& translator, const TranslationScores& scores,
                    const std::string& recipe) {
    const ModelConfig& config = translator.config;
    std::string text = "---\n";
    if (!recipe.empty()) text += "license: mit\nlanguage: [en, fr]\n";
    text += "library_name: transformers\npipeline_tag: translation\n---\n\n# A small translator\n\n";
    text += "A T5 of " + std::to_string(config.layers) + " + " + std::to_string(config.decoder_layers) +
            " layers, " + std::to_string(config.heads) + " heads and " + std::to_string(config.d_model) +
            " components, " + std::to_string(translator.layout.count()) + " parameters and a vocabulary of " +
            std::to_string(config.vocab_size) + " words, English and French together.";
    if (!recipe.empty())
        text +=
            " Attention Explorer trained it with its own kernels (`attn train`) on pairs of sentences of its "
            "own "
            "seeded grammar, so that its cross-attention can be looked at. It knows these words and no "
            "others.";
    text +=
        "\n\nThis card is written by `attn card`, which measures what it says; `scores.json` holds the same "
        "numbers.\n\n| measured | |\n| --- | --- |\n";
    text += "| translated word by word as the grammar does, of " + std::to_string(scores.pairs) +
            " held-out pairs | " + percent(scores.right) + " |\n";
    text += "| words aligned as by the grammar, cross head " +
            name(scores.best.at.layer, scores.best.at.head) + " | " + percent(scores.best.aligned) + " |\n\n";
    text +=
        "The pairs (seed " + std::to_string(card_seed) + ") are in no training batch; " +
        percent(scores.combining) +
        " of them combine an adjective with a noun, or a noun with a verb, as no pair of any batch does. The "
        "likeliest token is taken each time. A French word is aligned if the strongest weight of the row "
        "that "
        "writes it is on an English word that it comes from, a full stop not counted; the grammar's own "
        "translation is read.";
    if (!recipe.empty()) text += " Nothing in the loss asked for it.";
    text += "\n\n| cross head | aligned |\n| --- | --- |\n";
    for (const TranslationScores::Head& head : scores.heads)
        text += "| " + name(head.at.layer, head.at.head) + " | " + percent(head.aligned) + " |\n";
    if (!recipe.empty()) text += "\nThe recipe:\n\n```json\n" + recipe + "```\n";
    return text;
}

}  // namespace

Result<bool> is_translator(const std::string& folder) {
    const auto bytes = read_file(folder + "/config.json");
    if (!bytes) return bytes.error();
    const auto config = parse_json(*bytes, "config.json");
    if (!config) return config.error();
    return config->is_object() && config->value("model_type", nlohmann::json()) == "t5";
}

Status write_translation_card(const std::string& folder, const std::string& recipe) {
    const auto translator = load_translator(folder);
    if (!translator) return translator.error();
    const PieceVocabulary vocabulary;
    if (translator->config.vocab_size != vocabulary.size())
        return Error{folder + " has a vocabulary of " + std::to_string(translator->config.vocab_size) +
                     " tokens; only translators of the generated pairs can be measured, which have " +
                     std::to_string(vocabulary.size())};
    const EncoderDecoder network(translator->config, translator->layout);
    const TranslationScores scores = score_translations(network, translator->parameters, vocabulary,
                                                        held_out_translations(card_pairs, card_seed));
    const std::string written = scores_json(scores).dump(1) + "\n",
                      card = card_of(*translator, scores, recipe);
    std::fwrite(card.data(), 1, card.find("\nThe pairs"), stdout);
    if (auto status = write_file(folder + "/scores.json", std::as_bytes(std::span(written))); !status)
        return status;
    return write_file(folder + "/README.md", std::as_bytes(std::span(card)));
}

}  // namespace attn
