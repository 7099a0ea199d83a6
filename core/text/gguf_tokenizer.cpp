#include "text/gguf_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "io/ascii.hpp"
#include "io/quote.hpp"
#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace attn {

namespace {

// What tokenizer.ggml.pre says of byte-level BPE.
struct PreTokenizerRow {
    std::string_view name;
    PreTokenizer by;
    bool whole_pieces = false;  // are taken before anything is merged
    bool begins = false;        // texts begin with a token of their own, unless add_bos_token is there
};
constexpr std::array pre_tokenizers{
    PreTokenizerRow{"default", PreTokenizer::llama_default},
    PreTokenizerRow{"gpt-2", PreTokenizer::gpt2},
    PreTokenizerRow{"phi-2", PreTokenizer::gpt2},
    PreTokenizerRow{"olmo", PreTokenizer::gpt2},
    PreTokenizerRow{"mpt", PreTokenizer::gpt2},
    PreTokenizerRow{"jais", PreTokenizer::gpt2},
    PreTokenizerRow{"gigachat", PreTokenizer::gpt2},
    PreTokenizerRow{"mellum", PreTokenizer::gpt2},
    PreTokenizerRow{"exaone4", PreTokenizer::gpt2},
    PreTokenizerRow{"trillion", PreTokenizer::gpt2},
    PreTokenizerRow{"granite-docling", PreTokenizer::gpt2},
    PreTokenizerRow{"smollm", PreTokenizer::single_digits},
    PreTokenizerRow{"starcoder", PreTokenizer::single_digits},
    PreTokenizerRow{"refact", PreTokenizer::single_digits},
    PreTokenizerRow{"command-r", PreTokenizer::single_digits},
    PreTokenizerRow{"codeshell", PreTokenizer::single_digits},
    PreTokenizerRow{"exaone", PreTokenizer::single_digits},
    PreTokenizerRow{"minerva-7b", PreTokenizer::single_digits},
    PreTokenizerRow{"qwen2", PreTokenizer::qwen2},
    PreTokenizerRow{"deepseek-r1-qwen", PreTokenizer::qwen2},
    PreTokenizerRow{"kormo", PreTokenizer::qwen2},
    PreTokenizerRow{"megrez", PreTokenizer::qwen2},
    PreTokenizerRow{"stablelm2", PreTokenizer::qwen2},
    PreTokenizerRow{"hunyuan", PreTokenizer::qwen2},
    PreTokenizerRow{"llama-bpe", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"llama3", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"llama-v3", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"falcon3", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"falcon-h1", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"pixtral", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"midm-2.0", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"lfm2", PreTokenizer::llama3, true, true},
    PreTokenizerRow{"dbrx", PreTokenizer::llama3},
    PreTokenizerRow{"smaug-bpe", PreTokenizer::llama3},
    PreTokenizerRow{"chatglm-bpe", PreTokenizer::llama3},
    PreTokenizerRow{"glm4", PreTokenizer::llama3},
    PreTokenizerRow{"gpt-4o", PreTokenizer::gpt4o},
    PreTokenizerRow{"llama4", PreTokenizer::gpt4o},
    PreTokenizerRow{"tekken", PreTokenizer::tekken, true, true},
};

constexpr std::size_t most_in_text = 1'000'000;  // bytes of all tokens that are looked for in a text

Error wrong_key(std::string_view key, const std::string& what) {
    return Error{"tokenizer.ggml." + std::string(key) + " " + what};
}

const GgufValue* tokenizer_key(const GgufHeader& header, std::string_view key) {
    return header.find("tokenizer.ggml." + std::string(key));
}

Result<std::optional<std::string_view>> text_at(const GgufHeader& header, std::string_view key) {
    const GgufValue* value = tokenizer_key(header, key);
    if (!value) return std::optional<std::string_view>{};
    const auto text = value->text();
    if (!text) return wrong_key(key, "should be a text");
    return text;
}

Result<std::optional<std::int64_t>> id_at(const GgufHeader& header, std::string_view key) {
    const GgufValue* value = tokenizer_key(header, key);
    if (!value) return std::optional<std::int64_t>{};
    const auto id = value->integer();
    if (!id) return wrong_key(key, "should be a whole number");
    return id;
}

Result<std::optional<bool>> flag_at(const GgufHeader& header, std::string_view key) {
    const GgufValue* value = tokenizer_key(header, key);
    if (!value) return std::optional<bool>{};
    const auto flag = value->flag();
    if (!flag) return wrong_key(key, "should be true or false");
    return flag;
}

Result<std::vector<std::string_view>> texts_at(const GgufHeader& header, std::string_view key) {
    std::vector<std::string_view> texts;
    const GgufValue* value = tokenizer_key(header, key);
    if (!value) return texts;
    if (!value->is_array || (value->type != GgufType::text && value->count > 0))
        return wrong_key(key, "should be a list of texts");
    for (const std::string_view text : value->texts()) texts.push_back(text);
    return texts;
}

// Returns one number for each token, or none at all.
Result<std::vector<double>> numbers_at(const GgufHeader& header, std::string_view key, std::size_t tokens) {
    std::vector<double> numbers;
    const GgufValue* value = tokenizer_key(header, key);
    if (!value) return numbers;
    if (!value->is_array || value->type == GgufType::text || value->type == GgufType::array)
        return wrong_key(key, "should be a list of numbers");
    if (value->count != tokens)
        return wrong_key(key, "has " + std::to_string(value->count) + " numbers, but there are " +
                                  std::to_string(tokens) + " tokens");
    for (std::uint64_t i = 0; i < value->count; ++i) {
        const auto number = value->at(i).number();
        if (!number || std::isnan(*number))
            return wrong_key(key, "has no number for the token " + std::to_string(i));
        numbers.push_back(*number);
    }
    return numbers;
}

std::string with_blanks(std::string_view text) {
    std::string read;
    for (std::size_t at = text.find(SentencePiece::blank); at != text.npos;
         at = text.find(SentencePiece::blank)) {
        read += text.substr(0, at);
        read += ' ';
        text.remove_prefix(at + SentencePiece::blank.size());
    }
    return read += text;
}

// Returns the byte that a piece like "<0x0A>" stands for.
std::optional<unsigned char> byte_of(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
    unsigned byte = 0;
    for (const char c : text.substr(3, 2)) {
        const unsigned digit = '0' <= c && c <= '9'   ? static_cast<unsigned>(c - '0')
                               : 'A' <= c && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                               : 'a' <= c && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                                      : 16;
        if (digit > 15) return std::nullopt;
        byte = byte << 4 | digit;
    }
    return static_cast<unsigned char>(byte);
}

// The chat marks of Phi-3 take the white space behind them, which a file can not say: llama.cpp goes by its
// name.
bool marks_strip(std::string_view name) {
    const std::string small = ascii_lower(name);
    return small.find("phi-3") != small.npos || small.find("phi3") != small.npos;
}

bool strips(std::string_view text, bool marks_strip) {
    return marks_strip && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
}

bool stands_in_text(TokenType type) {
    return type == TokenType::control || type == TokenType::user_defined || type == TokenType::unknown;
}

std::string bytes_of(std::string_view text, TokenType type, bool byte_level) {
    if (byte_level) {
        auto bytes = stands_in_text(type) ? std::nullopt : unspell(text);
        return bytes ? *std::move(bytes) : std::string(text);
    }
    if (type == TokenType::byte)
        if (const auto byte = byte_of(text)) return std::string(1, static_cast<char>(*byte));
    return type == TokenType::normal || type == TokenType::user_defined ? with_blanks(text)
                                                                        : std::string(text);
}

Status check_in_text(const GgufVocabulary& vocabulary) {
    std::size_t bytes = 0;
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (!stands_in_text(vocabulary.types[id])) continue;
        const std::size_t size = vocabulary.tokens[id].size();
        bytes += size;
        if (size > AddedTokens::max_bytes || bytes > most_in_text)
            return wrong_key("tokens", "has " + quote(vocabulary.tokens[id]) + " as a token of type " +
                                           std::to_string(static_cast<int>(vocabulary.types[id])) +
                                           "; such tokens may have up to " +
                                           std::to_string(AddedTokens::max_bytes) + " bytes, and " +
                                           std::to_string(most_in_text) + " together");
    }
    return ok();
}

