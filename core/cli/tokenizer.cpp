#include "cli/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/model_folder.hpp"
#include "io/json.hpp"
#include "text/bpe.hpp"
#include "text/bpe_train.hpp"

namespace attn {

namespace {

constexpr std::array<std::string_view, 4> begins_texts{"LlamaTokenizer", "CodeLlamaTokenizer",
                                                       "GemmaTokenizer", "CohereTokenizer"};

// transformers puts tokens around a text, whatever tokenizer.json says, if this file beside it says so; some
// of its classes do if it does not say otherwise (update_post_processor).
Status check_beside(const std::string& file) {
    constexpr std::string_view name = "tokenizer_config.json";
    const auto beside = std::filesystem::path(file).parent_path() / name;
    if (!std::filesystem::exists(beside)) return ok();
    const auto bytes = read_file(beside.string());
    if (!bytes) return bytes.error();
    const auto config = parse_json(*bytes, name);
    if (!config) return config.error();
    if (!config->is_object()) return ok();
    const auto type = config->find("tokenizer_class");
    const auto* text = type == config->end() ? nullptr : type->get_ptr<const std::string*>();
    std::string_view kind = text ? std::string_view(*text) : "";
    if (kind.ends_with("Fast")) kind.remove_suffix(4);
    const auto asks = [&](const char* key, bool absent) {
        const auto place = config->find(key);
        return place == config->end() || place->is_null() ? absent : *place == true;
    };
    const bool begins = std::ranges::find(begins_texts, kind) != begins_texts.end();
    for (const auto& [key, absent] : {std::pair{"add_bos_token", begins}, std::pair{"add_eos_token", false}})
        if (asks(key, absent))
            return Error{std::string(name) + " puts a token around texts (" + key +
                         "), which is not supported"};
    return ok();
}

}  // namespace

Result<Bpe> load_tokenizer(const std::string& file) {
    const auto json = read_file(file);
    if (!json) return json.error();
    if (auto status = check_beside(file); !status) return status.error();
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
