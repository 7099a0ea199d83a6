#include "analysis/check/verdict.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <map>

#include "analysis/check/case_reading.hpp"
#include "analysis/check/hard_case.hpp"
#include "support/planted_case.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

constexpr std::array planted_shapes{PlantedShape{1, 4, 4, 7, 7, 8},    PlantedShape{2, 4, 2, 5, 9, 8},
                                    PlantedShape{2, 2, 2, 12, 12, 16}, PlantedShape{1, 8, 2, 16, 16, 8},
                                    PlantedShape{3, 2, 2, 6, 6, 6},    PlantedShape{1, 4, 2, 6, 37, 15},
                                    PlantedShape{2, 3, 3, 19, 19, 6},  PlantedShape{1, 6, 3, 10, 10, 10}};

// What a case must have for a mistake to show.
CaseParts parts_for(std::string_view key, std::size_t shape) {
    CaseParts parts;
    const bool odd = shape % 2 == 1;
    parts.causal = key.starts_with("causal") && key != "causal_added";
    if (key.starts_with("mask") || key == "softcap_after_mask") parts.painted = true;
    if (key == "mask_value_finite") parts.empty_row = true;
    if (key.starts_with("empty_rows")) parts.empty_row = true;
    if (key == "padding_ignored") parts.padding = true, parts.causal = odd;
    if (key == "bias_left_out") parts.bias = !odd, parts.projected = odd;
    if (key.starts_with("softcap")) parts.softcap = true;
    if (key.starts_with("window")) parts.window = parts.causal = true;
    if (key.starts_with("rope_") && key != "rope_halves") parts.rope = true;
    if (key == "heads_merged_without_transpose" || key == "qkv_order_swapped") parts.projected = odd;
    return parts;
}

const RoundingLevel& level(std::string_view key) {
    return *std::ranges::find(rounding_levels(), key, &RoundingLevel::key);
}

struct Count {
    int named = 0, told = 0;
};

}  // namespace

TEST_CASE("a planted mistake is named first, in every shape and precision", "[analysis]") {
    const std::array levels{level("f32"), level("tf32"), level("f16_stored_scores"), level("bf16_f32_sums")};
    std::map<std::string_view, Count> counts;
    int named = 0, told = 0;
    for (std::size_t m = 0; m < mistakes().size(); ++m)
        for (std::size_t s = 0; s < planted_shapes.size(); ++s) {
            const Mistake& mistake = mistakes()[m];
            const RoundingLevel& in = levels[(m + s) % levels.size()];
            AttentionCase c = random_case(planted_shapes[s], parts_for(mistake.key, s), in.precision,
                                          static_cast<std::uint32_t>(m * 100 + s));
            const auto variants = mistake.variants(c);
            if (variants.empty()) continue;
            Implementation how = right_implementation(c);
            variants[s % variants.size()].apply(how);
            compute_output(c, how, in.precision, false);
            const Diagnosed found = diagnose({c});
            const Verdict& verdict = found.verdict;
            CAPTURE(mistake.key, s, in.key, sentence(verdict));
            // The data tell it if it is neither invisible nor the same as another.
            const bool same = std::ranges::any_of(
                verdict.alternatives, [&](const NamedCause& each) { return each.mistake == &mistake; });
            const bool invisible =
                verdict.kind == Verdict::Kind::right || verdict.kind == Verdict::Kind::rounding;
            if (same || invisible) {
                if (invisible) CHECK(verdict.difference < 0.05);
                continue;
            }
            ++told;
            ++counts[mistake.key].told;
            const bool right = verdict.kind == Verdict::Kind::mistake && verdict.causes.size() == 1 &&
                               verdict.causes.front().mistake == &mistake;
            named += right;
            counts[mistake.key].named += right;
            // A confident verdict is never wrong.
            CHECK((right || !verdict.confident));
        }
    for (const auto& [key, count] : counts) UNSCOPED_INFO(key << ' ' << count.named << " of " << count.told);
    CHECK(told > 200);
    CHECK(named >= 0.95 * told);
}

TEST_CASE("right implementations are never accused, in any precision", "[analysis]") {
    for (const RoundingLevel& in : rounding_levels())
        for (std::size_t s = 0; s < planted_shapes.size(); ++s) {
            CaseParts parts{.projected = s % 3 == 0,
                            .painted = s % 2 == 0,
                            .causal = s % 4 == 1,
                            .padding = s % 4 == 2,
                            .bias = s % 5 == 0,
                            .softcap = s % 4 == 3,
                            .rope = s % 3 == 1,
                            .empty_row = s % 2 == 0,
                            .weights = s % 2 == 1};
            AttentionCase c =
                random_case(planted_shapes[s], parts, in.precision, static_cast<std::uint32_t>(s));
            compute_output(c, right_implementation(c), in.precision, parts.weights);
            const Verdict verdict = diagnose({c}).verdict;
            CAPTURE(in.key, s, sentence(verdict));
            CHECK(!verdict.wrong());
            CHECK((verdict.kind == Verdict::Kind::right) ==
                  (verdict.level == &rounding_levels()[exact_level]));
            CHECK(verdict.causes.empty());
        }
}

TEST_CASE("two mistakes are named together", "[analysis]") {
    const PlantedShape shape{2, 4, 2, 9, 9, 8};
    AttentionCase c = random_case(shape, {.causal = true}, {}, 3);
    Implementation how = right_implementation(c);
    how.scale = 1;
    how.merge_transposed = false;
    compute_output(c, how, level("f32").precision, false);
    const Verdict verdict = diagnose({c}).verdict;
    REQUIRE(verdict.causes.size() == 2);
    CHECK(verdict.causes[0].mistake->key == "heads_merged_without_transpose");
    CHECK(verdict.causes[1].mistake->key == "scale_missing");
    REQUIRE(verdict.first_wrong);
    CHECK(std::abs(verdict.first_wrong->theirs - verdict.first_wrong->right) > 1e-3);
}

