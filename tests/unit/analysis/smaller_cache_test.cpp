#include "analysis/heads/smaller_cache.hpp"

#include <cmath>

#include "model/explain.hpp"
#include "support/small_families.hpp"
#include "unit/analysis/eigen_svd.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> few_ids{3, 1, 4, 1, 5, 9, 2, 6};

using KvMatrix = Eigen::MatrixXd;

// W_K and W_V of all heads side by side, [d_model, 2 · kv_heads · head_dim].
KvMatrix keys_and_values(const Model& model, Index attention) {
    const ModelConfig& config = model.config();
    KvMatrix all(config.d_model, 2 * config.kv_heads * config.head_dim);
    Index column = 0;
    for (const Stage stage : {Stage::k, Stage::v})
        for (Index head = 0; head < config.kv_heads; ++head)
            for (Index component = 0; component < config.head_dim; ++component, ++column) {
                const QkvColumn at = qkv_column(model, stage, attention, head, component);
                REQUIRE(at.linear);
                for (Index i = 0; i < config.d_model; ++i)
                    all(i, column) = element(at.linear->weight, i, at.out);
            }
    return all;
}

std::shared_ptr<const Trace> small_run(const std::shared_ptr<const Model>& model) {
    const auto trace = run_text(model, few_ids);
    REQUIRE(trace);
    return *trace;
}

// Families with several key-value heads, where available.
const std::vector<SmallFamily> many_heads{
    {"gpt2",
     R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 4})"},
    {"llama", R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 24})"},
    {"qwen2", R"({"model_type": "qwen2", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24})"},
    {"qwen3", R"({"model_type": "qwen3", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
        "head_dim": 6, "tie_word_embeddings": true})"},
    {"olmo2", R"({"model_type": "olmo2", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 24})"},
    {"phi3", R"({"model_type": "phi3", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24})"},
    {"gpt_neox",
     R"({"model_type": "gpt_neox", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "rotary_pct": 0.5})"},
    {"falcon_new", R"({"model_type": "falcon", "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": true})"},
    {"bert", R"({"model_type": "bert", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24})",
     false},
    {"t5", R"({"model_type": "t5", "is_encoder_decoder": true, "vocab_size": 20, "d_model": 16, "d_kv": 6,
        "num_heads": 4, "d_ff": 24, "num_layers": 2, "n_positions": 16, "decoder_start_token_id": 0,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6})"},
};

}  // namespace

TEST_CASE("shared heads are the mean of their group, and queries stay the same", "[analysis]") {
    for (const SmallFamily& family : many_heads) {
        const auto model = small_model(family);
        const ModelConfig& config = model->config();
        const auto before = small_run(model);
        for (const Index left : shared_head_counts(config)) {
            CAPTURE(family.name, left);
            const Index group = config.kv_heads / left;
            SmallerModel job = SmallerModel::shared(model, left);
            float progress = 0;
            while (job.step()) {
                CHECK(job.progress() >= progress);
                progress = job.progress();
            }
            const auto changed = job.finish();
            CHECK(changed->config() == config);
            const auto after = small_run(changed);
            for (Index number = 0; number < before->attentions(); ++number) {
                const KvMatrix was = keys_and_values(*model, number), is = keys_and_values(*changed, number);
                for (Index column = 0; column < was.cols(); ++column) {
                    const Index head = column / config.head_dim, first = head / group * group;
                    Eigen::VectorXd mean = Eigen::VectorXd::Zero(was.rows());
                    for (Index i = 0; i < group; ++i)
                        mean += was.col((first + i) * config.head_dim + column % config.head_dim);
                    CHECK((is.col(column) - mean / static_cast<double>(group)).norm() < 1e-6);
                }
                for (Index head = 0; head < config.heads; ++head)
                    for (Index c = 0; c < config.head_dim; ++c) {
                        const QkvColumn a = qkv_column(*model, Stage::q, number, head, c),
                                        b = qkv_column(*changed, Stage::q, number, head, c);
                        CHECK(element(a.linear->weight, 3, a.out) == element(b.linear->weight, 3, b.out));
                    }
                const Record& record = after->attention(number).record();
                for (Index head = 0; head < config.kv_heads; ++head)
                    for (const Tensor* all : {&record.k(), &record.v()}) {
                        const auto heads = all->heads();
                        for (Index i = 0; i < heads.rows * heads.cols; ++i)
                            CHECK(heads.head(head).data[i] == heads.head(head / group * group).data[i]);
                    }
            }
            // The input of the first attention is unchanged, so its values are the means of the original
            // ones, biases included.
            const auto was = before->attention(0).record().v().heads(),
                       is = after->attention(0).record().v().heads();
            if (!before->encoder())
                for (Index row = 0; row < is.rows; ++row)
                    for (Index c = 0; c < is.cols; ++c)
                        for (Index head = 0; head < config.kv_heads; ++head) {
                            double mean = 0;
                            for (Index i = 0; i < group; ++i)
                                mean += static_cast<double>(was.head(head / group * group + i)(row, c));
                            CHECK(std::abs(static_cast<double>(is.head(head)(row, c)) -
                                           mean / static_cast<double>(group)) < 1e-5);
                        }
            const Tensor one = before->logits({0, 8}), other = after->logits({0, 8});
            double most = 0;
            for (Index i = 0; i < one.size(); ++i)
                most = std::max(most, std::abs(static_cast<double>(one.data()[i]) -
                                               static_cast<double>(other.data()[i])));
            if (group == 1)
                CHECK(most < 1e-4);
            else
                CHECK(most > 1e-3);
        }
    }
}

