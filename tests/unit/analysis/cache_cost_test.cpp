#include "analysis/theory/cache_cost.hpp"

#include "model/token_rows.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

CacheShape shape_of(const std::shared_ptr<const Model>& model, Index encoded = 0) {
    return cache_shape(model->network(), model->config(), encoded);
}

// Sums the weights of every matrix that a token of the decoder passes, read from the checkpoint's network one
// by one; with experts, only the number that it uses.
double matrices_by_hand(const Model& model) {
    double sum = 0;
    const auto add = [&](const WeightView& weight, double times = 1) {
        sum += times * static_cast<double>(weight.in) * static_cast<double>(weight.out);
    };
    const Network& network = model.network();
    for (const Block& block : network.blocks) {
        for (const Linear& each : block.qkv) add(each.weight);
        add(block.attention_out.weight);
        if (block.cross) {
            // W_K and W_V of cross-attention read only the encoder's tokens.
            sum +=
                static_cast<double>(model.config().d_model * model.config().heads * model.config().head_dim);
            add(block.cross->attention_out.weight);
        }
        if (block.experts) {
            add(block.experts->router.weight);
            const Mlp& one = block.experts->all.front();
            const auto taken = static_cast<double>(block.experts->per_token);
            for (const Linear* each : {&*one.gate, &one.up, &one.down}) add(each->weight, taken);
            continue;
        }
        if (block.mlp.gate) add(block.mlp.gate->weight);
        add(block.mlp.up.weight);
        add(block.mlp.down.weight);
    }
    if (network.project_in) add(network.project_in->weight);
    return sum;
}

}  // namespace

TEST_CASE("a cache holds as many numbers as the run's keys and values, in every family", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        if (!family.causal) continue;
        CAPTURE(family.name);
        const auto model = small_model(family);
        const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5};
        const auto trace = *run_text(model, ids);
        const Index n = trace->tokens(), encoded = trace->encoder() ? trace->encoder()->tokens() : 0;
        const CacheShape shape = shape_of(model, encoded);
        double numbers = 0, cross = 0;
        for (std::size_t l = 0; l < trace->layers().size(); ++l) {
            const Record& record = trace->layers()[l].attention;
            const Index window = model->network().blocks[l].window;
            // Keys that the last query does not see have left the cache.
            Index kept = 0;
            for (Index key = 0; key < n; ++key) kept += record.spec().mask.allows(0, n - 1, key);
            CHECK(tokens_kept(shape.layers[l], n) == kept);
            CHECK((window > 0) == (kept < n));
            numbers +=
                static_cast<double>((record.k().dim(2) + record.v().dim(2)) * record.kv_heads() * kept);
            if (const auto& crosses = trace->layers()[l].cross)
                cross += static_cast<double>(crosses->attention.k().size() + crosses->attention.v().size());
        }
        CHECK(numbers_kept(shape, n) == numbers);
        CHECK(cross_numbers_kept(shape) == cross);
        CHECK(bytes_kept(shape, n, {32, 0}) == 4 * numbers);
        CHECK(bytes_kept(shape, n, {16, 0}) == 2 * numbers);
        CHECK(bytes_kept(shape, 0, {4, 8}) == 0);
    }
}

TEST_CASE("the steps of a text cost as much as its rows one by one, in every family", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        if (!family.causal) continue;
        CAPTURE(family.name);
        const auto model = small_model(family);
        const ModelConfig& config = model->config();
        const Index encoded = config.decoder_layers > 0 ? 9 : 0, n = 11;
        const CacheShape shape = shape_of(model, encoded);
        const auto q_width = static_cast<double>(config.heads * config.head_dim);
        const double head = 2 * shape.head_weights, matrices = 2 * matrices_by_hand(*model);
        StepCost one_by_one;
        for (Index token = 0; token < n; ++token) {
            const StepCost step = step_cost(shape, {token, token + 1});
            double seen = 0, crossed = 0;
            for (const Block& block : model->network().blocks) {
                seen += static_cast<double>(block.window > 0 ? std::min(token + 1, block.window) : token + 1);
                if (block.cross) crossed += static_cast<double>(encoded);
            }
            CHECK(step.attention == 4 * q_width * (seen + crossed));
            CHECK(step.logits == head);
            if (token > 0) CHECK(step.matrices == matrices);
            one_by_one.matrices += step.matrices;
            one_by_one.attention += step.attention;
        }
        const StepCost at_once = step_cost(shape, {0, n});
        CHECK(at_once.matrices == one_by_one.matrices);
        CHECK(at_once.attention == one_by_one.attention);
        CHECK(at_once.logits == head);
        CHECK(at_once.total() == at_once.matrices + at_once.attention + head);
    }
}

TEST_CASE("shared heads, windows and bits save what the formulas say", "[analysis]") {
    const auto model = small_model(small_families[0]);
    const CacheShape shape = shape_of(model);
    CHECK(bytes_kept(with_kv_heads(shape, 1), 10, {}) == bytes_kept(shape, 10, {}) / 2);
    CHECK(bytes_kept(with_window(shape, 4), 10, {}) == bytes_kept(shape, 4, {}));
    CHECK(bytes_kept(with_window(shape, 40), 10, {}) == bytes_kept(shape, 10, {}));
    // A model's own window applies where it is narrower.
    const auto windowed = std::ranges::find(small_families, std::string_view("gemma2"), &SmallFamily::name);
    const CacheShape own = shape_of(small_model(*windowed));
    CHECK(std::ranges::any_of(own.layers, [](const auto& layer) { return layer.window == 4; }));
    CHECK(std::ranges::all_of(with_window(own, 6).layers,
                              [](const auto& layer) { return layer.window == 4 || layer.window == 6; }));
    // Two whole groups of 4 tokens and 2 waiting tokens, with 6 channels: codes of half a byte, 4 bytes for
    // each column of a group of keys, 4 bytes for each of two groups in a row of values, and f16 for the
    // rest.
    CHECK(bytes_of_head({0, 10}, 6, {4, 4}) == 2 * 8 * 6 * 0.5 + 2 * 6 * 4 + 8 * 2 * 4 + 2 * 2 * 6 * 2);
    CHECK(bytes_of_head({0, 10}, 6, {8, 16}) == 2 * 10 * 6 * 2);
    // A window that begins within a group keeps the rest of it with the group's own scale: for tokens 3 … 9,
    // those up to 7 are rounded, in two groups.
    CHECK(bytes_of_head({3, 10}, 6, {4, 4}) == 2 * 5 * 6 * 0.5 + 2 * 6 * 4 + 5 * 2 * 4 + 2 * 2 * 6 * 2);
    CHECK(bytes_of_head({9, 11}, 6, {4, 4}) == 2 * 2 * 6 * 2);
    CHECK(bytes_kept(with_window(shape, 4), 10, {4, 4}) > bytes_kept(shape, 4, {4, 4}));
    CHECK(step_cost(with_kv_heads(shape, 1), {0, 5}).total() < step_cost(shape, {0, 5}).total());
    CHECK(step_cost(with_window(shape, 2), {0, 5}).attention < step_cost(shape, {0, 5}).attention);
}
