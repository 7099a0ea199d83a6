// Models for the tests: the golden ones, as files that a test may damage before loading.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
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

inline Bytes write_safetensors(const std::vector<StoredTensor>& tensors) {
    nlohmann::json header = nlohmann::json::object();
    Bytes data;
    for (const StoredTensor& t : tensors) {
        header[t.name] = {{"dtype", t.dtype},
                          {"shape", t.shape},
                          {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
        data.insert(data.end(), t.bytes.begin(), t.bytes.end());
    }
    const std::string text = header.dump();
    Bytes file;
    const std::uint64_t length = text.size();
    for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>(length >> (8 * i)));
    const auto head = as_bytes(text);
    file.insert(file.end(), head.begin(), head.end());
    file.insert(file.end(), data.begin(), data.end());
    return file;
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
