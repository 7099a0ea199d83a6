// Tests directions that steer a run against plain loops, and against runs that have them.
#include "analysis/heads/steering.hpp"

#include <cmath>

#include "analysis/attribution/logits_under.hpp"
#include "model/explain.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Kind = SteeringDirection::Kind;

namespace {

const std::vector<std::int32_t> here_ids{3, 1, 4, 1, 5, 9}, there_ids{2, 7, 1, 8};

std::shared_ptr<const Trace> trace_of(const SmallFamily& family, const std::vector<std::int32_t>& ids) {
    const auto trace = run_text(small_model(family), ids);
    REQUIRE(trace);
    return *trace;
}
const SmallFamily& family_named(const std::string& name) {
    const auto found = std::ranges::find(small_families, name, &SmallFamily::name);
    REQUIRE(found != small_families.end());
    return *found;
}

std::vector<double> vector_of(const Steering& steering, const Trace& run) {
    const auto made = steering_vector(steering, run);
    REQUIRE(made);
    double squares = 0;
    for (const double each : made->direction) squares += each * each;
    CHECK(made->length == Catch::Approx(std::sqrt(squares)));
    return made->direction;
}

void check_same(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double most = 1;
    for (const double each : b) most = std::max(most, std::abs(each));
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 2e-5 * most);
}

// gain · (x − mean), of RMSNorm gain · x; divided by the deviation and with the bias unless it is linear.
std::vector<double> normed(const Norm& norm, std::vector<double> x, bool is_linear) {
    double mean = 0, squares = 0;
    const auto n = static_cast<double>(x.size());
    if (norm.kind == Norm::Kind::layer)
        for (const double each : x) mean += each / n;
    for (const double each : x) squares += (each - mean) * (each - mean) / n;
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = (x[i] - mean) * static_cast<double>(norm.gain.values()[i]);
        if (is_linear) continue;
        x[i] /= std::sqrt(squares + norm.epsilon);
        if (norm.bias.size() > 0) x[i] += static_cast<double>(norm.bias.values()[i]);
    }
    return x;
}
std::vector<double> product(const WeightView& weight, const std::vector<double>& x) {
    std::vector<double> out(static_cast<std::size_t>(weight.out));
    for (Index o = 0; o < weight.out; ++o)
        for (Index i = 0; i < weight.in; ++i)
            out[static_cast<std::size_t>(o)] += x[static_cast<std::size_t>(i)] * element(weight, i, o);
    return out;
}

}  // namespace

TEST_CASE("a token's embedding as a direction is what the first block finds of it", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = trace_of(family, here_ids);
        const Index attention = trace->attentions() - 1;
        const Trace& own = trace->attention(attention).queries;
        const std::int32_t token = own.ids().back();
        const float* row = own.token_embedding().matrix().row(own.tokens() - 1);
        std::vector<double> expected(row, row + own.token_embedding().dim(1));
        if (own.network().embedding_norm) expected = normed(*own.network().embedding_norm, expected, false);
        check_same(vector_of({.direction = {.token = token}, .attention = attention}, *trace), expected);
    }
}

TEST_CASE("a token's unembedding as a direction multiplies what the head makes of a residual", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = trace_of(family, here_ids);
        const Network& network = trace->network();
        const Index attention = trace->attentions() - 1;
        const std::vector<double> direction =
            vector_of({.direction = {.kind = Kind::unembedding, .token = 7}, .attention = attention}, *trace);
        std::vector<double> x(direction.size());
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(3 * i + 1));
        double along = 0;
        for (std::size_t i = 0; i < x.size(); ++i) along += direction[i] * x[i];
        if (network.final_norm) x = normed(*network.final_norm, x, true);
        if (network.project_out) x = product(network.project_out->weight, x);
        if (network.head_transform)
            x = normed(network.head_transform->norm, product(network.head_transform->dense.weight, x), true);
        double logit = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            logit += x[i] * element(network.head.weight, static_cast<Index>(i), 7);
        CHECK(along == Catch::Approx(logit).epsilon(1e-6).margin(1e-9));
    }
}

