#include "app/all_heads.hpp"

#include "app/map_source.hpp"

namespace attn::app {

AllHeads all_heads(const SentenceRun& run, const MapChoice& choice, const std::string& model) {
    const auto& layers = run.trace->layers();
    const bool of_words = takes_words(choice) && run.words.merges();
    const AllHeads::Axis axis{run.pieces, of_words ? &run.words : nullptr};
    return {.map =
                [trace = run.trace, choice, words = of_words ? run.words.tokens : std::vector<Range>{}](
                    Index layer, Index head) {
                    return words.empty() ? map_of(trace, layer, head, choice.stage, choice.sink)
                                         : word_map_of(trace, layer, head, words, choice.sink);
                },
            .layers = std::ssize(layers),
            .heads = layers[0].attention.heads(),
            .choice = choice,
            .queries = axis,
            .keys = axis,
            .ids = run.trace->ids(),
            .source = {{"model", model}},
            .instead = "save one head's window, or shorten the text"};
}

AllHeads all_heads(const TensorSet& set, const MapChoice& choice) {
    MapChoice shown = choice;
    shown.stage = set.stage_for(choice.stage);
    std::map<std::string, std::string> source{{"from", set.title()}};
    if (const auto& rule = set.rule()) {
        source["causal"] = causal_names[static_cast<std::size_t>(rule->causal)];
        source["scale"] = scale_names[rule->scale_by_sqrt_d ? 0 : 1];
    }
    const auto axis = [&](const std::vector<std::string>& tokens, const WordAxis& words) {
        return AllHeads::Axis{tokens, set.shows_words(choice) && !tokens.empty() ? &words : nullptr};
    };
    return {.map = set.maps(choice),
            .layers = set.layers(),
            .heads = set.heads(),
            .choice = shown,
            .queries = axis(set.query_tokens(), set.query_words()),
            .keys = axis(set.key_tokens(), set.key_words()),
            .source = std::move(source),
            .instead = "save one head's window"};
}

}  // namespace attn::app
