// Reads any bytes as a tokenizer.json, a zero byte and a text. If accepted, it must decode what it
// encodes and write itself.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/target.hpp"
#include "text/bpe.hpp"
#include "text/utf8.hpp"

using namespace attn;

FUZZ_TARGET(tokenizer) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::string_view json = input.substr(0, input.find('\0'));
    const std::string_view text = input.substr(json.size());
    const auto bpe = Bpe::parse(std::as_bytes(std::span(json)));
    if (!bpe) {
        require(bpe.error().message.starts_with("tokenizer.json "));
        return 0;
    }
    require(bpe->vocabulary_size() >= 256);
    std::string storage;
    const auto ids = bpe->encode(text);
    require(bpe->decode(ids) == well_formed(text, storage));
    const std::string written = bpe->to_json();
    const auto again = Bpe::parse(std::as_bytes(std::span(written)));
    require(again && again->vocabulary_size() == bpe->vocabulary_size() && again->encode(text) == ids);
    return 0;
}
