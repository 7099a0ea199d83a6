#include "subjects/worked/presets.hpp"

#include <algorithm>
#include <array>

#include "subjects/worked/numpy_random.hpp"

namespace attn::app {

namespace {

using enum Stage;

// Titles of the tutorials.
constexpr std::string_view heart = "Attention: The Heart of Transformers",
                           step_by_step = "What is Attention? Step-by-Step Explanation",
                           tutorial_02 = "Tutorial 02: Attention Mechanism";

constexpr std::array<PresetInfo, 8> preset_list{{
    {PresetId::cat_sat_mat, "cat-sat-mat", "A", heart, "cat · sat · mat  (3×4)",
     "What does each word look for, and what does it find?",
     "Three words of four numbers. The projections are the identity, so Q, K and V equal X: change one of "
     "them and see."},
    {PresetId::three_tokens, "three-tokens", "B", tutorial_02, "three tokens  (d_k 2, d_v 3)",
     "What is attention when the numbers are small enough for a pencil?",
     "Q and K are the same three vectors. The third token points both ways, so its row of scores is the "
     "largest."},
    {PresetId::hello_query, "hello-query", "C1", step_by_step, "Hello World: one query",
     "Where does \"Hello\" look?",
     "One query against two keys. The scores nearly agree, so the weights are about one half each."},
    {PresetId::hello_scores, "hello-scores", "C2", step_by_step, "Hello World: from scores",
     "How do scores become weights?",
     "Here the scores are given. Raise one and watch its row share the rest."},
    {PresetId::causal_row, "causal-row", "D", heart, "one causal row",
     "What changes when the future is hidden?",
     "Position 2 may not look at position 3. Its highest score is hidden, and the rest share the row."},
    {PresetId::saturation, "saturation", "E", heart, "saturation", "What happens when scores are large?",
     "A row with one large score leaves nothing to the others. Dot products of d_k standard normal numbers "
     "have variance d_k, which is why attention divides by √d_k. Raise the temperature to soften the row."},
    {PresetId::information_flow, "information-flow", "F", heart, "information flow  (3×3 scores)",
     "Who listens to whom in \"The cat sat\"?",
     "The scores of a figure that many tutorials show, with the weights that really follow from them."},
    {PresetId::seeded_normal, "seeded-normal", "G", heart, "random Q, K, V  (4×8, seed 42)",
     "What does attention do to vectors that know nothing?",
     "Standard normal numbers, numpy.random.seed(42) as in the tutorial's demo. Set the mask to causal and "
     "compare."},
}};

// Cells whose exact value, rounded to the printed digits, differs from the printed one.
constexpr Printed cat_printed[] = {
    {raw, 1, 2, 0.65, "0.65"},      {raw, 2, 1, 0.65, "0.65"},      {scaled, 1, 2, 0.325, "0.325"},
    {scaled, 2, 1, 0.325, "0.325"}, {weight, 1, 0, 0.384, "0.384"}, {weight, 1, 1, 0.377, "0.377"},
    {weight, 1, 2, 0.239, "0.239"}, {weight, 2, 0, 0.389, "0.389"}, {weight, 2, 1, 0.269, "0.269"},
    {weight, 2, 2, 0.342, "0.342"}, {output, 0, 1, 0.530, "0.530"}, {output, 0, 3, 0.546, "0.546"},
    {output, 1, 0, 0.644, "0.644"}, {output, 1, 1, 0.529, "0.529"}, {output, 1, 2, 0.279, "0.279"},
    {output, 1, 3, 0.538, "0.538"}, {output, 2, 0, 0.666, "0.666"}, {output, 2, 1, 0.477, "0.477"},
    {output, 2, 2, 0.330, "0.330"}, {output, 2, 3, 0.543, "0.543"},
};
constexpr Printed three_tokens_printed[] = {
    {weight, 0, 0, 0.38, "0.38"}, {weight, 0, 1, 0.24, "0.24"}, {weight, 0, 2, 0.38, "0.38"},
    {weight, 1, 0, 0.21, "0.21"}, {weight, 1, 1, 0.39, "0.39"}, {weight, 1, 2, 0.39, "0.39"},
    {weight, 2, 0, 0.26, "0.26"}, {weight, 2, 1, 0.26, "0.26"}, {weight, 2, 2, 0.48, "0.48"},
    {output, 0, 0, 4.3, "4.3"},   {output, 0, 1, 5.3, "5.3"},   {output, 0, 2, 6.3, "6.3"},
    {output, 1, 0, 5.5, "5.5"},   {output, 1, 1, 6.5, "6.5"},   {output, 1, 2, 7.5, "7.5"},
    {output, 2, 0, 5.7, "5.7"},   {output, 2, 1, 6.7, "6.7"},   {output, 2, 2, 7.7, "7.7"},
};
constexpr Printed hello_query_printed[] = {
    {weight, 0, 0, 0.499, "0.499"},
    {weight, 0, 1, 0.501, "0.501"},
};
constexpr Printed hello_scores_printed[] = {
    {weight, 0, 0, 0.62, "0.62"},   {weight, 0, 1, 0.38, "0.38"},   {weight, 1, 0, 0.40, "0.40"},
    {weight, 1, 1, 0.60, "0.60"},   {output, 0, 0, 0.146, "0.146"}, {output, 0, 1, 0.108, "0.108"},
    {output, 0, 2, 0.192, "0.192"}, {output, 1, 0, 0.144, "0.144"}, {output, 1, 1, 0.112, "0.112"},
    {output, 1, 2, 0.188, "0.188"},
};
constexpr Printed causal_row_printed[] = {
    {weight, 0, 0, 0.28, "0.28"},
    {weight, 0, 1, 0.41, "0.41"},
    {weight, 0, 2, 0.31, "0.31"},
};
constexpr Printed saturation_printed[] = {
    {weight, 1, 0, 0.5, "0.5"},
    {weight, 1, 1, 0.17, "0.17"},
    {weight, 1, 2, 0.17, "0.17"},
    {weight, 1, 3, 0.17, "0.17"},
};
constexpr Printed information_flow_printed[] = {
    {weight, 0, 0, 0.50, "0.50"}, {weight, 0, 1, 0.30, "0.30"}, {weight, 0, 2, 0.20, "0.20"},
    {weight, 1, 0, 0.20, "0.20"}, {weight, 1, 1, 0.50, "0.50"}, {weight, 1, 2, 0.30, "0.30"},
    {weight, 2, 0, 0.15, "0.15"}, {weight, 2, 1, 0.45, "0.45"}, {weight, 2, 2, 0.40, "0.40"},
};

void label(WorkedState& state, std::vector<std::string> queries, std::vector<std::string> keys) {
    state.query_labels = std::move(queries);
    state.key_labels = std::move(keys);
}

void set_qkv(WorkedState& state, Matrix q, Matrix k, Matrix v) {
    state.source = Source::qkv;
    state.q = std::move(q);
    state.k = std::move(k);
    state.v = std::move(v);
}

void set_scores(WorkedState& state, Matrix scores, Matrix v = {}) {
    state.source = Source::scores;
    state.scores = std::move(scores);
    state.v = std::move(v);
    state.scale_by_sqrt_d = false;
}

}  // namespace

std::span<const PresetInfo> presets() { return preset_list; }

const PresetInfo& info(PresetId id) { return *std::ranges::find(preset_list, id, &PresetInfo::id); }

std::optional<PresetId> preset_by_key(std::string_view key) {
    const auto found = std::ranges::find(preset_list, key, &PresetInfo::key);
    if (found == preset_list.end()) return std::nullopt;
    return found->id;
}

WorkedState preset_state(PresetId id) {
    WorkedState state;
    state.preset = id;
    switch (id) {
        case PresetId::cat_sat_mat:
            state.source = Source::projections;
            state.x = {3, 4, {1.0, 0.5, 0.2, 0.8, 0.3, 0.9, 0.1, 0.4, 0.6, 0.2, 0.7, 0.3}};
            state.w_q = state.w_k = state.w_v = identity(4, 4);
            label(state, {"cat", "sat", "mat"}, {"cat", "sat", "mat"});
            break;
        case PresetId::three_tokens:
            set_qkv(state, {3, 2, {1, 0, 0, 1, 1, 1}}, {3, 2, {1, 0, 0, 1, 1, 1}},
                    {3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}});
            label(state, {"t0", "t1", "t2"}, {"t0", "t1", "t2"});
            break;
        case PresetId::hello_query:
            set_qkv(state, {1, 3, {0.2, -0.1, 0.3}}, {2, 3, {0.1, 0.2, -0.1, 0.12, 0.19, -0.08}},
                    {2, 3, {0.15, 0.1, 0.2, 0.14, 0.12, 0.18}});
            label(state, {"Hello"}, {"Hello", "World"});
            break;
        case PresetId::hello_scores:
            set_scores(state, {2, 2, {0.5, 0.3, 0.4, 0.6}}, {2, 3, {0.15, 0.1, 0.2, 0.14, 0.12, 0.18}});
            label(state, {"Hello", "World"}, {"Hello", "World"});
            break;
        case PresetId::causal_row:
            set_scores(state, {1, 4, {0.5, 0.8, 0.3, 0.9}});
            state.mask.kind = WorkedMask::Kind::causal;
            state.mask.offset = 2;
            label(state, {"pos 2"}, {"pos 0", "pos 1", "pos 2", "pos 3"});
            break;
        case PresetId::saturation:
            set_scores(state, {2, 4, {100, 1, 1, 1, 2, 0.5, 0.5, 0.5}});
            label(state, {"large", "small"}, {"k0", "k1", "k2", "k3"});
            break;
        case PresetId::information_flow:
            set_scores(state, {3, 3, {0.8, 0.3, 0.2, 0.2, 0.7, 0.3, 0.1, 0.6, 0.5}});
            label(state, {"The", "cat", "sat"}, {"The", "cat", "sat"});
            break;
        case PresetId::seeded_normal:
            generate_qkv(state, {Origin::Kind::generated, 42, 4, 4, 8, 8});
            label(state, {"t0", "t1", "t2", "t3"}, {"t0", "t1", "t2", "t3"});
            break;
    }
    return state;
}

