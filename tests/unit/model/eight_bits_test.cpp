#include "model/eight_bits.hpp"

#include <catch_amalgamated.hpp>
#include <numeric>

#include "model/explain.hpp"
#include "model/network.hpp"
#include "support/numbers.hpp"
#include "support/small_families.hpp"
#include "tensor/blocks.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Wide enough for rows of blocks. GPT-2's matrices are [in, out]; 24 outputs of gpt2's are not a whole block,
// but its inputs are.
const std::vector<SmallFamily> wide_families{
    {"gpt2",
     R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_inner": 96})"},
    {"llama", R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 40})"},
    {"phi3", R"({"model_type": "phi3", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24})"},
};

const FamilyRules& rules_of(const ModelFiles& files) {
    return family_rules(parse_model_config(files.config)->family);
}

// Feeds in the file as it arrives, in pieces of any size.
HeldFile held_in_pieces(const Bytes& file, const FamilyRules& rules, std::uint64_t seed) {
    Random random(seed);
    EightBits reader(rules, file.size());
    for (std::size_t at = 0; at < file.size();) {
        const auto size =
            std::min(1 + static_cast<std::size_t>(random.below(seed % 2 ? 7 : 5000)), file.size() - at);
        REQUIRE(reader.add(std::span(file).subspan(at, size)));
        at += size;
    }
    auto held = reader.finish();
    REQUIRE(held);
    return *std::move(held);
}

ModelFiles in_eight_bits(const ModelFiles& files, std::uint64_t seed = 1) {
    ModelFiles eight{.config = files.config, .index = files.index, .weights = {}, .held = {}};
    for (const auto& [name, bytes] : files.weights)
        eight.held[name] = held_in_pieces(bytes, rules_of(files), seed);
    return eight;
}

// The same numbers in f32, in the file's layout.
ModelFiles widened(const ModelFiles& files) {
    const ModelFiles eight = in_eight_bits(files);
    std::vector<StoredTensor> tensors;
    for (const HeldTensor& held : eight.held.at("model.safetensors").tensors) {
        std::vector<float> values(static_cast<std::size_t>(*element_count(held.entry.shape)));
        convert_to_f32(held.dtype, held.bytes, values);
        if (held.transposed) {
            const auto in = static_cast<std::size_t>(held.entry.shape[0]),
                       out = static_cast<std::size_t>(held.entry.shape[1]);
            const std::vector<float> rows = values;
            for (std::size_t i = 0; i < in; ++i)
                for (std::size_t o = 0; o < out; ++o) values[i * out + o] = rows[o * in + i];
        }
        const auto bytes = std::as_bytes(std::span(values));
        tensors.push_back({held.entry.name, "F32", held.entry.shape, {bytes.begin(), bytes.end()}});
    }
    ModelFiles plain{.config = files.config, .index = {}, .weights = {}, .held = {}};
    plain.weights["model.safetensors"] = write_safetensors(tensors);
    return plain;
}

const std::vector<std::int32_t> short_text{3, 14, 15, 9, 2, 6, 5, 3, 5, 8};

Tensor logits_of(const Trace& trace) { return trace.logits({0, trace.tokens()}); }

}  // namespace

TEST_CASE("a model in 8 bits computes with its rounded numbers", "[model][eight]") {
    for (const SmallFamily& family : wide_families) {
        INFO(family.name);
        const ModelFiles files = files_of(family);
        const auto eight = Model::load(in_eight_bits(files)), plain = Model::load(widened(files));
        REQUIRE(eight);
        REQUIRE(plain);
        CHECK((*eight)->in_eight_bits());
        CHECK_FALSE((*plain)->in_eight_bits());
        CHECK((*eight)->parameter_count() == (*plain)->parameter_count());
        CHECK((*eight)->memory_bytes() < (*plain)->memory_bytes() / 2);
        const auto a = run_forward(*eight, short_text), b = run_forward(*plain, short_text);
        REQUIRE(a);
        REQUIRE(b);
        // The scale of 32 weights multiplies their sum, which rounds otherwise than a sum of scaled weights.
        // The difference was 2.5e-6 of the largest logit at most.
        const Tensor rounded = logits_of(**a), expected = logits_of(**b);
        CHECK(largest_difference(rounded.values(), expected.values()) <=
              1e-5 * double{largest_magnitude(expected.values())});
        const auto part = run_forward(*eight, {short_text.begin(), short_text.end() - 1});
        REQUIRE(part);
        auto continued = ForwardPass::start(*part, short_text);
        REQUIRE(continued);
        const auto whole = continued->finish();
        REQUIRE(whole);
        CHECK(logits_of(**whole) == logits_of(**a));
    }
}

