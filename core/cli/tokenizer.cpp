#include "cli/tokenizer.hpp"

#include "cli/model_folder.hpp"
#include "text/bpe.hpp"
#include "text/bpe_train.hpp"

namespace attn {

Result<Bpe> load_tokenizer(const std::string& file) {
    const auto json = read_file(file);
    if (!json) return json.error();
    return Bpe::parse(*json);
}

Status save_tokenizer(const Bpe& tokenizer, const std::string& file) {
    const std::string json = tokenizer.to_json();
    return write_file(file, std::as_bytes(std::span(json)));
}

Status train_tokenizer(std::span<const std::string> files, int vocabulary,
                       std::span<const std::string> special, const std::string& out) {
    const auto contents = read_files(files);
    if (!contents) return contents.error();
    std::vector<std::string_view> texts;
    for (const Bytes& bytes : *contents) texts.push_back(as_text(bytes));
    const auto bpe = train_bpe(texts, vocabulary, special);
    if (!bpe) return bpe.error();
    return save_tokenizer(*bpe, out);
}

Result<GgufTokenizer> load_gguf_tokenizer(const std::string& file) {
    const auto start = read_gguf_start(file);
    if (!start) return start.error();
    const auto refusal = [&](const Error& error) { return Error{file + ": " + error.message}; };
    const auto vocabulary = GgufVocabulary::read(start->header);
    if (!vocabulary) return refusal(vocabulary.error());
    auto tokenizer = GgufTokenizer::make(*vocabulary);
    if (!tokenizer) return refusal(tokenizer.error());
    return tokenizer;
}

Result<std::vector<std::int32_t>> encode_file(const std::string& tokenizer, const std::string& file) {
    const auto text = read_file(file);
    if (!text) return text.error();
    if (is_gguf_name(tokenizer)) {
        const auto carried = load_gguf_tokenizer(tokenizer);
        if (!carried) return carried.error();
        return carried->encode(as_text(*text));
    }
    const auto bpe = load_tokenizer(tokenizer);
    if (!bpe) return bpe.error();
    return bpe->encode(as_text(*text));
}

}  // namespace attn