Result<std::optional<std::int32_t>> token_at(std::string_view key, std::optional<std::int64_t> id,
                                             std::size_t tokens) {
    if (!id) return std::optional<std::int32_t>{};
    if (*id < 0 || static_cast<std::uint64_t>(*id) >= tokens)
        return wrong_key(
            key, "is " + std::to_string(*id) + ", but there are " + std::to_string(tokens) + " tokens");
    return std::optional(static_cast<std::int32_t>(*id));
}

// Reads merges as ids; of tokens with one spelling, the first is meant.
Result<std::vector<Bpe::Merge>> read_merges(const GgufVocabulary& vocabulary,
                                            std::span<const std::string> bytes) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
        ids.try_emplace(vocabulary.tokens[id], static_cast<std::int32_t>(id));
    std::vector<Bpe::Merge> merges;
    std::string joined;
    for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
        const std::string_view merge = vocabulary.merges[rank];
        const auto refuse = [&](const std::string& what) {
            return wrong_key("merges", "has " + quote(merge) + " as number " + std::to_string(rank) + what);
        };
        const std::size_t space = merge.find(' ', 1);
        if (space == merge.npos || merge.find(' ', space + 1) != merge.npos)
            return refuse("; it should be two tokens with a space between them");
        const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
        joined = left;
        joined += right;
        std::array<std::int32_t, 3> found{};
        const std::array<std::string_view, 3> spellings{left, right, joined};
        for (std::size_t i = 0; i < 3; ++i) {
            const auto place = ids.find(spellings[i]);
            if (place == ids.end()) return refuse(", but there is no token " + quote(spellings[i]));
            found[i] = place->second;
        }
        const auto bytes_at = [&](std::size_t i) -> const std::string& {
            return bytes[static_cast<std::size_t>(found[i])];
        };
        if (bytes_at(0) + bytes_at(1) != bytes_at(2))
            return refuse(", but the token " + quote(joined) + " does not stand for what both do");
        merges.push_back({found[0], found[1], found[2]});
    }
    return merges;
}

