// Compares GGUF files with the expectations in shared/gguf: every tensor to the last bit, logits and
// attention of the dequantised weights in float64, and a sentence for each broken file.
#include <catch_amalgamated.hpp>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "io/gguf_model.hpp"
#include "model/explain.hpp"
#include "model/forward.hpp"
#include "model/generate.hpp"
#include "support/gguf_writer.hpp"
#include "support/kernels.hpp"
#include "support/npz.hpp"
#include "support/sha256.hpp"
#include "support/shared_data.hpp"
#include "tensor/blocks.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* no_gguf =
    "shared/gguf is not beside this project; set ATTN_SHARED to the folder above it";

nlohmann::json read_json(const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    return nlohmann::json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// The expected results of a file, or of a model's files.
std::vector<nlohmann::json> expectations(const std::filesystem::path& folder) {
    std::vector<nlohmann::json> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "expect"))
        if (entry.path().extension() == ".json") all.push_back(read_json(entry.path()));
    REQUIRE(all.size() >= 20);
    return all;
}

ModelFiles files_of(const std::filesystem::path& folder, const nlohmann::json& expected) {
    ModelFiles files;
    const auto names = expected["file"].is_array() ? expected["file"] : nlohmann::json{expected["file"]};
    for (const std::string name : names)
        files.weights[std::filesystem::path(name).filename().string()] = read_file(folder / name);
    return files;
}