TEST_CASE("what a head writes for a token is what it writes in a text of that token alone", "[analysis]") {
    int compared = 0;
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto trace = trace_of(family, {6});
        if (trace->position_embedding().size() > 0 || trace->segment_embedding().size() > 0) continue;
        ++compared;
        for (Index head = 0; head < 2; ++head) {
            const Tensor given = trace->head_contribution(0, head, Range{0, 1});
            std::vector<double> expected(given.values().begin(), given.values().end());
            if (const auto& norm = trace->attention(0).half.attention_post_sublayer_norm)
                expected = normed(*norm, expected, true);
            check_same(
                vector_of({.direction = {.kind = Kind::written, .token = 6, .head = {0, head}}}, *trace),
                expected);
        }
    }
    CHECK(compared > 10);
    // A head that reads the stream behind other layers, from the definition.
    const auto trace = trace_of(family_named("gpt2"), here_ids);
    const LayerAttention at = trace->attention(1);
    std::vector<double> x;
    for (Index i = 0; i < 16; ++i) x.push_back(element(trace->network().token_embedding, i, 5));
    x = normed(*at.half.attention_norm, x, false);
    std::vector<double> expected(16);
    for (Index a = 0; a < 8; ++a) {
        const QkvColumn column = qkv_column(*trace->model(), Stage::v, 1, 1, a);
        double value =
            static_cast<double>(column.linear->bias.values()[static_cast<std::size_t>(column.out)]);
        for (Index i = 0; i < 16; ++i)
            value += x[static_cast<std::size_t>(i)] * element(column.linear->weight, i, column.out);
        for (Index i = 0; i < 16; ++i)
            expected[static_cast<std::size_t>(i)] += value * element(at.half.attention_out.weight, 8 + a, i);
    }
    check_same(vector_of({.direction = {.kind = Kind::written, .token = 5, .head = {1, 1}}}, *trace),
               expected);
}

TEST_CASE("differences of texts are those of their means, or of one token", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto here = trace_of(family, here_ids), there = run_text(here->model(), there_ids).operator*();
        const Index last = here->attentions() - 1;
        for (const Site site : steering_sites) {
            const ConstMatrix a = numbers_at(*here, last, site).head(0),
                              b = numbers_at(*there, last, site).head(0);
            const auto mean = [](const ConstMatrix& of, Index i) {
                double sum = 0;
                for (Index row = 0; row < of.rows; ++row) sum += static_cast<double>(of(row, i));
                return sum / static_cast<double>(of.rows);
            };
            const Steering means{.direction = {.kind = Kind::second_text}, .attention = last, .site = site};
            Steering one = means, many = means, sets = means;
            one.direction.place = 2;
            many.direction.kind = Kind::many_texts;
            sets.direction.kind = Kind::contrast;
            std::vector<double> of_means, of_one, of_many, of_sets;
            for (Index i = 0; i < a.cols; ++i) {
                of_means.push_back(mean(a, i) - mean(b, i));
                of_one.push_back(static_cast<double>(a(2, i)) - static_cast<double>(b(2, i)));
                const auto n = static_cast<double>(a.rows), m = static_cast<double>(b.rows);
                of_many.push_back(mean(a, i) - (n * mean(a, i) + m * mean(b, i)) / (n + m));
                of_sets.push_back((n * mean(a, i) + m * mean(b, i)) / (n + m) - mean(b, i));
            }
            const std::vector<std::shared_ptr<const Trace>> texts{here, there};
            check_same(steering_vector(means, *here, {.second = there.get()})->direction, of_means);
            check_same(steering_vector(one, *here, {.second = there.get()})->direction, of_one);
            check_same(steering_vector(many, *here, {.texts = texts})->direction, of_many);
            const std::vector<std::shared_ptr<const Trace>> negative{there};
            check_same(steering_vector(sets, *here, {.positive = texts, .negative = negative})->direction,
                       of_sets);
        }
    }
}

