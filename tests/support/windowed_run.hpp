// Provides a run whose maps are larger than a thumbnail.
#pragma once

#include <catch_amalgamated.hpp>
#include <memory>
#include <string>

#include "model/forward.hpp"
#include "support/files.hpp"

namespace attn::test {

// A model with a window of four keys, over 300 tokens, with 31 different ids.
inline std::shared_ptr<const Trace> windowed_run() {
    const auto folder = source_dir() / "tests/golden/model/mistral-window-f16";
    const Bytes read = read_file(folder / "config.json");
    std::string config(reinterpret_cast<const char*>(read.data()), read.size());
    const std::string context = "\"max_position_embeddings\": 64";
    REQUIRE(config.find(context) != std::string::npos);
    config.replace(config.find(context), context.size(), "\"max_position_embeddings\": 300");
    const auto bytes = as_bytes(config);
    ModelFiles files;
    files.config.assign(bytes.begin(), bytes.end());
    files.weights["model.safetensors"] = read_file(folder / "model.safetensors");
    const auto model = Model::load(std::move(files));
    REQUIRE(model);
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i * 7 % 31);
    const auto trace = run_forward(*model, ids);
    REQUIRE(trace);
    return *trace;
}

}  // namespace attn::test
