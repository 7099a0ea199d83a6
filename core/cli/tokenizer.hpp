// Reads and writes tokenizer files, for `attn tokenizer train` and `attn tokenizer encode`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.hpp"
#include "text/bpe.hpp"
#include "text/gguf_tokenizer.hpp"

namespace attn {

// Learns a vocabulary from the files' texts and writes it to `out` as a tokenizer.json.
Status train_tokenizer(std::span<const std::string> files, int vocabulary,
                       std::span<const std::string> special, const std::string& out);

Result<Bpe> load_tokenizer(const std::string& file);  // a tokenizer.json
Status save_tokenizer(const Bpe& tokenizer, const std::string& file);

Result<GgufTokenizer> load_gguf_tokenizer(const std::string& file);

// Returns the ids of a file's text, using a tokenizer.json or a GGUF file, whose tokens of a text's ends are
// among them.
Result<std::vector<std::int32_t>> encode_file(const std::string& tokenizer, const std::string& file);

}  // namespace attn
