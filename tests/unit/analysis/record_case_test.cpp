// Tests cases made of Records: the right implementation of each gives the Record's numbers, and mistakes do
// what plain loops say.
#include "analysis/check/record_case.hpp"

#include "analysis/check/mistaken_head.hpp"
#include "analysis/check/mistakes.hpp"
#include "attention/mask_presets.hpp"
#include "model/head_projection.hpp"
#include "support/numbers.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> case_ids{3, 1, 4, 1, 5, 9, 2, 6};
// The kernels' sums of some ten products of numbers near 1 are this far from double.
constexpr double f32_error = 2e-5;

void check_right(const Record& record, const AttentionCase& given) {
    ImplementationRun run(given, right_implementation(given));
    for (Index h = 0; h < record.heads(); ++h)
        for (Index i = 0; i < record.queries(); ++i) {
            const std::vector<float> weights = record.weights(h, i);
            const std::vector<double> ours = run.weights_row(0, h, i);
            const auto output = run.merged_part(0, h, i);
            double off = 0;
            for (Index j = 0; j < record.keys(); ++j)
                off = std::max(off, std::abs(static_cast<double>(weights[static_cast<std::size_t>(j)]) -
                                             ours[static_cast<std::size_t>(j)]));
            CHECK(off < f32_error);
            for (Index b = 0; b < record.d_v(); ++b)
                off = std::max(off, std::abs(static_cast<double>(record.output().heads().head(h)(i, b)) -
                                             output[static_cast<std::size_t>(b)]));
            CHECK(off < f32_error);
        }
}

std::shared_ptr<const AttentionCase> shared_case(const Record& record) {
    auto made = case_of(record);
    REQUIRE(made);
    return std::make_shared<const AttentionCase>(std::move(made->given));
}
Record random_record(AttentionSpec spec, Index heads = 2, Index kv_heads = 2, Index n = 5) {
    auto record = Record::run(random_tensor({heads, n, 4}, 1), random_tensor({kv_heads, n, 4}, 2),
                              random_tensor({kv_heads, n, 4}, 3), std::move(spec));
    REQUIRE(record);
    return *std::move(record);
}

std::shared_ptr<MistakenHead> computed(const CheckedRows& rows, const Implementation& how) {
    auto head = std::make_shared<MistakenHead>(rows, how, std::make_shared<QueryReading>(rows, how.inputs));
    while (head->step()) continue;
    return head;
}
Implementation mistaken(const AttentionCase& given, std::string_view key, std::size_t variant = 0) {
    Implementation how = right_implementation(given);
    const auto variants = find_mistake(key)->variants(given);
    REQUIRE(variant < variants.size());
    variants[variant].apply(how);
    return how;
}

}  // namespace

TEST_CASE("the right implementation of a Record’s case gives its weights and output, in every family") {
    Index rotated = 0, stretched = 0;
    for (const SmallFamily& family : all_small_families()) {
        INFO(family.name);
        const auto run = run_text(small_model(family), case_ids);
        REQUIRE(run);
        const Trace& trace = **run;
        for (Index number = 0; number < trace.attentions(); ++number) {
            const LayerAttention attention = trace.attention(number);
            const Rotary* rotary = trace.network().rotary_of(number);
            const auto made = case_of(attention.record(), rotary);
            REQUIRE(made);
            check_right(attention.record(), made->given);
            CHECK(made->given.rope.has_value() == made->unrotated.empty());
            stretched += rotary && !made->given.rope;
            if (!made->given.rope) continue;
            ++rotated;
            const Index head = attention.record().heads() - 1;
            const Tensor q = rows_pre_rope(trace, Stage::q, number, head, {0, trace.tokens()});
            double off = 0;
            for (Index i = 0; i < trace.tokens(); ++i)
                for (Index a = 0; a < made->given.d_k(); ++a)
                    off = std::max(off, std::abs(static_cast<double>(q.heads().head(0)(i, a)) -
                                                 made->given.q.row(0, head, i)[static_cast<std::size_t>(a)]));
            CHECK(off < f32_error);
        }
    }
    CHECK(rotated > 20);
    CHECK(stretched > 0);
}