void generate_qkv(WorkedState& worked, const Origin& origin) {
    worked.clear_matrices();
    worked.source = Source::qkv;
    worked.q = Matrix(origin.queries, origin.d_k);
    worked.k = Matrix(origin.keys, origin.d_k);
    worked.v = Matrix(origin.keys, origin.d_v);
    NumpyRandom random(origin.seed);
    for (Matrix* m : {&worked.q, &worked.k, &worked.v})
        for (double& value : m->values) value = random.normal();
    worked.origin = origin;
}

WorkedState origin_state(const WorkedState& worked) {
    WorkedState state = preset_state(worked.preset);
    if (state.origin == worked.origin) return state;
    switch (worked.origin.kind) {
        case Origin::Kind::preset: break;
        case Origin::Kind::generated: generate_qkv(state, worked.origin); break;
        case Origin::Kind::entered:
        case Origin::Kind::taken:
            state.clear_matrices();
            state.source = worked.source;
            state.origin = worked.origin;
            break;
    }
    return state;
}

std::span<const Printed> printed_values(PresetId id) {
    switch (id) {
        case PresetId::cat_sat_mat: return cat_printed;
        case PresetId::three_tokens: return three_tokens_printed;
        case PresetId::hello_query: return hello_query_printed;
        case PresetId::hello_scores: return hello_scores_printed;
        case PresetId::causal_row: return causal_row_printed;
        case PresetId::saturation: return saturation_printed;
        case PresetId::information_flow: return information_flow_printed;
        case PresetId::seeded_normal: return {};
    }
    return {};
}

