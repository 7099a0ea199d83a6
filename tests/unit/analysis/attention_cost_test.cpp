// Tests what attention and whole models take, against loops that count one by one, the matrices of loaded
// models, and numbers from the literature.
#include "analysis/cost/attention_cost.hpp"

#include "analysis/cost/model_cost.hpp"
#include "analysis/theory/attention_tiles.hpp"
#include "support/small_families.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::test;

namespace {

ModelShape gpt2_small() {
    return {.layers = 12,
            .d_model = 768,
            .heads = 12,
            .kv_heads = 12,
            .head_dim = 64,
            .d_ff = 3072,
            .vocabulary = 50257,
            .tied = true,
            .positions = 1024};
}
ModelShape llama3_8b() {
    return {.layers = 32,
            .d_model = 4096,
            .heads = 32,
            .kv_heads = 8,
            .head_dim = 128,
            .d_ff = 14336,
            .vocabulary = 128256,
            .gated = true};
}

// Counts the multiplications and additions of attention as nested loops do them.
double counted_operations(const AttentionShape& s, bool all_cells) {
    double count = 0;
    for (Index head = 0; head < s.batch * s.heads; ++head)
        for (Index q = 0; q < s.n_q; ++q)
            for (Index k = 0; k < s.n_k; ++k) {
                if (!all_cells && s.causal && k > s.n_k - s.n_q + q) continue;
                for (Index a = 0; a < s.d_k; ++a) count += 2;
                for (Index b = 0; b < s.d_v; ++b) count += 2;
            }
    return count;
}

// The numbers of every matrix and embedding of a network, without the unembedding if it is tied.
double numbers_of(const Network& network, bool tied) {
    const auto of = [](const WeightView& w) {
        return static_cast<double>(w.in) * static_cast<double>(w.out);
    };
    double sum = of(network.token_embedding) + (tied ? 0 : of(network.head.weight));
    if (network.position_embedding) sum += of(*network.position_embedding);
    for (const auto* each : {&network.project_in, &network.project_out})
        if (*each) sum += of((*each)->weight);
    const auto add_attention = [&](const AttentionSublayer& half) {
        for (const Linear& each : half.qkv) sum += of(each.weight);
        sum += of(half.attention_out.weight);
    };
    const auto add_mlp = [&](const Mlp& mlp) {
        if (mlp.gate) sum += of(mlp.gate->weight);
        sum += of(mlp.up.weight) + of(mlp.down.weight);
    };
    for (const Block& block : network.blocks) {
        add_attention(block);
        if (block.cross) add_attention(*block.cross);
        if (!block.experts) {
            add_mlp(block.mlp);
            continue;
        }
        sum += of(block.experts->router.weight);
        for (const Mlp& each : block.experts->all) add_mlp(each);
    }
    return sum;
}

}  // namespace

TEST_CASE("the operations of attention are those of its loops", "[analysis]") {
    for (const bool causal : {false, true})
        for (const auto& [n_q, n_k] : {std::pair<Index, Index>{5, 5}, {3, 7}, {1, 9}, {6, 4}}) {
            const AttentionShape shape{.batch = 2,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .n_q = n_q,
                                       .n_k = n_k,
                                       .d_k = 3,
                                       .d_v = 5,
                                       .causal = causal};
            CAPTURE(causal, n_q, n_k);
            CHECK(naive_cost(shape).operations == counted_operations(shape, true));
            CHECK(fused_cost(shape).operations == counted_operations(shape, false));
        }
}

