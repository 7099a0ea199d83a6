// Writes a tokenizer whose tokens are whole words.
#pragma once

#include <span>
#include <string>

namespace attn {

// Returns a tokenizer.json that cuts texts at white space. A word's id is its place in the list; other words
// have no token: the format requires a name for <unk>, but <unk> is not in the vocabulary.
std::string word_list_tokenizer(std::span<const std::string> words);

}  // namespace attn
