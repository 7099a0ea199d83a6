// Compares models of all architectures, converted to GGUF in the way of llama.cpp's converter, with their
// originals.
#include <cstring>

#include "model/forward.hpp"
#include "model/network.hpp"
#include "support/gguf_writer.hpp"
#include "support/shared_data.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::shared_ptr<const Model> opened(ModelFiles files) {
    auto model = Model::load(std::move(files));
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    return *model;
}

std::string gguf_model_refusal(const GgufWriter& writer) {
    const auto model = Model::load(gguf_files(writer.file()));
    REQUIRE(!model);
    return model.error().message;
}

// Compares runs of both files: logits may differ by this much, attention weights by a tenth of it. 0: the
// bits are the same.
void check_converted(const ModelFiles& files, double tolerance, const std::vector<std::int32_t>& ids) {
    const auto converted = opened(gguf_files(converted_to_gguf(files).file()));
    ModelFiles copy = files;
    const auto model = opened(std::move(copy));
    CHECK(converted->parameter_count() == model->parameter_count());
    CHECK(converted->notes().size() == 1);  // says that it lists no tokens
    CHECK(converted->gguf() != nullptr);
    const auto a = run_forward(converted, ids), b = run_forward(model, ids);
    REQUIRE(a);
    REQUIRE(b);
    const auto n = std::ssize(ids);
    const Tensor x = (*a)->logits({0, n}), y = (*b)->logits({0, n});
    CHECK(deviation(x.values(), y.values()) <= tolerance);
    for (Index layer = 0; layer < (*a)->attentions(); ++layer)
        CHECK(deviation(weights_of((*a)->attention(layer).record()).values(),
                        weights_of((*b)->attention(layer).record()).values()) <= tolerance / 10);
    // Norms alone, which no rotation changes, come from the right rows.
    for (std::size_t layer = 0; layer < (*a)->layers().size(); ++layer)
        CHECK(deviation(Tensor((*a)->layers()[layer].attention.q()).values(),
                        Tensor((*b)->layers()[layer].attention.q()).values()) <= tolerance);
}

const SmallFamily& small_family(std::string_view name) {
    const auto found = std::ranges::find(small_families, name,
                                         [](const SmallFamily& f) { return std::string_view(f.name); });
    REQUIRE(found != small_families.end());
    return *found;
}

// llama.cpp supports no period other than 6.
constexpr SmallFamily six_layers{
    "gemma3_text",
    R"({"model_type": "gemma3_text", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 7, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "head_dim": 6, "query_pre_attn_scalar": 6, "sliding_window": 4, "rope_local_base_freq": 10000,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0}})"};
// Its feed_forward_length does not match its tensors.
constexpr SmallFamily gpt2_untied{
    "gpt2",
    R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2,
        "n_inner": 24, "tie_word_embeddings": false})"};
constexpr SmallFamily qwen2{
    "qwen2",
    R"({"model_type": "qwen2", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24})"};
constexpr SmallFamily llama_with_biases{
    "llama",
    R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
        "attention_bias": true, "mlp_bias": true, "tie_word_embeddings": true})"};

}  // namespace

TEST_CASE("models of each architecture compute the same from GGUF files", "[gguf][model]") {
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6};
    for (const SmallFamily& family : {small_family("llama"), small_family("qwen3"), small_family("gemma2"),
                                      small_family("phi3"), six_layers, qwen2, llama_with_biases}) {
        CAPTURE(family.name);
        check_converted(files_of(family), 0, ids);
    }
    // Its matrices are transposed, so sums are in another order.
    check_converted(files_of(small_family("gpt2")), 1e-5, ids);
    check_converted(files_of(gpt2_untied), 1e-5, ids);
}

TEST_CASE("published forms of rotary scaling are given by keys and by tensors", "[gguf][model]") {
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6};
    check_converted(read_model(golden_folder("qwen2-linear-f32")), 0, ids);
    // The factors are in single precision.
    check_converted(read_model(golden_folder("llama3-scaled-f32")), 1e-5, ids);

    // YaRN (arXiv 2309.00071), written out for 2 pairs: base 10,000, 4 components, factor 4, 8 tokens. Pairs
    // rotate 8 / 2π = 1.27 times and 0.0127 times, both less than 32 times and only the first more than once.
    // The pair with 32 rotations, rounded down, is 0; the pair with one rotation, ln(1.27) · 4 / (2 ln
    // 10,000) = 0.052, rounded up, is 1.
    GgufWriter writer = converted_to_gguf(files_of(
        {"qwen2",
         R"({"model_type": "qwen2", "vocab_size": 20, "max_position_embeddings": 32, "hidden_size": 8,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 8})"}));
    writer.text("qwen2.rope.scaling.type", "yarn");
    writer.real("qwen2.rope.scaling.factor", 4);
    writer.count("qwen2.rope.scaling.original_context_length", 8);
    writer.real("qwen2.rope.scaling.attn_factor", 0.5);
    const auto model = opened(gguf_files(writer.file()));
    const Rotary& rotary = model->network().rotary.front();
    REQUIRE(rotary.frequencies.size() == 2);
    CHECK(rotary.frequencies[0] == Catch::Approx(1).epsilon(1e-12));
    CHECK(rotary.frequencies[1] == Catch::Approx(0.01 / 4).epsilon(1e-12));
    CHECK(rotary.magnitude == Catch::Approx(0.5 * (1 + 0.1 * std::log(4.0))).epsilon(1e-12));
}

