#include "cli/tokenizer.hpp"

#include "cli/model_folder.hpp"
#include "text/bpe.hpp"
#include "text/bpe_train.hpp"

namespace attn {

namespace {

std::string_view as_text(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status train_tokenizer(std::span<const std::string> files, int vocabulary,
                       std::span<const std::string> special, const std::string& out) {
    std::vector<Bytes> contents;
    for (const std::string& file : files) {
        auto bytes = read_file(file);
        if (!bytes) return bytes.error();
        contents.push_back(std::move(*bytes));
    }
    std::vector<std::string_view> texts;
    for (const Bytes& bytes : contents) texts.push_back(as_text(bytes));
    const auto bpe = train_bpe(texts, vocabulary, special);
    if (!bpe) return bpe.error();
    const std::string json = bpe->to_json();
    return write_file(out, std::as_bytes(std::span(json)));
}

Result<std::vector<std::int32_t>> encode_file(const std::string& tokenizer, const std::string& file) {
    const auto json = read_file(tokenizer);
    if (!json) return json.error();
    const auto bpe = Bpe::parse(*json);
    if (!bpe) return bpe.error();
    const auto text = read_file(file);
    if (!text) return text.error();
    return bpe->encode(as_text(*text));
}

}  // namespace attn
