// Finds other people's checkpoints, texts and conformance cases, which are next to the project and may be
// absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace attn::test {

// Returns the folder `subfolder` of $ATTN_SHARED, or of `shared` next to the repository, or nothing if it is
// missing.
inline std::optional<std::filesystem::path> shared_data(std::string_view subfolder) {
    const char* given = std::getenv("ATTN_SHARED");
    const auto root = given ? std::filesystem::path(given)
                            : std::filesystem::path(ATTN_SOURCE_DIR).parent_path() / "shared";
    const auto folder = root / subfolder;
    if (!std::filesystem::is_directory(folder)) return std::nullopt;
    return folder;
}

}  // namespace attn::test