TEST_CASE("other people's GGUF models compute the same", "[gguf][conformance]") {
    const auto folder = shared_data("families");
    if (!folder) SKIP("shared/families is not beside this project; set ATTN_SHARED to the folder above it");
    for (const char* name : {"gemma2", "gemma3_text", "phi3", "phi3_longrope", "qwen3"}) {
        CAPTURE(name);
        ModelFiles files{.config = read_file(*folder / name / "config.json"), .index = {}, .weights = {}};
        files.weights["model.safetensors"] = read_file(*folder / name / "model.safetensors");
        // Factors of single pairs are in single precision.
        check_converted(files, std::string_view(name) == "phi3_longrope" ? 1e-5 : 0,
                        {3, 1, 4, 1, 5, 9, 2, 6});
    }
}

TEST_CASE("rows of llama's Q and K are restored, with their places in the file", "[gguf][model]") {
    const ModelFiles files = files_of(small_family("llama"));
    const Bytes file = converted_to_gguf(files).file();
    const auto model = opened(gguf_files(file));
    const Weight* q = model->weight("blk.0.attn_q.weight");
    REQUIRE(q);
    CHECK(q->paired_rows == 8);
    CHECK(q->stored_row(0) == 0);
    CHECK(q->stored_row(1) == 2);
    CHECK(q->stored_row(4) == 1);
    CHECK(q->stored_row(8 + 7) == 8 + 7);
    const Tensor values = to_tensor(*q);
    for (Index row = 0; row < 16; ++row) {
        float stored = 0;
        std::memcpy(&stored, file.data() + q->offset + static_cast<std::size_t>(q->stored_row(row) * 16) * 4,
                    4);
        CHECK(stored == values.matrix()(row, 0));
    }
    CHECK(model->weight("blk.0.attn_v.weight")->paired_rows == 0);
}

TEST_CASE("a GGUF model in several files needs all of them, and no others", "[gguf][model]") {
    const ModelFiles files = files_of(small_family("qwen3"));
    ModelFiles shards, lacking, mixed;
    for (int shard = 0; shard < 3; ++shard) {
        // The order of names differs from the order of the shards.
        const std::string name = std::string(1, static_cast<char>('c' - shard)) + ".gguf";
        const Bytes file = converted_to_gguf(files, shard, 3).file();
        shards.weights[name] = file;
        mixed.weights[name] = shard == 1 ? converted_to_gguf(files, 1, 4).file() : file;
        if (shard != 2) lacking.weights[name] = file;
    }
    const auto whole = opened(gguf_files(converted_to_gguf(files).file())), model = opened(std::move(shards));
    CHECK(model->config() == whole->config());
    REQUIRE(model->weights().size() == whole->weights().size());
    for (const Weight& weight : whole->weights())
        CHECK(to_tensor(*model->weight(weight.name)) == to_tensor(weight));
    CHECK_THAT(Model::load(std::move(lacking)).error().message, ContainsSubstring("number 3 is missing"));
    CHECK_THAT(Model::load(std::move(mixed)).error().message, ContainsSubstring("number 2 of 4 where"));
}

TEST_CASE("a GGUF model is described by its keys", "[gguf][model]") {
    GgufWriter writer = converted_to_gguf(files_of(small_family("llama")));
    writer.texts("tokenizer.ggml.tokens", {"a", "b"});
    writer.text("tokenizer.ggml.model", "llama");
    writer.count("tokenizer.ggml.bos_token_id", 20);
    writer.tensor("blk.0.other.weight", {2}, {1, 2});
    const auto model = opened(gguf_files(writer.file()));
    CHECK(model->notes() ==
          std::vector<std::string>{
              "not used by this architecture: 'blk.0.other.weight'",
              "the file lists 2 tokens (tokenizer.ggml.tokens), but the embedding has 20 rows",
              "the file has 20 as 'tokenizer.ggml.bos_token_id', which is outside the vocabulary of 20"});
    CHECK(model->config().bos_ids == std::vector<std::int64_t>{20});
    CHECK(model->gguf()->find("tokenizer.ggml.tokens")->texts().size() == 2);

    GgufWriter experts = converted_to_gguf(files_of(small_family("llama")));
    experts.count("llama.expert_count", 8);
    CHECK_THAT(gguf_model_refusal(experts), ContainsSubstring("llama.expert_count"));
    GgufWriter scaled = converted_to_gguf(files_of(small_family("llama")));
    scaled.text("llama.rope.scaling.type", "nonesuch");
    CHECK_THAT(gguf_model_refusal(scaled), ContainsSubstring("the RoPE type 'nonesuch'"));
    ModelFiles both = gguf_files(converted_to_gguf(files_of(small_family("llama"))).file());
    both.weights["model.safetensors"] = {};
    CHECK_THAT(Model::load(std::move(both)).error().message, ContainsSubstring("give one kind of file"));
}
