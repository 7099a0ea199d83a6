// Compares with whole matrices in double, and with the scores of runs of one or two tokens.
#include "analysis/heads/circuit_maps.hpp"

#include "unit/analysis/whole_circuits.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Says whether rotary positions or norms come between W_Q and q, or W_K and k.
bool turns_or_normalises(const Network& network, Index attention) {
    const AttentionSublayer& half = network.attention(attention);
    return half.rotary || half.q_norm || half.k_norm;
}

CircuitJob circuit_made(const std::shared_ptr<const Model>& model, Circuit circuit, HeadIndex head) {
    auto job = CircuitJob::start(model, circuit, head);
    INFO((job ? "" : job.error().message));
    REQUIRE(job);
    while (job->step()) continue;
    return *std::move(job);
}

Whole whole_of(const Model& model, HeadIndex head, bool of_key, const Whole& read) {
    const HeadProjection projection = head_projection(model, head.layer, head.head);
    const LinearView linear = (of_key ? projection.k : projection.q).view();
    Whole rows = product(read, whole(linear.weight));
    add_bias(rows, linear.bias);
    return rows;
}

void check_map(const Map& map, const Whole& expected, double off) {
    REQUIRE(map.queries() == std::ssize(expected));
    REQUIRE(map.keys() == std::ssize(expected.front()));
    const std::vector<float> cells = cells_of(map);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double wanted = expected[i / expected.front().size()][i % expected.front().size()];
        CAPTURE(i);
        CHECK(std::abs(static_cast<double>(cells[i]) - wanted) < off);
    }
}

double largest_of(const Whole& all) {
    double most = 0;
    for (const auto& row : all)
        for (const double each : row) most = std::max(most, std::abs(each));
    return most;
}

}  // namespace

TEST_CASE("the OV circuit equals the product of the weights for every pair of tokens, in every family",
          "[analysis]") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        for (const HeadIndex head : {HeadIndex{0, 1}, HeadIndex{1, 0}}) {
            const CircuitJob job = circuit_made(model, Circuit::ov, head);
            const Whole expected =
                product(product(read_tokens(model->network(), head.layer), whole_w_v(*model, head)),
                        logits_from(model->network(), head.layer, whole_w_o(*model, head)));
            // Four sums of at most 24 products in f32, one after the other.
            check_map(*circuit_map(job.factors()), expected, 2e-5 * std::max(largest_of(expected), 1.0));
        }
    }
}

TEST_CASE("the tokens' own QK circuit is q · k of their rows if nothing rotates or normalises them",
          "[analysis]") {
    for (const SmallFamily& family : small_families) {
        const auto model = small_model(family);
        if (turns_or_normalises(model->network(), 0)) continue;
        CAPTURE(family.name);
        const HeadIndex head{1, 1};
        const CircuitJob job = circuit_made(model, Circuit::qk, head);
        const Whole read = read_tokens(model->network(), head.layer);
        Whole expected =
            product(whole_of(*model, head, false, read), transposed(whole_of(*model, head, true, read)));
        for (auto& row : expected)
            for (double& each : row)
                each *= static_cast<double>(model->network().attention(head.layer).scale);
        check_map(*circuit_map(job.factors()), expected, 2e-5 * std::max(largest_of(expected), 1.0));
    }
}

