// The types that a GGUF file gives its tokens, and what llama.cpp makes of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

// The numbers are those of tokenizer.ggml.token_type.
enum class TokenType : std::uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };

// Marks around a gap that a model is to fill, and around files. A file may say by a key which token such a
// mark is.
enum class FillMark : std::uint8_t { prefix, suffix, middle, padding, repository, file };
inline constexpr std::size_t fill_marks = 6;

// The keys after "tokenizer.ggml."; the last three are older names of the first three.
struct FillMarkKey {
    std::string_view key;
    FillMark mark;
};
inline constexpr std::array fill_mark_keys{
    FillMarkKey{"fim_pre_token_id", FillMark::prefix},     FillMarkKey{"fim_suf_token_id", FillMark::suffix},
    FillMarkKey{"fim_mid_token_id", FillMark::middle},     FillMarkKey{"fim_pad_token_id", FillMark::padding},
    FillMarkKey{"fim_rep_token_id", FillMark::repository}, FillMarkKey{"fim_sep_token_id", FillMark::file},
    FillMarkKey{"prefix_token_id", FillMark::prefix},      FillMarkKey{"suffix_token_id", FillMark::suffix},
    FillMarkKey{"middle_token_id", FillMark::middle},
};

// Many files give marks such as "<|im_end|>" the type `normal`. llama.cpp knows them by their texts and takes
// them as a whole all the same (llama_vocab::impl::load). `given` are the marks that the file names by a key.
void correct_types(std::span<const std::string_view> tokens, std::span<TokenType> types,
                   const std::array<bool, fill_marks>& given);

}  // namespace attn
