#include "parts/all_heads.hpp"

namespace attn::parts {

AllHeads all_heads(const app::Attention& attention, const app::MapChoice& choice) {
    app::MapChoice shown = choice;
    shown.stage = attention.stage_for(choice.stage);
    const bool words = attention.shows_words(shown);
    const auto axis = [&](std::span<const std::string> tokens, const WordAxis& axis_words) {
        return AllHeads::Axis{tokens, words && !tokens.empty() ? &axis_words : nullptr};
    };
    return {.map = attention.maps(shown),
            .layers = attention.layers(),
            .heads = attention.heads(),
            .choice = shown,
            .queries = axis(attention.query_tokens(), attention.query_words()),
            .keys = axis(attention.key_tokens(), attention.key_words()),
            .ids = attention.ids(),
            .source = attention.source(),
            .instead = attention.instead()};
}

}  // namespace attn::parts
