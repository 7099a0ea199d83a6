#include "train/encoder_decoder.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "io/safetensors.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/numbers.hpp"
#include "support/shared_data.hpp"
#include "support/this_build.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using nlohmann::json;

namespace {

constexpr std::string_view small_t5 =
    R"({"model_type": "t5", "vocab_size": 20, "d_model": 16, "d_kv": 6, "num_heads": 2, "d_ff": 24, "num_layers": 2,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6})";
constexpr std::string_view small_t5_v1_1 =
    R"({"model_type": "t5", "vocab_size": 20, "d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 20, "num_layers": 1,
    "num_decoder_layers": 2, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})";

struct Loaded {
    ModelConfig config;
    ParameterLayout layout;
    EncoderDecoder network;
    ParameterBuffer parameters;
};

Loaded loaded(std::span<const std::byte> config_json) {
    const auto config = parse_t5_config(config_json);
    INFO((config ? "" : config.error().message));
    REQUIRE(config);
    auto layout = t5_layout(*config);
    REQUIRE(layout);
    EncoderDecoder network(*config, *layout);
    ParameterBuffer parameters = initial_t5_parameters(*layout, *config, 3);
    return {*config, *std::move(layout), std::move(network), std::move(parameters)};
}

// Pairs of different lengths, so that they would mix if they were divided wrongly.
SequencePairs some_pairs() {
    SequencePairs pairs;
    pairs.add(std::vector<std::int32_t>{3, 14, 15, 9, 1}, std::vector<std::int32_t>{2, 7, 18, 1}, 0);
    pairs.add(std::vector<std::int32_t>{5, 1}, std::vector<std::int32_t>{6, 6, 3, 4, 8, 9, 2, 1}, 0);
    pairs.add(std::vector<std::int32_t>{4, 4, 16, 17, 11, 12, 13, 8, 9, 10, 1},
              std::vector<std::int32_t>{19, 1}, 0);
    pairs.targets[1] = -1;
    return pairs;
}

// Layer `layer` of [layers, heads, queries, keys].
std::span<const float> layer_of(const Tensor& all, Index layer) {
    const auto size = static_cast<std::size_t>(all.dim(1) * all.dim(2) * all.dim(3));
    return all.values().subspan(static_cast<std::size_t>(layer) * size, size);
}

}  // namespace

TEST_CASE("A T5's logits and weights match transformers, for two pairs side by side",
          "[unit][train][golden]") {
    const auto folder = shared_data("families");
    if (!folder) SKIP("shared/families is not beside this project; set ATTN_SHARED to the folder above it");
    const std::string name = GENERATE("t5", "t5_v1_1");
    CAPTURE(name);
    Loaded t5 = loaded(read_file(*folder / name / "config.json"));
    const auto bytes = read_file(*folder / name / "model.safetensors");
    const auto file = parse_safetensors(bytes);
    REQUIRE(file);
    std::set<std::string> unread;
    for (const TensorEntry& entry : file->header.tensors) unread.insert(entry.name);
    for (const auto& entry : t5.layout.entries()) {
        CAPTURE(entry.name);
        const auto tensor = file->tensor(entry.name);
        REQUIRE(tensor);
        REQUIRE(tensor->shape() == entry.shape);
        std::ranges::copy(tensor->values(), entry.in(std::span(t5.parameters)).begin());
        unread.erase(entry.name);
    }
    // The second is in the file of v1.0, and transformers does not read it either.
    for (const std::string& left : unread)
        CHECK(left == "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");

    const auto expect_bytes = read_file(*folder / name / "expect.json");
    const json expect = json::parse(reinterpret_cast<const char*>(expect_bytes.data()),
                                    reinterpret_cast<const char*>(expect_bytes.data()) + expect_bytes.size());
    Sequences source, decoder;
    for (const json& part : {expect, expect["long"]}) {
        source.add(part["ids"].get<std::vector<std::int32_t>>());
        decoder.add(part["decoder_ids"].get<std::vector<std::int32_t>>());
    }
    const auto kept = t5.network.activations(source.tokens(), 40);
    t5.network.encode(t5.parameters, source, *kept);
    const ConstMatrix logits = t5.network.decode(t5.parameters, decoder, *kept);

    // The folder's README explains the tolerances.
    const double of_logits = expect["tolerance"]["logits"].get<double>(),
                 of_weights = expect["tolerance"]["attention"].get<double>();
    const auto arrays_bytes = read_file(*folder / name / "expect.npz");
    const auto arrays = parse_npz(arrays_bytes);
    REQUIRE(arrays);
    for (const Index pair : {0, 1}) {
        const std::string prefix = pair == 0 ? "" : "long_";
        CAPTURE(prefix);
        const Range part = decoder.parts[static_cast<std::size_t>(pair)];
        CHECK_THAT(
            largest_difference({logits.row(part.begin), static_cast<std::size_t>(part.size() * logits.cols)},
                               array_of(*arrays, prefix + "logits").values()),
            WithinAbs(0, of_logits));
        for (const auto& [which, key] : {std::pair{EncoderDecoder::Attention::encoder, "attention"},
                                         std::pair{EncoderDecoder::Attention::decoder, "decoder_attention"},
                                         std::pair{EncoderDecoder::Attention::cross, "cross_attention"}}) {
            const Tensor expected = array_of(*arrays, prefix + key);
            for (Index layer = 0; layer < expected.dim(0); ++layer) {
                CAPTURE(key, layer);
                CHECK_THAT(largest_difference(t5.network.weights(which, layer, pair, *kept).values(),
                                              layer_of(expected, layer)),
                           WithinAbs(0, of_weights));
            }
        }
    }
}

