#include "text/word_list.hpp"

#include <nlohmann/json.hpp>

namespace attn {

std::string word_list_tokenizer(std::span<const std::string> words) {
    std::string vocabulary;
    for (std::size_t id = 0; id < words.size(); ++id)
        vocabulary += (id ? ", " : "") + nlohmann::json(words[id]).dump() + ": " + std::to_string(id);
    return R"({
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [],
  "normalizer": null,
  "pre_tokenizer": {"type": "WhitespaceSplit"},
  "post_processor": null,
  "decoder": null,
  "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {)" +
           vocabulary + "}}\n}\n";
}

}  // namespace attn
