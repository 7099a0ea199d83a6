#include "lenses/scale/state.hpp"

#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, 2> vector_keys{"normal", "head"};

constexpr std::array hundred_scores{100.0, 1.0, 1.0, 1.0}, two_scores{2.0, 0.5, 0.5, 0.5};
constexpr std::array ninety_scores{90.0, 10.0};
constexpr std::array<std::string_view, 4> hundred_weights{"1.0", "0.0", "0.0", "0.0"},
    two_weights{"0.5", "0.17", "0.17", "0.17"};
constexpr std::array<std::string_view, 2> ninety_weights{"0.95", "0.05"};
constexpr std::string_view heart = "Attention: The Heart of Transformers",
                           search = "L03 - Self-Attention: The Search Engine of Language";
constexpr std::array printed_rows{
    PrintedRow{"100", "100, 1, 1, 1", heart, hundred_scores, hundred_weights},
    PrintedRow{"2", "2, 0.5, 0.5, 0.5", heart, two_scores, two_weights},
    PrintedRow{"90", "90, 10", search, ninety_scores, ninety_weights},
};
constexpr std::array<std::string_view, 4> row_keys{"seeded", printed_rows[0].key, printed_rows[1].key,
                                                   printed_rows[2].key};

ScaleState seeded(ScaleState now, Index components) {
    now.vectors = ScaleVectors::normal;
    now.components = components;
    now.row = ScaleRow::seeded;
    return now;
}
ScaleState printed(ScaleState now, ScaleRow row) {
    now.vectors = ScaleVectors::normal;
    now.row = row;
    return now;
}

template <std::size_t n>
std::string_view key_of(const std::array<std::string_view, n>& keys, auto value) {
    return keys[static_cast<std::size_t>(value)];
}

constexpr LinkRow scale_rows[] = {
    // "64", "20,head", "64,normal,7": components, vectors, seed.
    {"scale.d", "a number of components from 1 to 4,096, and normal or head, and a seed, as 64,normal,7",
     [](State& s, const std::string& value) {
         const auto parts = split(value, ',');
         const auto components = read_integer<Index>(parts[0]);
         const auto vectors = parts.size() > 1 ? index_of(vector_keys, parts[1]) : 0;
         const auto seed = parts.size() > 2 ? read_integer<std::uint32_t>(parts[2]) : ScaleState{}.seed;
         if (!components || !vectors || !seed || parts.size() > 3) return false;
         ScaleState scale = s.of<ScaleState>();
         scale.vectors = static_cast<ScaleVectors>(*vectors);
         scale.components = *components;
         scale.seed = *seed;
         return take(s, SetScale{scale});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const ScaleState &scale = s.of<ScaleState>(), usual;
         const bool other_seed = scale.seed != usual.seed;
         if (scale.vectors == usual.vectors && scale.components == usual.components && !other_seed)
             return std::nullopt;
         std::string text = std::to_string(scale.components);
         if (scale.vectors != usual.vectors || other_seed)
             text.append(",").append(key_of(vector_keys, scale.vectors));
         if (other_seed) text += "," + std::to_string(scale.seed);
         return text;
     }},
    // "90", "seeded,16": the row and how many keys a seeded one has.
    {"scale.row", "seeded, 100, 2 or 90, and a number of keys from 2 to 64, as seeded,16",
     [](State& s, const std::string& value) {
         const auto parts = split(value, ',');
         const auto row = index_of(row_keys, parts[0]);
         const auto keys = parts.size() > 1 ? read_integer<Index>(parts[1]) : ScaleState{}.keys;
         if (!row || !keys || parts.size() > 2) return false;
         ScaleState scale = s.of<ScaleState>();
         scale.row = static_cast<ScaleRow>(*row);
         scale.keys = *keys;
         return take(s, SetScale{scale});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const ScaleState &scale = s.of<ScaleState>(), usual;
         if (scale.row == usual.row && scale.keys == usual.keys) return std::nullopt;
         std::string text(key_of(row_keys, scale.row));
         if (scale.keys != usual.keys) text += "," + std::to_string(scale.keys);
         return text;
     }},
    {"scale.own", "a scale from 0.0001 to 10",
     [](State& s, const std::string& value) {
         const auto own = read_number(value);
         if (!own) return false;
         ScaleState scale = s.of<ScaleState>();
         scale.own = *own;
         return take(s, SetScale{scale});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const double own = s.of<ScaleState>().own;
         return own == ScaleState{}.own ? std::nullopt : std::optional(shortest(own));
     }},
};

}  // namespace

LinkRows scale_links() { return {scale_rows}; }

const PrintedRow* printed_row(ScaleRow row) {
    return row == ScaleRow::seeded ? nullptr : &printed_rows[static_cast<std::size_t>(row) - 1];
}

std::span<const ScalePreset> scale_presets() {
    static constexpr std::array presets{
        ScalePreset{"d_k = 1", [](ScaleState now) { return seeded(now, 1); }},
        ScalePreset{"d_k = 64", [](ScaleState now) { return seeded(now, 64); }},
        ScalePreset{"d_k = 512", [](ScaleState now) { return seeded(now, 512); }},
        ScalePreset{"100, 1, 1, 1", [](ScaleState now) { return printed(now, ScaleRow::hundred); }},
        ScalePreset{"2, 0.5, 0.5, 0.5", [](ScaleState now) { return printed(now, ScaleRow::two); }},
        ScalePreset{"90, 10", [](ScaleState now) { return printed(now, ScaleRow::ninety); }},
    };
    return presets;
}

Status SetScale::apply(State& state) const {
    if (scale.components < 1 || scale.components > scale_components_limit)
        return Error{"Vectors here have 1 to " + with_commas(scale_components_limit) + " components."};
    if (scale.keys < scale_least_keys || scale.keys > scale_most_keys)
        return Error{"A seeded row has " + std::to_string(scale_least_keys) + " to " +
                     std::to_string(scale_most_keys) + " keys."};
    if (!(scale.own >= scale_least_own && scale.own <= scale_most_own))
        return Error{"A scale of your own is from " + fixed(scale_least_own, 4) + " to " +
                     shortest(scale_most_own) + "."};
    state.edit<ScaleState>() = scale;
    return ok();
}

std::string SetScale::describe(const State& before) const {
    const ScaleState& was = before.of<ScaleState>();
    if (scale.vectors != was.vectors)
        return scale.vectors == ScaleVectors::head ? "vectors of this head" : "seeded vectors";
    if (const PrintedRow* row = printed_row(scale.row); row && scale.row != was.row)
        return "scores " + std::string(row->scores_text);
    if (scale.keys != was.keys) return many(scale.keys, "key");
    if (scale.own != was.own) return "own scale " + shortest(scale.own);
    if (scale.seed != was.seed) return "seed " + std::to_string(scale.seed);
    return "d_k " + std::to_string(scale.components);
}

}  // namespace attn::app