TEST_CASE("a dial of 1 adds as much as the stream is long, and the run goes on from there", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = trace_of(family, here_ids);
        Steering steering{.direction = {.token = 7}, .attention = 1, .site = Site::resid_post, .dial = -1.5};
        if (trace->attention(1).queries.tokens() > 2) steering.row = 2;
        const auto vector = steering_vector(steering, *trace);
        REQUIRE(vector);
        const ConstMatrix plain = numbers_at(*trace, 1, steering.site).head(0);
        double length = 0, squares = 0;
        for (Index row = 0; row < plain.rows; ++row) {
            double sum = 0;
            for (Index i = 0; i < plain.cols; ++i)
                sum += static_cast<double>(plain(row, i)) * static_cast<double>(plain(row, i));
            length += std::sqrt(sum) / static_cast<double>(plain.rows);
        }
        const std::vector<float> added = vector->added(steering.dial);
        for (const float each : added) squares += static_cast<double>(each) * static_cast<double>(each);
        CHECK(vector->stream == Catch::Approx(length));
        CHECK(std::sqrt(squares) == Catch::Approx(1.5 * length).epsilon(1e-5));

        auto pass = ForwardPass::start_with({intervention_of(steering, *vector)}, trace);
        REQUIRE(pass);
        const auto steered = pass->finish();
        REQUIRE(steered);
        CHECK((*steered)->interventions() == std::vector{intervention_of(steering, *vector)});
        const ConstMatrix now = numbers_at(**steered, 1, steering.site).head(0);
        for (Index row = 0; row < plain.rows; ++row)
            for (Index i = 0; i < plain.cols; ++i)
                CHECK(now(row, i) ==
                      plain(row, i) +
                          (steering.row.value_or(row) == row ? added[static_cast<std::size_t>(i)] : 0.0f));

        const Index last = trace->tokens() - 1;
        auto sweep = LogitsUnder::start(trace, last, {{intervention_of(steering, *vector)}, {}}, 1);
        REQUIRE(sweep);
        while (sweep->step()) CHECK(sweep->progress() <= 1);
        REQUIRE(sweep->done());
        for (const auto& [at, run] : {std::pair{0u, *steered}, std::pair{1u, trace}}) {
            const Tensor logits = run->logits({last, last + 1});
            CHECK(std::ranges::equal(sweep->logits()[at], logits.values()));
        }
    }
}

TEST_CASE("directions that a run does not have are refused in one sentence", "[analysis]") {
    const auto trace = trace_of(family_named("gpt2"), here_ids),
               other = trace_of(family_named("gpt2"), there_ids);
    const auto refusal = [&](const Steering& steering, const Trace* second = nullptr) {
        const auto made = steering_vector(steering, *trace, {.second = second});
        REQUIRE_FALSE(made);
        CHECK(made.error().message.ends_with("."));
        return made.error().message;
    };
    CHECK_THAT(refusal({.direction = {.token = 20}}), ContainsSubstring("vocabulary of 20"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::unembedding, .token = -1}}),
               ContainsSubstring("outside the vocabulary"));
    CHECK_THAT(refusal({.attention = 2}), ContainsSubstring("no attention 2"));
    CHECK_THAT(refusal({.row = 6}), ContainsSubstring("no token 6"));
    CHECK_THAT(refusal({.site = Site::mlp_output}), ContainsSubstring("residual stream"));
    CHECK_THAT(refusal({.dial = NAN}), ContainsSubstring("finite"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::written, .head = {0, 2}}}),
               ContainsSubstring("no head 2"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::second_text}}), ContainsSubstring("second text"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::many_texts}}), ContainsSubstring("not run yet"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::contrast}}), ContainsSubstring("one negative text"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::second_text}}, other.get()),
               ContainsSubstring("another model"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::second_text, .place = 7}}, trace.get()),
               ContainsSubstring("no token 7"));
    CHECK_THAT(refusal({.direction = {.kind = Kind::second_text}}, trace.get()),
               ContainsSubstring("do not differ"));
    for (const SmallFamily& family : small_encoder_decoders) {
        const auto two = trace_of(family, here_ids);
        const Index cross = two->attentions() - 1;
        const auto says = [&](const Steering& steering) {
            const auto made = steering_vector(steering, *two);
            REQUIRE_FALSE(made);
            return made.error().message;
        };
        CHECK_THAT(says({.direction = {.kind = Kind::unembedding, .token = 1}}),
                   ContainsSubstring("encoder"));
        CHECK_THAT(
            says({.direction = {.kind = Kind::written, .token = 1, .head = {cross, 0}}, .attention = cross}),
            ContainsSubstring("cross-attention"));
        CHECK_THAT(
            says({.direction = {.kind = Kind::written, .token = 1, .head = {0, 0}}, .attention = cross}),
            ContainsSubstring("other text"));
    }
}