TEST_CASE("the bytes of attention are those of its matrices", "[analysis]") {
    // Counted by hand: Q 2·4·5·3 = 120, K 2·2·7·3 = 84, V 2·2·7·6 = 168, O 2·4·5·6 = 240, and the scores
    // 2·4·5·7 = 280.
    const AttentionShape shape{
        .batch = 2, .heads = 4, .kv_heads = 2, .n_q = 5, .n_k = 7, .d_k = 3, .d_v = 6, .bytes = 2};
    const AttentionCost naive = naive_cost(shape), fused = fused_cost(shape);
    CHECK(fused.read == 2 * (120 + 84 + 168));
    CHECK(fused.written == 2 * 240);
    CHECK(fused.working == 2 * 2 * 40);
    CHECK(naive.read == fused.read + 2 * 2 * 280);
    CHECK(naive.written == fused.written + 2 * 2 * 280);
    CHECK(naive.working == 2 * 280);
    CHECK(fused.intensity() == fused.operations / fused.moved());

    // The lens of tiles counts the same for a head of a record.
    Random random(3);
    const auto normal = [&](Shape of) {
        Tensor tensor(std::move(of));
        for (float& value : tensor.values()) value = static_cast<float>(random.normal());
        return tensor;
    };
    const auto record = Record::run(normal({1, 5, 3}), normal({1, 7, 3}), normal({1, 7, 6}), {});
    REQUIRE(record);
    const TileCost by_tiles = naive_cost(*record);
    const AttentionCost own = naive_cost(AttentionShape{.n_q = 5, .n_k = 7, .d_k = 3, .d_v = 6});
    CHECK(own.read == by_tiles.read);
    CHECK(own.written == by_tiles.written);
    CHECK(own.operations == 2 * by_tiles.products);
}