std::span<const Printed> misprints(const WorkedState& worked) {
    const auto all = printed_values(worked.preset);
    if (all.empty()) return {};
    WorkedState tutorial = preset_state(worked.preset);
    tutorial.query_labels = worked.query_labels;
    tutorial.key_labels = worked.key_labels;
    return worked == tutorial ? all : std::span<const Printed>();
}

const Printed* printed_value(std::span<const Printed> misprints, const RunCell& cell) {
    const auto found = std::ranges::find_if(
        misprints, [&](const Printed& p) { return RunCell{p.stage, p.row, p.col} == cell; });
    return found == misprints.end() ? nullptr : &*found;
}

Introduction introduction(const WorkedState& worked) {
    const PresetInfo& example = info(worked.preset);
    if (worked == preset_state(worked.preset))
        return {std::string(example.question), std::string(example.story)};
    switch (worked.origin.kind) {
        case Origin::Kind::preset:
            return {"What follows from your changes?",
                    "Example " + std::string(example.letter) +
                        ", changed by you. A double click puts an input back."};
        case Origin::Kind::generated: {
            const WorkedState drawn = origin_state(worked);
            const bool as_drawn = std::ranges::all_of(
                inputs_of(Source::qkv), [&](Stage id) { return *worked.stored(id) == *drawn.stored(id); });
            return {"What does attention do to random numbers?",
                    "Standard normal numbers, those of numpy.random.seed(" +
                        std::to_string(worked.origin.seed) + ")" + (as_drawn ? "." : ", changed by you.")};
        }
        case Origin::Kind::entered:
            return {"What follows from your numbers?", "Everything below the inputs is computed from them."};
        case Origin::Kind::taken:
            return {"What if these numbers were others?",
                    "Taken from " + worked.origin.from + "; what you change here changes nothing there."};
    }
    return {};
}

}  // namespace attn::app