// The difference quotient of fourth order, (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h, is off by h⁴/30 times
// a fifth derivative, and by 1.5 / h times the error of f. The 13 terms of f, in f32, are about 4 with the
// tied head and 30 with the other, whose logits are not scaled down: f is off by 1e-6 and by 1e-5. The
// shorter the steps, the fewer cross a kink of ReLU, where the derivative jumps. For a large matrix, some
// evenly spread elements are tested.
TEST_CASE("The gradient of weights of every kind is the derivative of the loss: central differences",
          "[unit][train]") {
    const std::string_view config = GENERATE(small_t5, small_t5_v1_1);
    CAPTURE(config);
    Loaded t5 = loaded(as_bytes(config));
    const bool kinks = t5.config.activation == Activation::relu;
    constexpr double rounding = 2e-3;
    const SequencePairs pairs = some_pairs();
    const auto kept = t5.network.activations(18, 11);
    ParameterBuffer gradients(t5.parameters.size());
    const double sum = t5.network.gradient(t5.parameters, pairs, 1, *kept, gradients);
    const auto loss = [&] { return t5.network.loss(t5.parameters, pairs, *kept).sum; };
    CHECK_THAT(loss(), WithinAbs(sum, 1e-5));
    for (const auto& entry : t5.layout.entries()) {
        const auto found = entry.in(std::span<const float>(gradients));
        double worst = 0;
        int beyond = 0, moved = 0;
        const std::size_t most = test::sanitized ? 12 : 48;
        for (std::size_t i = 0; i < found.size(); i += std::max<std::size_t>(found.size() / most, 1)) {
            ++moved;
            float& weight = entry.in(std::span(t5.parameters))[i];
            const float was = weight, h = kinks ? 0.002f : 0.01f;
            const auto at = [&](float step) {
                weight = was + step;
                return loss();
            };
            const double slope =
                (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * static_cast<double>(h));
            weight = was;
            const double off = std::abs(slope - static_cast<double>(found[i]));
            beyond += off > rounding;
            worst = std::max(worst, off);
        }
        CAPTURE(entry.name);
        CHECK(beyond <= (kinks ? 1 + moved / 20 : 0));
        CHECK(worst < (kinks ? 0.05 : rounding));
        CHECK(largest_magnitude(found) > 0.05f);
    }
}

TEST_CASE("Pairs side by side have the loss and the gradient of each alone", "[unit][train]") {
    Loaded t5 = loaded(as_bytes(small_t5));
    const SequencePairs all = some_pairs();
    const auto kept = t5.network.activations(18, 11);
    ParameterBuffer together(t5.parameters.size()), apart(t5.parameters.size());
    const double sum = t5.network.gradient(t5.parameters, all, 0.5f, *kept, together);
    double sum_apart = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        SequencePairs one;
        const auto part = [](std::span<const std::int32_t> of, Range range) {
            return of.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
        };
        one.source.add(part(all.source.ids, all.source.parts[i]));
        one.decoder.add(part(all.decoder.ids, all.decoder.parts[i]));
        const auto targets = part(all.targets, all.decoder.parts[i]);
        one.targets.assign(targets.begin(), targets.end());
        sum_apart += t5.network.gradient(t5.parameters, one, 0.5f, *kept, apart);
    }
    // The same sums in another order, in f32.
    CHECK_THAT(sum_apart, WithinAbs(sum, 1e-5));
    CHECK_THAT(largest_difference(apart, together), WithinAbs(0, 1e-5));
}

TEST_CASE("A config.json that no translator can have is refused with one sentence", "[unit][train]") {
    struct Wrong {
        std::string json, says;
    };
    for (const Wrong& wrong :
         {Wrong{"[]", "should hold an object"},
          Wrong{R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16, "n_layer": 2,
                "n_head": 2})",
                "not of a T5"},
          Wrong{R"({"model_type": "t5", "d_model": 0})", "'d_model'"},
          Wrong{
              R"({"model_type": "t5", "vocab_size": 20, "d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 20,
                "num_layers": 1, "eos_token_id": 20})",
              "one of the 20 ids"}}) {
        const auto config = parse_t5_config(as_bytes(wrong.json));
        REQUIRE(!config);
        CHECK_THAT(config.error().message, ContainsSubstring(wrong.says));
    }
}

// The order in which the numbers of models/translator were drawn.
TEST_CASE("A trained T5's weights are stored block by block", "[unit][train]") {
    const Loaded t5 = loaded(as_bytes(small_t5));
    std::vector<std::string> names{"shared"};
    for (const char* stack : {"encoder", "decoder"}) {
        const bool decoder = stack == std::string_view("decoder");
        for (const char* block : {"0", "1"}) {
            const std::string in_block = std::string(stack) + ".block." + block + ".layer.";
            for (const char* name : {"0.SelfAttention.q", "0.SelfAttention.k", "0.SelfAttention.v",
                                     "0.SelfAttention.o", "0.layer_norm"})
                names.push_back(in_block + name);
            if (block == std::string_view("0"))
                names.push_back(in_block + "0.SelfAttention.relative_attention_bias");
            for (const char* name : {"1.EncDecAttention.q", "1.EncDecAttention.k", "1.EncDecAttention.v",
                                     "1.EncDecAttention.o", "1.layer_norm"})
                if (decoder) names.push_back(in_block + name);
            for (const char* name : {".DenseReluDense.wi", ".DenseReluDense.wo", ".layer_norm"})
                names.push_back(in_block + (decoder ? "2" : "1") + name);
        }
        names.push_back(std::string(stack) + ".final_layer_norm");
    }
    REQUIRE(t5.layout.entries().size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(t5.layout.entries()[i].name == names[i] + ".weight");
}
