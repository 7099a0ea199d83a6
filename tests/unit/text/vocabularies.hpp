// Provides small tokenizers that several tests train or write down.
#pragma once

#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.hpp"
#include "text/bpe_train.hpp"
#include "text/byte_alphabet.hpp"

namespace attn::test {

inline Result<Bpe> train(const std::vector<std::string_view>& texts, int vocabulary,
                         const std::vector<std::string>& special = {}) {
    return train_bpe(texts, vocabulary, special);
}

inline Bpe trained(const std::vector<std::string_view>& texts, int vocabulary,
                   const std::vector<std::string>& special = {}) {
    auto bpe = train(texts, vocabulary, special);
    if (!bpe) FAIL(bpe.error().message);
    return std::move(*bpe);
}

// Makes the 256 bytes tokens 0 to 255; the merges' results follow.
inline nlohmann::json tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges) {
    nlohmann::json vocab, list = nlohmann::json::array();
    int id = 0;
    for (const std::uint8_t byte : bytes_in_alphabet_order())
        vocab[spell(std::string(1, static_cast<char>(byte)))] = id++;
    for (const auto& [left, right] : merges) {
        vocab[left + right] = id++;
        list.push_back({left, right});
    }
    return {{"added_tokens", nlohmann::json::array()},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", list}}}};
}

inline Result<Bpe> parse(const nlohmann::json& tree) { return Bpe::parse(as_bytes(tree.dump())); }

inline Bpe parsed(const nlohmann::json& tree) {
    auto bpe = parse(tree);
    if (!bpe) FAIL(bpe.error().message);
    return std::move(*bpe);
}

// Returns the tokens of a text, each as its bytes.
inline std::vector<std::string> tokens_of(const Bpe& bpe, std::string_view text) {
    std::vector<std::string> tokens;
    for (const std::int32_t id : bpe.encode(text)) tokens.emplace_back(bpe.token(id));
    return tokens;
}

}  // namespace attn::test