TEST_CASE("masks of a Record become causal, window, padding or painted, and biases and caps are kept") {
    const auto with = [](const Mask& mask) {
        AttentionSpec spec;
        spec.mask = mask;
        spec.softcap = 2;
        spec.bias.values = std::make_shared<const Tensor>(random_tensor({1, 1, 5}, 4));
        const Record record = random_record(spec);
        const auto made = case_of(record);
        REQUIRE(made);
        check_right(record, made->given);
        CHECK_FALSE(made->given.bias.empty());
        return made->given.mask;
    };
    CHECK(with({}).empty());
    CHECK(with(Mask::causal()).causal == 0);
    const CaseMask both = with(Mask::causal() & Mask::window(2, 0));
    CHECK(both.causal == 0);
    CHECK(both.window == CaseWindow{2, 0});
    CHECK(both.painted.empty());
    CHECK(with(Mask::padding(3)).padding.values == std::vector<double>{1, 1, 1, 0, 0});
    CHECK(with(Mask::prefix(2)).painted.heads == 1);
    CHECK_FALSE(with(Mask::causal(-1) | Mask::padding(1)).painted.empty());
    CHECK_FALSE(with(!Mask::window(1, 1) & Mask::causal()).painted.empty());
    PaintedBits bits{2, 5, 5, std::vector<std::uint8_t>(50, 1)};
    bits.allowed[7] = 0;
    CHECK(with(Mask::painted(bits)).painted.heads == 2);
}

TEST_CASE("a mistake’s rows and effects are those of plain loops") {
    AttentionSpec spec;
    spec.mask = Mask::causal();
    const Record record = random_record(spec);
    const auto given = shared_case(record);
    const CheckedRows rows{given, 1, {0, 5}, 3};
    const auto right = computed(rows, right_implementation(*given));

    // Not scaled: softmax of plain dot products.
    const auto unscaled = computed(rows, mistaken(*given, "scale_missing"));
    const auto q = record.q().heads().head(1), k = record.k().heads().head(1), v = record.v().heads().head(1);
    double most = 0, most_weight = 0;
    for (Index i = 0; i < 5; ++i) {
        std::vector<double> scores;
        double sum = 0;
        for (Index j = 0; j <= i; ++j) {
            double dot = 0;
            for (Index a = 0; a < 4; ++a) dot += static_cast<double>(q(i, a)) * static_cast<double>(k(j, a));
            most = std::max(most, std::abs(dot / 2));
            scores.push_back(dot);
            sum += std::exp(dot);
        }
        for (Index j = 0; j <= i; ++j) {
            const double weight = std::exp(scores[static_cast<std::size_t>(j)]) / sum;
            CHECK(unscaled->weights(i)[static_cast<std::size_t>(j)] == Catch::Approx(weight).epsilon(1e-12));
            most_weight =
                std::max(most_weight, std::abs(weight - right->weights(i)[static_cast<std::size_t>(j)]));
        }
    }
    const MistakeEffect effect = effect_of(*right, *unscaled);
    CHECK(effect.of(MistakeEffect::Of::score).change == Catch::Approx(most).epsilon(1e-12));
    CHECK(effect.of(MistakeEffect::Of::weight).change == Catch::Approx(most_weight).epsilon(1e-12));

    // ∂(r · O_i)/∂q_i = scale Σ_j w_j (r · v_j − r · O_i) k_j
    const std::vector<double> r = MistakenHead::gradient_weights(4);
    const auto gradient = [&](const MistakenHead& of, double scale) {
        std::vector<double> out(4);
        const auto along = [&](auto value) {
            double sum = 0;
            for (Index b = 0; b < 4; ++b) sum += r[static_cast<std::size_t>(b)] * value(b);
            return sum;
        };
        const double mean = along([&](Index b) { return of.output(3)[static_cast<std::size_t>(b)]; });
        for (Index j = 0; j < 5; ++j) {
            const double by = along([&](Index b) { return static_cast<double>(v(j, b)); }) - mean;
            for (Index a = 0; a < 4; ++a)
                out[static_cast<std::size_t>(a)] +=
                    scale * of.weights(3)[static_cast<std::size_t>(j)] * by * static_cast<double>(k(j, a));
        }
        return out;
    };
    for (const auto& [of, scale] : {std::pair{right, 0.5}, {unscaled, 1.0}}) {
        const std::vector<double> expected = gradient(*of, scale);
        // Central differences are off by step² / 6 times a third derivative, and by roundings / step.
        for (std::size_t a = 0; a < 4; ++a)
            CHECK(of->gradient()[a] == Catch::Approx(expected[a]).margin(1e-9));
    }

    // Merged without a transpose: number 8 i + 4 h + b of [heads, n, d].
    const auto merged = computed(rows, mistaken(*given, "heads_merged_without_transpose"));
    for (Index i = 0; i < 5; ++i)
        for (Index b = 0; b < 4; ++b)
            CHECK(merged->output(i)[static_cast<std::size_t>(b)] ==
                  Catch::Approx(
                      static_cast<double>(record.output().values()[static_cast<std::size_t>(8 * i + 4 + b)]))
                      .margin(f32_error));
    CHECK(effect_of(*right, *merged).of(MistakeEffect::Of::weight).change == 0);
    CHECK(effect_of(*right, *right).gradient == 0);
    // Query 3 reaches other rows than its own, so nothing of it is left in its gradient.
    CHECK(effect_of(*right, *merged).gradient == Catch::Approx(1));

    // A query without a key, and NaN where there was a number.
    const auto empty = computed(rows, mistaken(*given, "causal_strict"));
    CHECK(empty->weights(0) == std::vector<double>(5, 0));
    CHECK(difference(0, NAN) == HUGE_VAL);
    CHECK(difference(NAN, NAN) == 0);
    CHECK(difference(-HUGE_VAL, -HUGE_VAL) == 0);
}