Result<Bpe> make_bpe(const GgufVocabulary& vocabulary, const PreTokenizerRow& row) {
    std::vector<std::string> bytes;
    std::vector<Bpe::Added> added;
    std::vector<std::int32_t> never;
    const bool all_strip = marks_strip(vocabulary.name);
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
        const auto id = static_cast<std::int32_t>(i);
        const TokenType type = vocabulary.types[i];
        bytes.push_back(bytes_of(vocabulary.tokens[i], type, true));
        if (type == TokenType::unused) never.push_back(id);
        if (stands_in_text(type) && !bytes.back().empty())
            added.push_back({.id = id,
                             .special = type == TokenType::control,
                             .strips = strips(vocabulary.tokens[i], all_strip)});
    }
    if (vocabulary.merges.empty()) return wrong_key("merges", "is missing; byte-level BPE needs it");
    auto merges = read_merges(vocabulary, bytes);
    if (!merges) return merges.error();
    return Bpe(std::move(bytes), *std::move(merges), std::move(added), {row.by, row.whole_pieces}, never);
}

Result<SentencePiece> make_sentence_piece(const GgufVocabulary& vocabulary,
                                          std::optional<std::int32_t> unknown) {
    if (vocabulary.scores.size() != vocabulary.tokens.size())
        return wrong_key("scores", "is missing; SentencePiece needs a score for each token");
    std::array<std::int32_t, 256> bytes{};
    bytes.fill(SentencePiece::no_piece);
    std::vector<SentencePiece::Piece> pieces;
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
        const auto id = static_cast<std::int32_t>(i);
        const TokenType type = vocabulary.types[i];
        const std::string_view text = vocabulary.tokens[i];
        if (type == TokenType::byte) {
            const auto byte = byte_of(text);
            if (!byte)
                return wrong_key("tokens", "has " + quote(text) + " as a byte; it should be like '<0x0A>'");
            bytes[*byte] = id;
        } else if ((type == TokenType::normal || type == TokenType::user_defined) && !text.empty()) {
            pieces.push_back({std::string(text), vocabulary.scores[i], id});
        }
    }
    return SentencePiece(std::move(pieces), bytes, unknown);
}

}  // namespace

