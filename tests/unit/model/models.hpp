// Provides models for the tests: the golden ones, as files that a test may damage before loading.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/safetensors.hpp"
#include "model/model.hpp"
#include "support/files.hpp"

namespace attn::test {

struct StoredTensor {
    std::string name;
    std::string dtype;
    Shape shape;
    Bytes bytes;
};

inline std::vector<StoredTensor> read_safetensors(const Bytes& file) {
    const auto parsed = parse_safetensors(file);
    REQUIRE(parsed);
    std::vector<StoredTensor> tensors;
    for (const TensorEntry& entry : parsed->header.tensors) {
        const auto bytes = parsed->bytes(entry);
        tensors.push_back(
            {entry.name, std::string(entry.dtype_name), entry.shape, {bytes.begin(), bytes.end()}});
    }
    return tensors;
}

// Tensors to write may be damaged: any dtype, and bytes that do not fit their shape.
inline Bytes write_safetensors(const std::vector<StoredTensor>& tensors) {
    nlohmann::json header = nlohmann::json::object();
    std::size_t end = 0;
    for (const StoredTensor& t : tensors) {
        const std::size_t begin = std::exchange(end, end + t.bytes.size());
        header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {begin, end}}};
    }
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    Bytes file;
    file.reserve(8 + text.size() + end);
    for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>(length >> (8 * i)));
    const auto append = [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
    };
    append(as_bytes(text));
    for (const StoredTensor& t : tensors) append(t.bytes);
    return file;
}

// Returns the whole tensors of a file, whose bytes stay in it.
inline std::vector<TensorToWrite> tensors_of(const Bytes& file) {
    const auto parsed = parse_safetensors(file);
    REQUIRE(parsed);
    std::vector<TensorToWrite> tensors;
    for (const TensorEntry& entry : parsed->header.tensors) {
        REQUIRE(entry.dtype);
        tensors.push_back({entry.name, *entry.dtype, entry.shape, parsed->bytes(entry)});
    }
    return tensors;
}

// The same model with other weights.
inline ModelFiles with_tensors(const ModelFiles& files, const std::vector<TensorToWrite>& tensors) {
    ModelFiles changed{.config = files.config, .index = files.index, .weights = {}};
    changed.weights[files.weights.begin()->first] = write_safetensors(tensors);
    return changed;
}

inline ModelFiles read_model(const std::filesystem::path& folder) {
    ModelFiles files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name == "config.json") files.config = read_file(entry.path());
        if (name == "model.safetensors.index.json") files.index = read_file(entry.path());
        if (name.starts_with("model") && name.ends_with(".safetensors"))
            files.weights[name] = read_file(entry.path());
    }
    REQUIRE(!files.config.empty());
    return files;
}

inline std::filesystem::path golden_folder(const std::string& name) {
    return source_dir() / "tests/golden/model" / name;
}

inline std::shared_ptr<const Model> load(const std::filesystem::path& folder) {
    auto model = Model::load(read_model(folder));
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    return *model;
}

// Makes a GPT-2 large enough for several slices of everything: width 512, 4 heads, one layer.
inline std::shared_ptr<const Model> wide_model(Index d = 512) {
    const Index vocabulary = 8, context = 200;
    const nlohmann::json config{{"model_type", "gpt2"},
                                {"vocab_size", vocabulary},
                                {"n_positions", context},
                                {"n_embd", d},
                                {"n_head", 4},
                                {"n_layer", 1}};
    std::deque<std::vector<float>> numbers;
    std::vector<TensorToWrite> tensors;
    const auto put = [&](const std::string& name, Shape shape) {
        std::vector<float>& values = numbers.emplace_back(static_cast<std::size_t>(*element_count(shape)));
        std::size_t i = name.size();
        for (float& value : values)
            value = static_cast<float>(static_cast<int>(i++ * 7919 % 201) - 100) * 1e-3f;
        tensors.push_back({name, DType::f32, std::move(shape), std::as_bytes(std::span(values))});
    };
    put("wte.weight", {vocabulary, d});
    put("wpe.weight", {context, d});
    for (const char* norm : {"h.0.ln_1", "h.0.ln_2", "ln_f"})
        for (const char* part : {".weight", ".bias"}) put(std::string(norm) + part, {d});
    const auto linear = [&](const std::string& name, Index in, Index out) {
        put(name + ".weight", {in, out});
        put(name + ".bias", {out});
    };
    linear("h.0.attn.c_attn", d, 3 * d);
    linear("h.0.attn.c_proj", d, d);
    linear("h.0.mlp.c_fc", d, 4 * d);
    linear("h.0.mlp.c_proj", 4 * d, d);
    const std::string text = config.dump();
    const auto bytes = as_bytes(text);
    ModelFiles files{.config = {bytes.begin(), bytes.end()}, .index = {}, .weights = {}};
    files.weights["model.safetensors"] = write_safetensors(tensors);
    auto model = Model::load(std::move(files));
    REQUIRE(model);
    return *model;
}

// A golden model of the Llama family with a longer context.
inline std::shared_ptr<const Model> with_context(const std::string& name, Index context) {
    ModelFiles files = read_model(golden_folder(name));
    auto config = nlohmann::json::parse(
        std::string(reinterpret_cast<const char*>(files.config.data()), files.config.size()));
    config["max_position_embeddings"] = context;
    const std::string text = config.dump();
    const auto bytes = as_bytes(text);
    files.config.assign(bytes.begin(), bytes.end());
    auto model = Model::load(std::move(files));
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    return *model;
}

// Returns the largest difference, or infinity if a value is NaN or the sizes differ.
inline double deviation(std::span<const float> got, std::span<const float> expected) {
    if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
    double most = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
        if (!(difference <= most))
            most = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
    }
    return most;
}

// Returns [heads, queries, keys] of one layer.
inline Tensor weights_of(const Record& record) {
    Tensor weights({record.heads(), record.queries(), record.keys()});
    const auto size = static_cast<std::size_t>(record.queries() * record.keys());
    for (Index head = 0; head < record.heads(); ++head)
        record.stage(Stage::weight, head, {0, record.queries()}, {0, record.keys()},
                     weights.values().subspan(static_cast<std::size_t>(head) * size, size));
    return weights;
}

}  // namespace attn::test