TEST_CASE("the gradient of a rotated query is turned back with it") {
    const auto run = run_text(
        small_model(*std::ranges::find(small_families, std::string_view("llama"), &SmallFamily::name)),
        case_ids);
    REQUIRE(run);
    const Record& record = (*run)->attention(0).record();
    const auto with_rope = case_of(record, (*run)->network().rotary_of(0)), without = case_of(record);
    REQUIRE(with_rope);
    REQUIRE(without);
    const auto of = [](const AttentionCase& c) {
        const auto given = std::make_shared<const AttentionCase>(c);
        return computed({given, 1, {6, 8}, 7}, right_implementation(*given))->gradient();
    };
    const std::vector<double> before = of(with_rope->given), after = of(without->given);
    const CaseRope& rope = *with_rope->given.rope;
    const auto pairs = static_cast<std::size_t>(rope.dim / 2);
    for (std::size_t a = 0; a < pairs; ++a) {
        const double angle = 7 * std::pow(rope.base, -static_cast<double>(a) / static_cast<double>(pairs));
        CHECK(after[a] ==
              Catch::Approx(before[a] * std::cos(angle) - before[a + pairs] * std::sin(angle)).margin(1e-9));
    }
}

TEST_CASE("the keys of mistakes are those of the list, in its order") {
    CHECK(std::ranges::equal(mistake_keys, mistakes(), {}, {}, &Mistake::key));
}

TEST_CASE("a Record that is too large, empty or edited makes no case") {
    CHECK_FALSE(case_of(random_record({}, 1, 1, 600)));
    CHECK_FALSE(case_of(random_record({}, 1, 1, 0)));
    AttentionSpec edited;
    edited.edits = std::make_shared<const CellEdits>();
    CHECK_FALSE(case_of(random_record(edited)));
}