// In the first layer of a model without positions in its residual stream, a score of a run depends only on
// its two tokens and their distance.
TEST_CASE("the QK circuit equals a run's scores in the first layer, at every distance", "[analysis]") {
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9};
    Index compared = 0;
    for (const SmallFamily& family : small_families) {
        const auto model = small_model(family);
        if (model->network().position_embedding || !model->network().rotary_of(0)) continue;
        CAPTURE(family.name);
        const auto trace = *run_forward(model, ids);
        const Record& record = trace->attention(0).record();
        for (Index head = 0; head < model->config().heads; ++head) {
            const CircuitJob job = circuit_made(model, Circuit::qk, {0, head});
            for (const Index distance : {Index{0}, Index{1}, Index{3}}) {
                const MapPointer map = circuit_map(job.factors(), rotation_of(model->network(), 0, distance));
                for (Index query = distance; query < std::ssize(ids); ++query) {
                    const Stage stage = record.spec().softcap > 0 ? Stage::capped : Stage::scaled;
                    const auto in_run =
                        static_cast<double>(record.cell(stage, head, query, query - distance));
                    const auto alone =
                        static_cast<double>(map->cell(ids[static_cast<std::size_t>(query)],
                                                      ids[static_cast<std::size_t>(query - distance)]));
                    CAPTURE(head, distance, query);
                    // Both rotate in f32, by different angles.
                    CHECK(alone == Catch::Approx(in_run).epsilon(2e-5).margin(2e-5));
                    ++compared;
                }
            }
        }
    }
    CHECK(compared > 100);
}

TEST_CASE("positions alone: the rows of the position embedding in place of tokens", "[analysis]") {
    for (const char* name : {"gpt2", "opt", "bert", "roberta"}) {
        CAPTURE(name);
        const auto model =
            small_model(*std::ranges::find(small_families, std::string_view(name), &SmallFamily::name));
        const Network& network = model->network();
        const HeadIndex head{0, 1};
        const CircuitJob job = circuit_made(model, Circuit::positions, head);
        Whole read = transposed(whole(*network.position_embedding));
        read.erase(read.begin(), read.begin() + network.first_position);
        if (network.embedding_norm) read = under_norm(*network.embedding_norm, read);
        if (const auto& norm = network.attention(0).attention_norm) read = under_norm(*norm, read);
        Whole expected =
            product(whole_of(*model, head, false, read), transposed(whole_of(*model, head, true, read)));
        for (auto& row : expected)
            for (double& each : row) each *= static_cast<double>(network.attention(0).scale);
        check_map(*circuit_map(job.factors()), expected, 2e-5 * std::max(largest_of(expected), 1.0));
    }
    const auto turning = small_model(small_families[1]);
    const auto refused = CircuitJob::start(turning, Circuit::positions, {0, 0});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "This model adds no rows for positions to its embedding.");
}

TEST_CASE("a cell has the same bits in every window", "[analysis]") {
    const auto model = small_model(small_families[1]);
    const CircuitJob job = circuit_made(model, Circuit::qk, {1, 0});
    const MapPointer map = circuit_map(job.factors(), rotation_of(model->network(), 1, 2));
    const std::vector<float> all = cells_of(*map), some = cells_of(*map, {{3, 17}, {5, 11}, 4});
    for (Index row = 0; row < 4; ++row)
        for (Index col = 0; col < 6; ++col)
            CHECK(some[static_cast<std::size_t>(row * 6 + col)] ==
                  all[static_cast<std::size_t>((3 + 4 * row) * 20 + 5 + col)]);
    CHECK(map->is_signed());
}

TEST_CASE("the mean score at a distance is that of the map's mean, because scores are linear in each side",
          "[analysis]") {
    for (const SmallFamily& family : small_families) {
        const auto model = small_model(family);
        if (!model->network().rotary_of(0)) continue;
        CAPTURE(family.name);
        const CircuitJob job = circuit_made(model, Circuit::qk, {0, 0});
        const std::vector<double> curve = mean_score_by_distance(*job.factors(), model->network(), 0, 5);
        auto uncapped = std::make_shared<CircuitFactors>(*job.factors());
        uncapped->softcap = 0;
        for (Index distance = 0; distance < 5; ++distance) {
            const std::vector<float> cells =
                cells_of(*circuit_map(uncapped, rotation_of(model->network(), 0, distance)));
            double mean = 0;
            for (const float each : cells)
                mean += static_cast<double>(each) / static_cast<double>(cells.size());
            CHECK(curve[static_cast<std::size_t>(distance)] == Catch::Approx(mean).margin(2e-5));
        }
    }
}
