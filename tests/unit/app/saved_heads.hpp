// Reads back an archive of all heads.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "io/npz.hpp"

namespace attn::test {

struct SavedHeads {
    Shape shape;  // shape of the attention array
    std::vector<float> attention;
    std::optional<std::vector<std::int64_t>> ids;
    nlohmann::json about;
};

inline SavedHeads read_saved_heads(std::span<const std::byte> file) {
    const auto contents = [](const ZipEntry& entry) {
        auto bytes = unpack_start(entry, static_cast<std::size_t>(entry.size));
        REQUIRE(bytes);
        return *std::move(bytes);
    };
    SavedHeads archive;
    const auto arrays = parse_npz(file);
    REQUIRE(arrays);
    for (const NpzArray& each : *arrays) {
        const std::vector<std::byte> bytes = contents(each.entry);
        const auto array = parse_npy(bytes);
        REQUIRE(array);
        if (each.name == "attention") {
            REQUIRE(array->dtype == DType::f32);
            archive.shape = array->shape;
            archive.attention.resize(array->bytes.size() / sizeof(float));
            read(*array, 0, 1, archive.attention);
        } else {
            REQUIRE(each.name == "ids");
            archive.ids = *to_int64(*array);
        }
    }
    const auto entries = parse_zip(file);
    REQUIRE(entries);
    const auto about = std::ranges::find(*entries, "about.json", &ZipEntry::name);
    REQUIRE(about != entries->end());
    const std::vector<std::byte> text = contents(*about);
    archive.about =
        nlohmann::json::parse(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
    return archive;
}

}  // namespace attn::test
