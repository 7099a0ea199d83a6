// Tests that a weight in a block explains itself by the scales and the integer that it consists of, and by
// its place.
#include "tensor/blocks.hpp"

#include <catch_amalgamated.hpp>
#include <cstdlib>
#include <map>

#include "model/forward.hpp"
#include "model/network.hpp"
#include "subjects/explain.hpp"
#include "support/gguf_writer.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Positions of the halves of a whole block's scales.
struct BlockType {
    DType type;
    std::vector<std::size_t> scales;
};
const std::vector<BlockType> block_types{
    {DType::q4_0, {0}},    {DType::q4_1, {0, 2}}, {DType::q5_0, {0}},      {DType::q5_1, {0, 2}},
    {DType::q8_0, {0}},    {DType::iq4_nl, {0}},  {DType::q2_k, {80, 82}}, {DType::q3_k, {108}},
    {DType::q4_k, {0, 2}}, {DType::q5_k, {0, 2}}, {DType::q6_k, {208}}};

constexpr SmallFamily wide_llama{
    "llama",
    R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 256,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 256})"};

// Fills every matrix with blocks of random bits, with scales between 2^-8 and 2^-6.
Bytes file_in_blocks(const BlockType& of) {
    const ModelFiles files = files_of(wide_llama);
    const auto config = parse_model_config(files.config);
    REQUIRE(config);
    GgufWriter writer;
    write_gguf_keys(writer, *config, "llama", nlohmann::json::object());
    Random random(7);
    for (const StoredTensor& tensor : read_safetensors(files.weights.begin()->second)) {
        const std::string name = gguf_name(tensor.name, false);
        if (tensor.shape.size() == 1) {
            writer.tensor(name, tensor.shape, values_of(tensor));
            continue;
        }
        Bytes bytes(bytes_of(of.type, *element_count(tensor.shape)));
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        for (std::size_t at = 0; at < bytes.size(); at += byte_size(of.type))
            for (const std::size_t scale : of.scales)
                bytes[at + scale + 1] = static_cast<std::byte>(0x1c + random.below(8));
        writer.tensor(name, of.type, tensor.shape, bytes);
    }
    return writer.file();
}

}  // namespace

TEST_CASE("a weight in a block explains itself by its scales, its integer and its block's place", "[gguf]") {
    for (const BlockType& of : block_types) {
        const DType type = of.type;
        CAPTURE(name(type));
        const Bytes file = file_in_blocks(of);
        const auto model = Model::load(gguf_files(file));
        INFO((model ? "" : model.error().message));
        REQUIRE(model);
        auto trace = run_forward(*model, {1, 2, 3});
        REQUIRE(trace);
        const TextRun run(*std::move(trace), {"a", "b", "c"}, "abc", "model.gguf");
        struct Case {
            Stage stage;
            const char* weight;
            Index row, col;  // the cell
            Index out, in;   // the matrix
        };
        for (const Case& c : {Case{Stage::w_q, "blk.0.attn_q.weight", 200, 100, 128 + 100, 200},
                              Case{Stage::w_k, "blk.0.attn_k.weight", 31, 1, 128 + 1, 31},
                              Case{Stage::w_v, "blk.0.attn_v.weight", 32, 127, 255, 32},
                              Case{Stage::w_o, "blk.0.attn_output.weight", 5, 9, 9, 128 + 5},
                              Case{Stage::w_up, "blk.0.ffn_up.weight", 255, 17, 17, 255},
                              Case{Stage::w_down, "blk.0.ffn_down.weight", 64, 3, 3, 64},
                              Case{Stage::w_token, "token_embd.weight", 19, 250, 19, 250},
                              Case{Stage::w_head, "output.weight", 250, 19, 19, 250}}) {
            CAPTURE(c.weight);
            const auto why =
                explain_model_cell(run, Places{{0, 1}}, {.stage = c.stage, .row = c.row, .col = c.col});
            REQUIRE(why);
            const Weight& weight = *(*model)->weight(c.weight);
            const float value = to_tensor(weight).matrix()(c.out, c.in);
            CHECK(why->f64 == static_cast<double>(value));
            CHECK(why->f32 == why->f64);

            // The same computed from the steps.
            std::map<std::string, float> steps;
            for (const auto& step : why->steps) steps[step.name] = std::strtof(step.value.c_str(), nullptr);
            REQUIRE(steps.contains("d"));
            REQUIRE(steps.contains("q"));
            const float scale = steps.contains("s") ? steps["d"] * steps["s"] : steps["d"];
            float again = scale * steps["q"];
            if (steps.contains("d_min"))
                again += -(steps["d_min"] * steps["m"]);
            else if (steps.contains("m"))
                again += steps["m"];
            CHECK(again == value);

            // The same read from the file, at the place that the note states.
            const Index row = weight.stored_row(c.out), block = block_elements(type);
            const std::size_t byte = weight.offset + bytes_of(type, (row * 256 + c.in) / block * block);
            const WeightBlock stored = take_apart(type, std::span(file).subspan(byte, byte_size(type)));
            CHECK(stored.value(static_cast<std::size_t>(c.in % block)) == value);
            CHECK(why->note == "Stored as " + std::string(name(type)) + " in " + c.weight +
                                   ", in the block at byte " + with_commas(static_cast<std::int64_t>(byte)) +
                                   " of model.gguf.");
        }
        const auto plain =
            explain_model_cell(run, Places{{0, 1}}, {.stage = Stage::norm_gain, .row = 0, .col = 3});
        REQUIRE(plain);
        CHECK(plain->steps.size() == 1);
        CHECK(plain->note.starts_with("Stored as float32 in blk.0.attn_norm.weight, at byte "));
    }
}
