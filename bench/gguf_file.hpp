// GGUF files of the shape of GPT-2 small with seeded weights, which others can read as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace attn::bench {

// The kinds of files, by the names that llama.cpp gives them.
inline constexpr std::string_view gguf_kinds[] = {"F16", "Q8_0", "Q4_K_M"};

Bytes gguf_file(std::string_view kind);

// Ids of tokens that are one character each and begin no longer one, so that the text of them is read as
// these ids.
std::vector<std::int32_t> gguf_ids(Index count);
std::string gguf_text(const std::vector<std::int32_t>& ids);

}  // namespace attn::bench