TEST_CASE("models have as many weights as the literature says", "[analysis]") {
    // GPT-2 small has 124,439,808 parameters (Radford et al. 2019, as released); 13 d biases and gains in
    // each layer and 2 d in the last norm are not matrices.
    CHECK(weight_count(gpt2_small()) + 12 * 13 * 768 + 2 * 768 == 124'439'808);
    // Llama 3 8B has 8,030,261,248 (Dubey et al. 2024, as released); its norms have 2 d gains a layer and d.
    CHECK(weight_count(llama3_8b()) + 32 * 2 * 4096 + 4096 == 8'030'261'248);
    // Its cache takes 131,072 bytes a token in 16 bits: 2 · 8 · 128 · 32 · 2.
    CHECK(cache_bytes(llama3_8b(), 1, {.cached = 2}) == 131'072);
    CHECK(cache_bytes(llama3_8b(), 8192, {.cached = 2}) == 1'073'741'824);
}

TEST_CASE("a step of GPT-2 takes what its matrices say", "[analysis]") {
    // A token passes 12 · 12 d² = 84,934,656 weights of the blocks and d · 50,257 = 38,597,376 of the head:
    // 2 operations each (Kaplan et al. 2020, arXiv 2001.08361, table 1: 2 N and 2 n_layer n_ctx d_attn more a
    // matrix of attention).
    const ModelStep token = step_of(gpt2_small(), {1023, 1024}, {});
    CHECK(token.operations.matrices == 2 * 84'934'656.0);
    CHECK(token.operations.logits == 2 * 38'597'376.0);
    CHECK(token.operations.attention == 2 * (2.0 * 12 * 1024 * 768));
    CHECK(token.weights == 4 * (84'934'656.0 + 38'597'376.0));
    CHECK(token.cache == 4 * 2 * 768 * 12 * 1025.0);
    // In and out of the four matrices of attention, the two of the MLP, attention itself, the embedding and
    // the head.
    CHECK(token.activations == 4 * (12.0 * (4 * 2 * 768 + 2 * (768 + 3072) + 2 * 768) + 768 + 768 + 50257));
    const ModelStep text = step_of(gpt2_small(), {0, 1024}, {});
    CHECK(text.operations.matrices == 1024 * token.operations.matrices);
    CHECK(text.operations.attention == 4.0 * 768 * 12 * (1024 * 1025 / 2));
    CHECK(text.operations.logits == token.operations.logits);
    CHECK(text.weights == token.weights);
    CHECK(text.intensity() > 100 * token.intensity());
}

TEST_CASE("the shape of every family's config takes what its network takes", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const ModelConfig& config = model->config();
        const Network& network = model->network();
        const ModelShape shape = model_shape(config);
        double numbers = numbers_of(network, config.tie_word_embeddings);
        if (network.encoder) {
            // Both read the same embedding.
            const WeightView& embedding = network.encoder->token_embedding;
            numbers += numbers_of(*network.encoder, true) -
                       static_cast<double>(embedding.in) * static_cast<double>(embedding.out);
        }
        // BERT's family has a transform of the head and embeddings of segments beside these.
        if (config.causal) CHECK(weight_count(shape) == numbers);
        if (!config.causal) continue;
        for (const Range tokens : {Range{0, 9}, Range{8, 9}, Range{3, 7}}) {
            const Index encoded = network.encoder ? tokens.end : 0;
            const CacheShape cache = cache_shape(network, config, encoded);
            const StepCost counted = step_cost(cache, tokens), own = step_of(shape, tokens, {}).operations;
            CHECK(own.attention - (network.encoder && tokens.begin == 0
                                       ? 4.0 * static_cast<double>(config.layers * config.heads *
                                                                   config.head_dim * encoded * encoded)
                                       : 0) ==
                  counted.attention);
            CHECK(own.logits == counted.logits);
            if (!network.encoder || tokens.begin > 0) CHECK(own.matrices == counted.matrices);
            CHECK(cache_bytes(shape, tokens.end, {}) ==
                  4 * (numbers_kept(cache, tokens.end) + cross_numbers_kept(cache)));
        }
    }
}

TEST_CASE("steps one by one take as many operations as one over all tokens", "[analysis]") {
    ModelShape shape = llama3_8b();
    shape.windows.assign(32, 0);
    for (std::size_t layer = 0; layer < 32; layer += 2) shape.windows[layer] = 5;
    const StepCost whole = step_of(shape, {0, 20}, {}).operations;
    StepCost sum;
    for (Index token = 0; token < 20; ++token) {
        const StepCost one = step_of(shape, {token, token + 1}, {}).operations;
        sum.matrices += one.matrices;
        sum.attention += one.attention;
    }
    CHECK(sum.matrices == whole.matrices);
    CHECK(sum.attention == whole.attention);
    // A layer with a window keeps 5 tokens, and reads and writes no more of them than that and the new one.
    const double a_token = 4 * 2 * 8 * 128;
    CHECK(cache_bytes(shape, 20, {}) == a_token * 16 * (5 + 20));
    CHECK(step_of(shape, {19, 20}, {}).cache == a_token * 16 * (5 + 1 + 20 + 1));
}

TEST_CASE("experts take the work of those that a token takes, and the bytes of all that are needed",
          "[analysis]") {
    ModelShape shape{.layers = 1,
                     .d_model = 4,
                     .heads = 1,
                     .kv_heads = 1,
                     .head_dim = 4,
                     .d_ff = 8,
                     .vocabulary = 10,
                     .gated = true,
                     .experts = 6,
                     .experts_per_token = 2};
    const ModelStep one = step_of(shape, {0, 1}, {}), many = step_of(shape, {0, 5}, {});
    const double expert = 3 * 4 * 8, attention = 4 * 4 * 4, router = 4 * 6, head = 4 * 10;
    CHECK(one.operations.matrices == 2 * (attention + router + 2 * expert));
    CHECK(one.weights == 4 * (attention + router + 2 * expert + head));
    CHECK(many.operations.matrices == 5 * one.operations.matrices);
    CHECK(many.weights == 4 * (attention + router + 6 * expert + head));
}

TEST_CASE("a roofline is bandwidth below its ridge, and the peak above it", "[analysis]") {
    const Roofline roof{.peak = 40e9, .bandwidth = 10e9};
    CHECK(roof.ridge() == 4);
    CHECK(roof.at(0.5) == 5e9);
    CHECK(roof.at(4) == 40e9);
    CHECK(roof.at(100) == 40e9);
}
