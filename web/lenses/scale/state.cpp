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

}  // namespace

const Fields<ScaleState>& ScaleState::fields() {
    using S = ScaleState;
    static const Field<S> all[]{
        {"scale.d",
         [](const S& s) {
             return s.vectors == ScaleVectors::head
                        ? "vectors of this head"
                        : "d_k " + std::to_string(s.components) + ", seed " + std::to_string(s.seed);
         },
         whole<&S::components>("number of components", 1, scale_components_limit),
         named<&S::vectors>(vector_keys), whole<&S::seed>("seed", 0, seed_limit)},
        {"scale.row",
         [](const S& s) {
             const PrintedRow* row = printed_row(s.row);
             return row ? "scores " + std::string(row->scores_text) : many(s.keys, "key");
         },
         named<&S::row>(row_keys), whole<&S::keys>("number of keys", scale_least_keys, scale_most_keys)},
        {"scale.own", "own scale {}", real<&S::own>("scale of your own", scale_least_own, scale_most_own)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows scale_links() { return {rows_of_fields<ScaleState, 3>()}; }

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

}  // namespace attn::app