TEST_CASE("dropout is recognised by its pattern, from weights and from outputs", "[analysis]") {
    std::mt19937 random(5);
    for (const bool returned : {true, false})
        for (const double p : {0.1, 0.5}) {
            AttentionCase c = random_case({2, 2, 2, 12, 12, 16}, {}, {}, 8);
            ImplementationRun right(c, right_implementation(c));
            Array4 output(2, 1, 12, 32), weights(2, 2, 12, 12);
            std::bernoulli_distribution dropped(p);
            for (Index b = 0; b < 2; ++b)
                for (Index h = 0; h < 2; ++h)
                    for (Index i = 0; i < 12; ++i) {
                        std::vector<double> w = right.weights_row(b, h, i);
                        for (double& x : w) x = dropped(random) ? 0 : x / (1 - p);
                        std::ranges::copy(w, weights.row(b, h, i).begin());
                        for (Index j = 0; j < 12; ++j)
                            for (Index a = 0; a < 16; ++a)
                                output.row(b, 0, i)[static_cast<std::size_t>(h * 16 + a)] +=
                                    w[static_cast<std::size_t>(j)] *
                                    c.v.row(b, h, j)[static_cast<std::size_t>(a)];
                    }
            c.output = output;
            if (returned) c.weights = weights;
            const Verdict verdict = diagnose({c}).verdict;
            CAPTURE(returned, p, sentence(verdict));
            CHECK(verdict.key() == dropout_key);
            CHECK(verdict.confident);
            CHECK(std::abs(verdict.dropout - p) < 0.02);
        }
}

TEST_CASE("data that cannot show a mistake say so", "[analysis]") {
    AttentionCase c = random_case({1, 1, 1, 5, 5, 4}, {.causal = true}, {}, 2);
    compute_output(c, right_implementation(c), level("f32").precision, false);
    const Verdict verdict = diagnose({c}).verdict;
    CHECK(verdict.kind == Verdict::Kind::right);
    const auto invisible = [&](std::string_view key) {
        return std::ranges::any_of(verdict.invisible, [&](const Mistake* each) { return each->key == key; });
    };
    CHECK(invisible("scale_d_model"));  // one head: d_model is d_k
    CHECK(!invisible("causal_strict"));
    CHECK(open_questions(verdict).find("more than one head") != std::string::npos);

    // Grouped and ungrouped scales agree where heads · d_k is d_k².
    AttentionCase tie = random_case({1, 4, 4, 6, 6, 4}, {}, {}, 2);
    Implementation how = right_implementation(tie);
    how.scale = 0.25;
    compute_output(tie, how, level("f32").precision, false);
    const Verdict either = diagnose({tie}).verdict;
    CHECK(either.key() == "scale_d_model");
    CHECK(!either.confident);
    CHECK(either.alternatives.size() == 2);
}

TEST_CASE("an unknown error is not explained away", "[analysis]") {
    AttentionCase c = random_case({1, 2, 2, 8, 8, 8}, {}, {}, 4);
    compute_output(c, right_implementation(c), level("f32").precision, false);
    c.output.values[37] += 0.01;
    const Verdict verdict = diagnose({c}).verdict;
    CHECK(verdict.kind == Verdict::Kind::unknown);
    REQUIRE(verdict.first_wrong);
    CHECK(verdict.first_wrong->query == 37 / 16);
    CHECK(verdict.first_wrong->column == 37 % 16);
    c.output.values[3] = std::nan("");
    CHECK(diagnose({c}).verdict.not_numbers == 1);
}

TEST_CASE("a case of hard inputs leaves nothing invisible that its kind has", "[analysis]") {
    const std::vector<std::byte> file = hard_case(1);
    auto arrays = case_arrays({{"case.npz", file}});
    REQUIRE(arrays);
    CaseArray output{"output", DType::f32, {2, 29, 252}, std::vector<double>(std::size_t{2} * 29 * 252)};
    arrays->push_back(output);
    auto readings = read_case(*arrays);
    REQUIRE(readings);
    AttentionCase c = readings->front();
    CHECK(c.mask.causal == 137 - 29);
    REQUIRE(!c.mask.padding.empty());
    REQUIRE(!c.mask.painted.empty());
    ImplementationRun right(c, right_implementation(c));
    CHECK(right.is_empty(1, 0, 11));
    CHECK(!right.is_empty(1, 0, 12));
    for (const std::string_view key :
         {"heads_merged_without_transpose", "heads_split_without_transpose", "mask_inverted",
          "causal_top_left", "causal_strict", "padding_ignored", "kv_heads_tiled", "empty_rows_nan",
          "empty_rows_uniform", "tile_remainder_ignored"}) {
        CAPTURE(key);
        const auto variants = find_mistake(key)->variants(c);
        REQUIRE(!variants.empty());
        Implementation how = right_implementation(c);
        variants.front().apply(how);
        ImplementationRun run(c, how);
        bool differs = false;
        for (Index i = 0; i < c.queries() && !differs; ++i) {
            const auto off = difference(run.output_row(1, i), right.output_row(1, i));
            differs = off.largest > 1e-3 || off.not_numbers > 0;
        }
        CHECK(differs);
    }
}