TEST_CASE("numbers of shared heads divide the model's, and a token keeps less accordingly", "[analysis]") {
    ModelConfig config;
    config.layers = 5;
    config.heads = 12;
    config.kv_heads = 12;
    config.head_dim = 64;
    CHECK(shared_head_counts(config) == std::vector<Index>{12, 6, 4, 3, 2, 1});
    CHECK(cached_numbers(config, 12) == 5 * 2 * 12 * 64);
    CHECK(cached_numbers(config, 1) == 5 * 2 * 64);
    config.decoder_layers = 2;
    CHECK(cached_numbers(config, 3) == 2 * 2 * 3 * 64);
    config.kv_heads = 1;
    CHECK(shared_head_counts(config) == std::vector<Index>{1});
}

TEST_CASE("the latent is the nearest matrix of its rank, in every family", "[analysis]") {
    std::vector<SmallFamily> families = all_small_families();
    families.insert(families.end(), many_heads.begin(), many_heads.end());
    for (const SmallFamily& family : families) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto factors = std::make_shared<LatentFactors>(model);
        double progress = 0;
        while (factors->step()) {
            CHECK(factors->progress() >= progress);
            progress = factors->progress();
        }
        REQUIRE(factors->done());
        const ModelConfig& config = model->config();
        REQUIRE(factors->most_rank() == std::min(config.d_model, 2 * config.kv_heads * config.head_dim));
        for (const Index rank : {Index{1}, Index{3}, factors->most_rank()}) {
            CAPTURE(rank);
            const auto changed = SmallerModel::latent(factors, rank).finish();
            for (Index number = 0; number < config.attentions(); ++number) {
                const KvMatrix was = keys_and_values(*model, number), is = keys_and_values(*changed, number);
                const EigenSvd svd = eigen_svd(was);
                const KvMatrix nearest = svd.u.leftCols(rank) * svd.values.head(rank).asDiagonal() *
                                         svd.v.leftCols(rank).transpose();
                // The factors are f32.
                CHECK((is - nearest).norm() < 1e-5 * was.norm());
                CHECK(
                    (factors->up(number).dim(0) == was.cols() && factors->down(number).dim(1) == was.rows()));
                CHECK(factors->kept(number, rank) ==
                      Catch::Approx(svd.values.head(rank).squaredNorm() / was.squaredNorm()).epsilon(1e-9));
            }
            const auto before = small_run(model), after = small_run(changed);
            if (rank < factors->most_rank()) continue;
            const Tensor one = before->logits({0, 8}), other = after->logits({0, 8});
            for (Index i = 0; i < one.size(); ++i)
                CHECK(std::abs(static_cast<double>(one.data()[i]) - static_cast<double>(other.data()[i])) <
                      2e-3);
        }
    }
}

TEST_CASE("a latent of zero weights keeps nothing", "[analysis]") {
    ModelFiles files = files_of(small_families.front());
    const auto whole = Model::load(std::move(files));
    REQUIRE(whole);
    Network network = (*whole)->network();
    std::vector<Tensor> zeros;
    for (Block& block : network.blocks)
        for (Linear& linear : block.qkv) {
            const Tensor& zero = zeros.emplace_back(Shape{linear.weight.in, linear.weight.out});
            linear.weight = {.data = std::as_bytes(zero.values()).data(),
                             .in = linear.weight.in,
                             .out = linear.weight.out};
        }
    const auto factors =
        std::make_shared<LatentFactors>(Model::changed(*whole, std::move(network), std::move(zeros)));
    while (factors->step()) continue;
    CHECK(factors->kept(0, 1) == 1);
    const auto changed = SmallerModel::latent(factors, 1).finish();
    CHECK(keys_and_values(*changed, 0).norm() == 0);
    small_run(changed);
}