std::shared_ptr<const Model> loaded(ModelFiles files) {
    auto model = Model::load(std::move(files));
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    return *model;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

TEST_CASE("every tensor of a GGUF file has its values to the last bit", "[conformance][gguf]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP(no_gguf);
    CHECK(sha256({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (const nlohmann::json& expected : expectations(*folder)) {
        CAPTURE(expected["file"].dump());
        const ModelFiles files = files_of(*folder, expected);
        const auto model = gather_gguf(files.weights);
        INFO((model ? "" : model.error().message));
        REQUIRE(model);
        CHECK(model->header().version == expected["version"]);
        CHECK(model->header().alignment == expected["alignment"]);
        CHECK(model->header().data_offset == expected["data_starts_at"]);
        std::size_t tensors = 0;
        for (const GgufModel::File& file : model->files) tensors += file.header.tensors.size();
        CHECK(tensors == expected["tensors"].size());
        for (const auto& tensor : expected["tensors"]) {
            const std::string name = tensor["name"];
            CAPTURE(name);
            const GgufModel::Place place = model->find(name);
            REQUIRE(place.tensor);
            Shape shape = tensor["ne"];
            std::ranges::reverse(shape);
            CHECK(place.tensor->shape == shape);
            CHECK(place.tensor->dtype_name == tensor["type"].get<std::string>());
            CHECK(place.tensor->offset == tensor["offset"]);
            CHECK(place.tensor->bytes == tensor["bytes"]);
            std::vector<float> values(static_cast<std::size_t>(*element_count(shape)));
            convert_to_f32(place.tensor->dtype, place.bytes(), values);
            CHECK(sha256(std::as_bytes(std::span(values))) == tensor["sha256"].get<std::string>());
        }
    }
}

TEST_CASE("blocks of random bits have llama.cpp's values", "[conformance][gguf]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP(no_gguf);
    const auto npz = read_file(*folder / "expect" / "blocks.npz");
    const auto arrays = parse_npz(npz);
    REQUIRE(arrays);
    int types = 0;
    for (const GgmlType& type : ggml_types) {
        if (!type.dtype || block_elements(*type.dtype) == 1) continue;
        CAPTURE(type.name);
        ++types;
        const auto find = [&](const char* what) {
            const auto found = std::ranges::find(*arrays, std::string(type.name) + what, &NpzArray::name);
            REQUIRE(found != arrays->end());
            auto unpacked = Unpacking(found->entry).finish();
            REQUIRE(unpacked);
            return *std::move(unpacked);
        };
        const auto raw_file = find("_raw"), value_file = find("_values");
        const auto raw = parse_npy(raw_file.bytes), values = parse_npy(value_file.bytes);
        REQUIRE(raw);
        REQUIRE(values);
        REQUIRE(values->dtype == DType::f32);
        std::vector<float> got(values->bytes.size() / sizeof(float));
        convert_to_f32(*type.dtype, raw->bytes, got);
        // The bits of a NaN may differ.
        std::vector<float> want(got.size());
        std::memcpy(want.data(), values->bytes.data(), values->bytes.size());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
            wrong += std::isnan(want[i]) ? !std::isnan(got[i])
                                         : std::memcmp(&got[i], &want[i], sizeof(float)) != 0;
        CHECK(wrong == 0);
    }
    CHECK(types == 11);
}

TEST_CASE("models in GGUF files give the results of their dequantised weights", "[conformance][gguf]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP(no_gguf);
    for (const nlohmann::json& expected : expectations(*folder)) {
        CAPTURE(expected["file"].dump());
        const auto model = loaded(files_of(*folder, expected));
        // Two of the files have keys of their own.
        for (const std::string& note : model->notes()) CHECK(note.find("'odd.") != std::string::npos);
        const auto npz = read_file(*folder / "expect" / expected["npz"].get<std::string>());
        const auto arrays = parse_npz(npz);
        REQUIRE(arrays);
        const auto logits = array_of(*arrays, "logits"), attention = array_of(*arrays, "attention");
        const std::vector<std::int32_t> ids = expected["ids"];
        const auto n = std::ssize(ids);
        for (const Kernels* kernels : fast_kernels()) {
            CAPTURE(kernels->name);
            const auto trace = run_forward(model, ids, *kernels);
            REQUIRE(trace);
            const Tensor got = (*trace)->logits({0, n});
            CHECK(deviation(got.values(), logits.values()) <= 1e-4);
            const auto size = static_cast<std::size_t>(attention.size() / attention.dim(0));
            for (Index layer = 0; layer < attention.dim(0); ++layer)
                CHECK(deviation(weights_of((*trace)->attention(layer).record()).values(),
                                attention.values().subspan(static_cast<std::size_t>(layer) * size, size)) <=
                      1e-5);
            // A token after the others, as in decoding, has the same bits as in the full pass.
            const auto before = run_forward(model, {ids.begin(), ids.end() - 1}, *kernels);
            REQUIRE(before);
            auto forward = ForwardPass::start(*before, ids);
            REQUIRE(forward);
            const auto continued = forward->finish();
            REQUIRE(continued);
            CHECK(same_bits((*continued)->logits({n - 1, n}).values(),
                            got.values().last(static_cast<std::size_t>(got.dim(1)))));
        }
        auto generator = Generator::start(model, ids, {});
        REQUIRE(generator);
        for (const std::int32_t id : expected["greedy"].get<std::vector<std::int32_t>>()) {
            const auto next = generator->next();
            REQUIRE(next);
            CHECK(*next == id);
        }
    }
}

TEST_CASE("a GGUF file in F32 equals its checkpoint, bit for bit", "[conformance][gguf]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP(no_gguf);
    const auto model = loaded(gguf_files(read_file(*folder / "babyllama/babyllama-tok105-f32.gguf")));
    const auto checkpoint = load(*shared_data("models/babyllama-tok105"));
    CHECK(model->parameter_count() == checkpoint->parameter_count());
    REQUIRE(model->weights().size() == checkpoint->weights().size());
    const auto file = read_file(*folder / "babyllama/babyllama-tok105-f32.gguf");
    for (const Weight& weight : checkpoint->weights()) {
        CAPTURE(weight.name);
        const Weight* got = model->weight(gguf_name(weight.name, false));
        REQUIRE(got);
        CHECK(got->shape == weight.shape);
        CHECK(same_bits(to_tensor(*got).values(), to_tensor(weight).values()));
        // Each number is at its stated place in the file, even if rows have been restored to their original
        // order.
        for (Index i = 0; i < *element_count(weight.shape); i += 61) {
            const StoredAt at = stored_at(*model, got->name, i);
            float stored = 0;
            std::memcpy(&stored, file.data() + at.byte, sizeof stored);
            CHECK(stored == at.value());
        }
    }
    const std::vector<std::int32_t> ids{1, 3, 31, 10, 14, 15, 3, 12, 5, 17};
    for (const Kernels* kernels : fast_kernels()) {
        const auto a = run_forward(model, ids, *kernels), b = run_forward(checkpoint, ids, *kernels);
        REQUIRE(a);
        REQUIRE(b);
        CHECK(same_bits((*a)->logits({0, 10}).values(), (*b)->logits({0, 10}).values()));
        for (std::size_t layer = 0; layer < (*a)->layers().size(); ++layer) {
            const Record &x = (*a)->layers()[layer].attention, &y = (*b)->layers()[layer].attention;
            CHECK(Tensor(x.q()) == Tensor(y.q()));
            CHECK(Tensor(x.k()) == Tensor(y.k()));
        }
    }
}

TEST_CASE("broken GGUF files are refused in one sentence, or say what is wrong", "[conformance][gguf]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP(no_gguf);
    // The expected sentence for faults that a person could otherwise not tell apart.
    const std::map<std::string, std::string> told{
        {"cut-empty.gguf", "ends at byte 0"},
        {"cut-in-data.gguf", "the file ends at byte 6364"},
        {"magic.gguf", "begins with 'GGML'"},
        {"version-1.gguf", "version 1"},
        {"big-endian.gguf", "big-endian"},
        {"tensors-2^60.gguf", "1152921504606846976 tensors"},
        {"array-nested-10000-deep.gguf", "within arrays"},
        {"value-type-13.gguf", "type 13"},
        {"key-twice.gguf", "'llama.block_count' twice"},
        {"tensor-twice.gguf", "'blk.0.attn_q.weight' twice"},
        {"dimensions-5.gguf", "5 dimensions"},
        {"row-33.gguf", "rows of 33 values"},
        {"type-200.gguf", "type 200"},
        {"type-4.gguf", "Q4_2"},
        {"type-31.gguf", "Q4_0_4_4"},
        {"type-i8.gguf", "I8"},
        {"overlap.gguf", "within tensor 'blk.0.attn_norm.weight'"},
        {"offset-unaligned.gguf", "no multiple of its alignment of 32"},
        {"alignment-3.gguf", "a power of two"},
        {"no-tensors.gguf", "no tensors"},
        {"no-architecture.gguf", "'general.architecture'"},
        {"architecture-mamba.gguf", "'mamba'"},
        {"no-head-count.gguf", "no 'llama.attention.head_count'"},
        {"blocks-2.gguf", "'blk.1.attn_norm.weight'"},
        {"blocks-2^31.gguf", "2147483648"},
        {"no-attn-k.gguf", "'blk.0.attn_k.weight'"},
        {"attn-k-shape.gguf", "32×32, expected 16×32"},
        {"split-alone-00001-of-00002.gguf", "number 2 is missing"},
    };
    std::size_t checked = 0;
    for (const auto& entry : read_json(*folder / "broken" / "index.json")) {
        const std::string file = entry["file"], must = entry["must"];
        CAPTURE(file, must);
        const auto bytes = read_file(*folder / "broken" / file);
        const auto model = Model::load(gguf_files(bytes, file));
        const std::string said = model ? "" : model.error().message;
        CAPTURE(said);
        if (must == "open") {
            REQUIRE(model);
            CHECK((*model)->notes().empty());
        } else if (must == "refuse") {
            CHECK(!model);
        } else if (must != "refuse, or open") {
            CHECK((!model || !(*model)->notes().empty()));
        }
        if (!model) {
            CHECK(said.find(file) != said.npos);
            CHECK(said.find('\n') == said.npos);
            CHECK(said.size() < 400);
        }
        if (const auto part = told.find(file); part != told.end()) {
            CHECK(said.find(part->second) != said.npos);
            ++checked;
        }
        // The part that the page sees first gives the same sentence or a better one.
        const auto start = parse_gguf_header(std::span(bytes).first(bytes.size() / 2), bytes.size());
        CHECK((start || !model));
    }
    CHECK(checked == told.size());
}