Result<GgufVocabulary> GgufVocabulary::read(const GgufHeader& header) {
    GgufVocabulary vocabulary;
    const auto model = text_at(header, "model"), pre = text_at(header, "pre");
    if (!model) return model.error();
    if (!pre) return pre.error();
    auto tokens = texts_at(header, "tokens"), merges = texts_at(header, "merges");
    if (!tokens) return tokens.error();
    if (!merges) return merges.error();
    if (!*model || tokens->empty())
        return Error{"The file has no tokenizer: it lacks tokenizer.ggml." +
                     std::string(*model ? "tokens" : "model")};
    const GgufTensor* embedding = header.tensor("token_embd.weight");
    if (embedding && !embedding->shape.empty() &&
        static_cast<std::size_t>(embedding->shape[0]) != tokens->size())
        return wrong_key("tokens",
                         "has " + std::to_string(tokens->size()) + " tokens, but token_embd.weight has " +
                             std::to_string(embedding->shape[0]) + " rows: they do not belong together");
    const auto types = numbers_at(header, "token_type", tokens->size());
    if (!types) return types.error();
    const auto scores = numbers_at(header, "scores", tokens->size());
    if (!scores) return scores.error();
    const auto bos = id_at(header, "bos_token_id"), eos = id_at(header, "eos_token_id"),
               unknown = id_at(header, "unknown_token_id");
    for (const auto* id : {&bos, &eos, &unknown})
        if (!*id) return id->error();
    const auto add_bos = flag_at(header, "add_bos_token"), add_eos = flag_at(header, "add_eos_token"),
               add_space = flag_at(header, "add_space_prefix");
    for (const auto* flag : {&add_bos, &add_eos, &add_space})
        if (!*flag) return flag->error();

    for (std::size_t id = 0; id < types->size(); ++id) {
        const double type = (*types)[id];
        if (!(type >= 0 && type <= static_cast<double>(TokenType::byte)) || type != std::floor(type))
            return wrong_key("token_type", "has another type for the token " + std::to_string(id) +
                                               " than those from 1 to 6");
        vocabulary.types.push_back(static_cast<TokenType>(type));
    }
    for (const double score : *scores) vocabulary.scores.push_back(static_cast<float>(score));
    for (const auto& [key, mark] : fill_mark_keys)
        vocabulary.fills_given[static_cast<std::size_t>(mark)] |= tokenizer_key(header, key) != nullptr;
    if (const GgufValue* name = header.find("general.name"))
        if (const auto text = name->text()) vocabulary.name = *text;
    vocabulary.model = **model;
    vocabulary.pre = *pre;
    vocabulary.tokens = *std::move(tokens);
    vocabulary.merges = *std::move(merges);
    vocabulary.bos = *bos;
    vocabulary.eos = *eos;
    vocabulary.unknown = *unknown;
    vocabulary.add_bos = *add_bos;
    vocabulary.add_eos = *add_eos;
    vocabulary.add_space_prefix = *add_space;
    return vocabulary;
}