TEST_CASE("a file's division into pieces does not matter, and its size in memory is known from its header",
          "[model][eight]") {
    const ModelFiles files = files_of(wide_families[0]);
    const Bytes& file = files.weights.at("model.safetensors");
    const auto header = safetensors_header_size(file, file.size());
    REQUIRE(header);
    EightBits reader(rules_of(files), file.size());
    REQUIRE(reader.add(std::span(file).first(static_cast<std::size_t>(*header) - 1)));
    CHECK_FALSE(reader.bytes_held());
    REQUIRE(reader.add(std::span(file).subspan(static_cast<std::size_t>(*header) - 1, 1)));
    const HeldFile a = held_in_pieces(file, rules_of(files), 1), b = held_in_pieces(file, rules_of(files), 2);
    std::uint64_t bytes = 0;
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
        CHECK(a.tensors[i].bytes == b.tensors[i].bytes);
        bytes += a.tensors[i].bytes.size();
    }
    CHECK(reader.bytes_held() == bytes);
}

TEST_CASE("a number in 8 bits tells its place in the file", "[model][eight]") {
    for (const SmallFamily& family : wide_families) {
        INFO(family.name);
        const ModelFiles files = files_of(family);
        const Bytes& file = files.weights.at("model.safetensors");
        const auto model = Model::load(in_eight_bits(files));
        REQUIRE(model);
        const WeightView& up = (*model)->network().blocks[1].mlp.up.weight;
        for (const auto& [in, out] : {std::pair<Index, Index>{0, 0}, {5, 7}, {31, 3}, {17, 22}}) {
            const StoredAt place = stored_at(**model, up, in, out);
            REQUIRE(place.weight);
            CHECK(place.weight->rounded_from == DType::f32);
            float there = 0;
            std::memcpy(&there, file.data() + place.byte, sizeof there);
            CHECK(static_cast<double>(place.value()) == element(up, in, out));
            // Within half a step of the block, whose largest number is the largest of 32 inputs.
            CHECK(std::abs(there - place.value()) <= 0.51f * place.block().d);
        }
    }
}

TEST_CASE("a block with a number that is not finite is reported", "[model][eight]") {
    ModelFiles files = files_of(wide_families[1]);
    auto tensors = read_safetensors(files.weights.at("model.safetensors"));
    for (StoredTensor& tensor : tensors)
        if (tensor.name == "layers.1.self_attn.q_proj.weight") {
            const float nan = std::numeric_limits<float>::quiet_NaN();
            std::memcpy(tensor.bytes.data() + 160, &nan, sizeof nan);
        }
    files.weights["model.safetensors"] = write_safetensors(tensors);
    const auto model = Model::load(in_eight_bits(files));
    REQUIRE(model);
    CHECK((*model)->weight("layers.1.self_attn.q_proj.weight")->nan_count == 32);
    REQUIRE((*model)->notes().size() == 2);
    CHECK((*model)->notes()[0] ==
          "tensor 'layers.1.self_attn.q_proj.weight' holds 1 block whose scale is not finite");
    CHECK((*model)->notes()[1] == "its matrices are held in 8 bits, rounded as they arrived");
}

TEST_CASE("a truncated, overlong or invalid file is refused in one sentence", "[model][eight]") {
    const ModelFiles files = files_of(wide_families[0]);
    const Bytes& file = files.weights.at("model.safetensors");
    for (const std::size_t kept : {std::size_t{0}, std::size_t{5}, std::size_t{100}, file.size() - 1}) {
        EightBits reader(rules_of(files), file.size());
        REQUIRE(reader.add(std::span(file).first(kept)));
        const auto held = reader.finish();
        REQUIRE_FALSE(held);
        CHECK(held.error().message == "this .safetensors file did not arrive whole");
    }
    EightBits longer(rules_of(files), file.size());
    REQUIRE(longer.add(file));
    const auto more = longer.add(std::span(file).first(1));
    REQUIRE_FALSE(more);
    CHECK(more.error().message == "this .safetensors file is longer than it was said to be");
    EightBits none(rules_of(files), file.size());
    const Bytes noise(64, std::byte{0xee});
    CHECK_FALSE(none.add(noise));
}
