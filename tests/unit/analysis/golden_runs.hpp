// Runs the models of tests/golden/sources, each on its own text.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"
#include "unit/model/models.hpp"

namespace attn::test {

inline nlohmann::json json_in(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    return nlohmann::json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

struct GoldenText {
    std::vector<std::int32_t> ids, segments, decoder_ids;
};
// Another text with as many tokens: the first token comes last, and a decoder's come in reverse behind the
// first.
inline void change_text(GoldenText& text) {
    std::ranges::rotate(text.ids, text.ids.begin() + 1);
    if (!text.decoder_ids.empty()) std::reverse(text.decoder_ids.begin() + 1, text.decoder_ids.end());
}

// Null: the model is not here.
inline std::shared_ptr<const Model> golden_model(const std::string& name, GoldenText& own) {
    auto folder = golden_folder(name);
    nlohmann::json text{{"ids", {3, 1, 4, 1, 5, 9, 2, 6, 5}}};
    if (!std::filesystem::exists(folder)) {
        const auto families = shared_data("families");
        if (!families) return nullptr;
        folder = *families / name;
        text = json_in(folder / "expect.json");
    }
    ModelFiles files{.config = read_file(folder / "config.json"), .index = {}, .weights = {}};
    files.weights["model.safetensors"] = read_file(folder / "model.safetensors");
    const auto model = Model::load(std::move(files));
    REQUIRE(model);
    using Ids = std::vector<std::int32_t>;
    own = {text["ids"].get<Ids>(), text.value("token_type_ids", Ids{}), text.value("decoder_ids", Ids{})};
    return *model;
}

inline std::shared_ptr<const Trace> run_of(const std::shared_ptr<const Model>& model,
                                           const GoldenText& text) {
    auto trace = run_forward(model, text.ids, default_kernels(), text.segments, text.decoder_ids);
    REQUIRE(trace);
    return *trace;
}
inline std::shared_ptr<const Trace> golden_run(const std::string& name) {
    GoldenText text;
    const auto model = golden_model(name, text);
    return model ? run_of(model, text) : nullptr;
}

}  // namespace attn::test
