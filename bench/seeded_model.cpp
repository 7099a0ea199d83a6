#include "seeded_model.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/families.hpp"
#include "tensor/random.hpp"

namespace attn::bench {

namespace {

Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// Gains are about 1 and everything else about 0, so that no block drowns out what came before it.
void fill(const DeclaredWeight& weight, std::uint64_t seed, std::span<std::byte> bytes) {
    const bool gain = weight.name.ends_with(".weight") && weight.shape.size() == 1;
    Random random(seed);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        const auto value = static_cast<float>((random.uniform() - 0.5) * 0.07 + (gain ? 1 : 0));
        std::memcpy(&bytes[at], &value, sizeof value);
    }
}

// Returns a safetensors file with every tensor that the configuration calls for.
Bytes seeded_weights(const std::vector<DeclaredWeight>& declared) {
    nlohmann::json header;
    std::size_t end = 0;
    for (const DeclaredWeight& weight : declared) {
        const std::size_t begin = end;
        end += static_cast<std::size_t>(*element_count(weight.shape)) * sizeof(float);
        header[weight.name] = {{"dtype", "F32"}, {"shape", weight.shape}, {"data_offsets", {begin, end}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t size = text.size();
    Bytes file(sizeof size + text.size() + end);
    std::memcpy(file.data(), &size, sizeof size);
    std::ranges::copy(std::as_bytes(std::span(text)), file.begin() + sizeof size);

    auto rest = std::span(file).subspan(sizeof size + text.size());
    for (std::size_t i = 0; i < declared.size(); ++i) {
        const auto count = static_cast<std::size_t>(*element_count(declared[i].shape)) * sizeof(float);
        fill(declared[i], i, rest.first(count));
        rest = rest.subspan(count);
    }
    return file;
}

}  // namespace

std::shared_ptr<const Model> seeded_model(std::string_view config) {
    const ModelConfig shape = *parse_model_config(bytes_of(config));
    ModelFiles files{.config = bytes_of(config), .index = {}, .weights = {}};
    files.weights["model.safetensors"] = seeded_weights(declared_weights(family_rules(shape.family), shape));
    return *Model::load(std::move(files));
}

}  // namespace attn::bench
