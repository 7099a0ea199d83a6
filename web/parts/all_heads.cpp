#include "parts/all_heads.hpp"

namespace attn::parts {

AllHeads all_heads(const app::Attention& attention, const app::MapChoice& choice) {
    app::MapChoice shown = choice;
    shown.stage = attention.stage_for(choice.stage);
    const auto axis = [&](std::span<const std::string> tokens, const ShownAxis& axis) {
        return AllHeads::Axis{tokens, tokens.empty() ? nullptr : axis.units};
    };
    const Range alike = attention.alike();
    std::map<std::string, std::string> source = attention.source();
    if (alike.size() < attention.layers())
        source["layers"] =
            attention.numbering().name(alike.begin) + " to " + attention.numbering().name(alike.end - 1);
    return {.map = [map = attention.maps(shown), first = alike.begin](
                       Index layer, Index head) { return map(first + layer, head); },
            .layers = alike.size(),
            .heads = attention.heads(),
            .choice = shown,
            .queries = axis(attention.query_tokens(), attention.query_axis(shown)),
            .keys = axis(attention.key_tokens(), attention.key_axis(shown)),
            .ids = attention.ids(),
            .source = std::move(source),
            .instead = attention.instead()};
}

}  // namespace attn::parts