Result<GgufTokenizer> GgufTokenizer::make(const GgufVocabulary& given) {
    const bool byte_level = given.model == "gpt2";
    if (!byte_level && given.model != "llama")
        return wrong_key("model",
                         "is " + quote(given.model) +
                             "; 'gpt2' (byte-level BPE) and 'llama' (SentencePiece) can be read here");
    const std::string_view pre = given.pre && !given.pre->empty() ? *given.pre : "default";
    const auto* row = std::ranges::find(pre_tokenizers, pre, &PreTokenizerRow::name);
    if (byte_level && row == pre_tokenizers.end())
        return wrong_key("pre", "is " + quote(pre) + ", a way to divide texts that is not known here");

    GgufVocabulary vocabulary = given;
    const std::size_t size = vocabulary.tokens.size();
    if (vocabulary.types.empty()) {
        vocabulary.types.assign(size, TokenType::normal);
        // Spelled like this, a piece is a byte even if the file has no types.
        for (std::size_t id = 0; id < size && !byte_level; ++id)
            if (byte_of(vocabulary.tokens[id])) vocabulary.types[id] = TokenType::byte;
    }
    for (TokenType& type : vocabulary.types)
        if (type == TokenType::undefined) type = TokenType::normal;
    correct_types(vocabulary.tokens, vocabulary.types, vocabulary.fills_given);
    if (auto status = check_in_text(vocabulary); !status) return status.error();

    // SentencePiece numbers them like this unless it is told otherwise.
    if (!byte_level && size > 2) {
        if (!vocabulary.unknown) vocabulary.unknown = 0;
        if (!vocabulary.bos) vocabulary.bos = 1;
        if (!vocabulary.eos) vocabulary.eos = 2;
    }
    const auto bos = token_at("bos_token_id", vocabulary.bos, size),
               eos = token_at("eos_token_id", vocabulary.eos, size),
               unknown = token_at("unknown_token_id", vocabulary.unknown, size);
    for (const auto* id : {&bos, &eos, &unknown})
        if (!*id) return id->error();

    std::optional<GgufTokenizer> made;
    if (byte_level) {
        auto bpe = make_bpe(vocabulary, *row);
        if (!bpe) return bpe.error();
        made.emplace(GgufTokenizer(*std::move(bpe)));
    } else {
        auto pieces = make_sentence_piece(vocabulary, *unknown);
        if (!pieces) return pieces.error();
        made.emplace(GgufTokenizer(*std::move(pieces)));
        for (std::size_t id = 0; id < size; ++id) {
            const std::string text = bytes_of(vocabulary.tokens[id], vocabulary.types[id], false);
            if (stands_in_text(vocabulary.types[id]) && !text.empty())
                made->in_text_.add(text, static_cast<std::int32_t>(id),
                                   strips(text, marks_strip(vocabulary.name)));
        }
    }
    made->texts_.assign(vocabulary.tokens.begin(), vocabulary.tokens.end());
    made->types_ = std::move(vocabulary.types);
    made->unknown_ = *unknown;
    made->adds_space_ = !byte_level && vocabulary.add_space_prefix.value_or(true);
    if (vocabulary.add_bos.value_or(byte_level ? row->begins : true)) made->first_ = *bos;
    if (vocabulary.add_eos.value_or(false)) made->last_ = *eos;
    return *std::move(made);
}

// Returns a character without a token, if there is one.
std::optional<std::string> GgufTokenizer::encode_pieces(std::string_view text,
                                                        std::vector<std::int32_t>& ids) const {
    const auto& pieces = *std::get_if<SentencePiece>(&model_);
    std::string storage;
    text = well_formed(text, storage);
    std::optional<std::string> lost;
    in_text_.divide(
        text,
        [&](std::string_view part) {
            if (!part.empty() && !lost)
                lost = pieces.encode(adds_space_ ? " " + std::string(part) : std::string(part), ids);
        },
        [&](std::int32_t id) { ids.push_back(id); });
    return lost;
}

Result<std::vector<std::int32_t>> GgufTokenizer::encode(std::string_view text, bool ends) const {
    std::vector<std::int32_t> ids;
    if (ends && first_) ids.push_back(*first_);
    if (const Bpe* bpe = std::get_if<Bpe>(&model_)) {
        const auto found = bpe->encode(text);
        if (std::ranges::find(found, Bpe::no_token) != found.end())
            return Error{"A character of this text has no token in this model's vocabulary"};
        ids.insert(ids.end(), found.begin(), found.end());
    } else if (const auto lost = encode_pieces(text, ids)) {
        return Error{"'" + *lost + "' has no token in this model's vocabulary"};
    }
    if (ends && last_) ids.push_back(*last_);
    return ids;
}

std::string GgufTokenizer::decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const std::int32_t id : ids) {
        if (id < 0 || id >= vocabulary_size()) continue;
        const auto place = static_cast<std::size_t>(id);
        text += bytes_of(texts_[place], types_[place], is_byte_level());
    }
    return text;
}

}  // namespace attn
