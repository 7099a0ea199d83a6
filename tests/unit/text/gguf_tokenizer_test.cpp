#include "text/gguf_tokenizer.hpp"

#include <deque>
#include <fstream>
#include <random>

#include "support/shared_data.hpp"
#include "vocabularies.hpp"

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::int32_t>;
using enum TokenType;

// A vocabulary with its texts.
struct Written {
    std::deque<std::string> texts;
    GgufVocabulary vocabulary;

    std::int32_t add(const std::string& text, TokenType type = normal, float score = 0) {
        vocabulary.tokens.push_back(texts.emplace_back(text));
        vocabulary.types.push_back(type);
        vocabulary.scores.push_back(score);
        return static_cast<std::int32_t>(vocabulary.tokens.size()) - 1;
    }
    void merge(const std::string& left, const std::string& right) {
        vocabulary.merges.push_back(texts.emplace_back(left + " " + right));
        add(left + right);
    }
};

// All bytes, and some merges.
Written byte_level(std::string_view pre) {
    Written written;
    written.vocabulary.model = "gpt2";
    written.vocabulary.pre = pre;
    for (const std::uint8_t byte : bytes_in_alphabet_order())
        written.add(spell(std::string(1, static_cast<char>(byte))));
    for (const auto& [left, right] :
         {std::pair{"a", "a"}, {"aa", "aa"}, {"Ġ", "a"}, {"t", "h"}, {"th", "e"}, {"Ġ", "the"}, {"1", "2"}})
        written.merge(left, right);
    return written;
}

Written sentence_piece() {
    Written written;
    written.vocabulary.model = "llama";
    written.add("<unk>", unknown);
    written.add("<s>", control);
    written.add("</s>", control);
    for (const auto& [text, score] :
         {std::pair{"▁", -3.f}, {"a", -4.f}, {"b", -5.f}, {"▁a", -1.f}, {"ab", -2.f}})
        written.add(text, normal, score);
    return written;
}

GgufTokenizer made(const GgufVocabulary& vocabulary) {
    auto tokenizer = GgufTokenizer::make(vocabulary);
    if (!tokenizer) FAIL(tokenizer.error().message);
    return *std::move(tokenizer);
}

Ids operator+(Ids one, const Ids& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

Ids encoded(const GgufTokenizer& tokenizer, std::string_view text, bool ends = true) {
    const auto ids = tokenizer.encode(text, ends);
    if (!ids) FAIL(ids.error().message);
    return *ids;
}

std::string refusal(const GgufVocabulary& vocabulary) {
    const auto tokenizer = GgufTokenizer::make(vocabulary);
    return tokenizer ? "accepted" : tokenizer.error().message;
}

Result<GgufTokenizer> opened(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    const auto header = parse_gguf(bytes);
    if (!header) return header.error();
    const auto vocabulary = GgufVocabulary::read(*header);
    if (!vocabulary) return vocabulary.error();
    return GgufTokenizer::make(*vocabulary);
}

std::string random_text(std::mt19937& random, int parts) {
    constexpr std::array<std::string_view, 22> pieces{
        "the", " the", "a",  "aaaa",        " ",  "  ", "\n",  "\r\n", "'s",     "'LL",    "12",
        "345", "é",    "日", "👩‍👧", "!?", "\0", "Abc", "ǅ",    "\u0301", "\u0085", "\ufeff"};
    std::string text;
    for (int i = 0; i < parts; ++i) text += pieces[random() % pieces.size()];
    return text;
}

}  // namespace

TEST_CASE("ids match llama.cpp's", "[golden][gguf][text]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP("the shared GGUF files are not here; set ATTN_SHARED to their folder");
    const auto [name, file] =
        GENERATE(table<std::string, std::string>({{"babyllama", "babyllama-tok105-q4_k_m"},
                                                  {"babyllama", "babyllama-tok105-f32"},
                                                  {"gpt2", "gpt2-tiny-q8_0"},
                                                  {"gpt2", "gpt2-tiny-q4_1-odd"},
                                                  {"qwen2", "qwen2-tiny-q4_k_m"},
                                                  {"llama3", "llama3-tiny-f16"}}));
    CAPTURE(file);
    const auto tokenizer = opened(*folder / name / (file + ".gguf"));
    if (!tokenizer) FAIL(tokenizer.error().message);
    std::ifstream lines(*folder / "expect" / (name + ".tokens.jsonl"));
    int cases = 0;
    for (std::string line; std::getline(lines, line); ++cases) {
        const json expected = json::parse(line, nullptr, false);
        const auto text = expected["text"].get<std::string>();
        CAPTURE(text);
        CHECK(encoded(*tokenizer, text) == expected["ids"].get<Ids>());
        if (tokenizer->is_byte_level()) CHECK(tokenizer->decode(encoded(*tokenizer, text, false)) == text);
    }
    CHECK(cases >= 5);
}

TEST_CASE("files with a broken tokenizer are refused in one sentence", "[gguf][text]") {
    const auto folder = shared_data("gguf/broken");
    if (!folder) SKIP("the shared GGUF files are not here; set ATTN_SHARED to their folder");
    CHECK(opened(*folder / "good.gguf"));
    const auto [file, says] = GENERATE(table<std::string, std::string>({
        {"tokens-31",
         "tokenizer.ggml.tokens has 31 tokens, but token_embd.weight has 32 rows: they do not "
         "belong together"},
        {"scores-31", "tokenizer.ggml.scores has 31 numbers, but there are 32 tokens"},
        {"bos-99", "tokenizer.ggml.bos_token_id is 99, but there are 32 tokens"},
        {"tokenizer-unknown",
         "tokenizer.ggml.model is 'nonesuch'; 'gpt2' (byte-level BPE) and 'llama' "
         "(SentencePiece) can be read here"},
        {"no-tokens", "The file has no tokenizer: it lacks tokenizer.ggml.tokens"},
    }));
    CAPTURE(file);
    const auto tokenizer = opened(*folder / (file + ".gguf"));
    REQUIRE(!tokenizer);
    CHECK(tokenizer.error().message == says);
}

TEST_CASE("byte-level BPE restores any text, with each pre-tokenizer", "[gguf][text]") {
    const auto pre =
        GENERATE(as<std::string>(), "gpt-2", "smollm", "qwen2", "llama-bpe", "dbrx", "gpt-4o", "tekken");
    CAPTURE(pre);
    const GgufTokenizer tokenizer = made(byte_level(pre).vocabulary);
    std::mt19937 random(3);
    for (int round = 0; round < 50; ++round) {
        const std::string text = random_text(random, 100);
        CAPTURE(text);
        CHECK(tokenizer.decode(encoded(tokenizer, text)) == text);
    }
    CHECK(tokenizer.decode(encoded(tokenizer, "a\xFFz\xE2\x82")) == "a\uFFFDz\uFFFD");
    CHECK(encoded(tokenizer, std::string(100'000, 'a')).size() == 100'000 / 4);
    CHECK(tokenizer.decode(encoded(tokenizer, std::string(100'000, ' '))) == std::string(100'000, ' '));
    // A token that is part of a character.
    CHECK(tokenizer.decode(Ids(1, encoded(tokenizer, "é").front())) == "\xC3");
}

TEST_CASE("GPT-2's pieces are merged like with a tokenizer.json of the same vocabulary", "[gguf][text]") {
    const std::vector<std::pair<std::string, std::string>> merges{
        {"a", "a"}, {"aa", "aa"}, {"Ġ", "a"}, {"t", "h"}, {"th", "e"}, {"Ġ", "the"}, {"1", "2"}};
    const Bpe bpe = parsed(tokenizer_json(merges));
    const GgufTokenizer tokenizer = made(byte_level("gpt-2").vocabulary);
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        const std::string text = random_text(random, 100);
        CAPTURE(text);
        CHECK(encoded(tokenizer, text) == bpe.encode(text));
    }
}

TEST_CASE("a piece that is a token precedes merges for llama-bpe alone", "[gguf][text]") {
    const auto ids_of = [](std::string_view pre) {
        Written written = byte_level(pre);
        written.add("aaab");  // no merge leads there
        return encoded(made(written.vocabulary), "aaab");
    };
    CHECK(ids_of("llama-bpe") == Ids{263});
    CHECK(ids_of("qwen2") == Ids{256, 64, 65});
}

TEST_CASE("tokens are matched in a text according to their types", "[gguf][text]") {
    Written written = byte_level("gpt-2");
    written.add("<|end|>", control);
    written.add("<tool use>", user_defined);
    written.add("[OLD]", unused);
    const std::int32_t end = 263, tool = 264;
    written.vocabulary.bos = end;
    const GgufTokenizer plain = made(written.vocabulary);
    CHECK(encoded(plain, "a<|end|>a<tool use>") == Ids{64, end, 64, tool});
    CHECK(encoded(plain, "[OLD]").size() == 5);
    CHECK(plain.decode(Ids{264, 64, -1, 999}) == "<tool use>a");
    written.vocabulary.add_bos = true;
    written.vocabulary.add_eos = true;  // there is no such token
    CHECK(encoded(made(written.vocabulary), "a") == Ids{end, 64});
    CHECK(encoded(made(written.vocabulary), "a", false) == Ids{64});
    // Without the key, files of llama-bpe begin with the token, and others do not.
    Written llama = byte_level("llama-bpe");
    llama.vocabulary.bos = llama.add("<|begin|>", control);
    CHECK(encoded(made(llama.vocabulary), "a") == Ids{263, 64});
    llama.vocabulary.add_bos = false;
    CHECK(encoded(made(llama.vocabulary), "a") == Ids{64});
}

TEST_CASE("a file that does not say how to divide a text is read like llama.cpp does", "[gguf][text]") {
    Written written = byte_level("gpt-2");
    written.merge("Ġ", "(");
    CHECK(encoded(made(written.vocabulary), "a (12)") == Ids{64, 263, 262, 8});
    for (const std::optional<std::string_view> pre : {std::optional<std::string_view>{}, {""}, {"default"}}) {
        written.vocabulary.pre = pre;
        const GgufTokenizer tokenizer = made(written.vocabulary);
        CHECK(encoded(tokenizer, "a (12)") == Ids{64, 220, 7, 262, 8});
        CHECK(encoded(tokenizer, "a (the) a") == encoded(tokenizer, "a (the)") + encoded(tokenizer, " a"));
        CHECK(tokenizer.decode(encoded(tokenizer, "a (12)\n\n½12345")) == "a (12)\n\n½12345");
    }
}

TEST_CASE("marks that a file types as text are matched whole all the same", "[gguf][text]") {
    for (const std::string_view mark :
         {"</s>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<end_of_turn>", "<EOT>", "[EOS]",
          "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>", "[PAD]",
          "<｜end▁of▁sentence｜>", "<|channel|>"}) {
        CAPTURE(mark);
        for (const TokenType type : {normal, unused}) {
            Written written = byte_level("gpt-2");
            const std::int32_t id = written.add(std::string(mark), type);
            CHECK(encoded(made(written.vocabulary), "a" + std::string(mark) + "a") == Ids{64, id, 64});
            const TokenType found = made(written.vocabulary).types().back();
            CHECK(found == (mark == "<|channel|>" ? user_defined : control));
        }
        Written written = sentence_piece();
        const std::int32_t id = mark == "</s>" ? 2 : written.add(std::string(mark), normal);
        CHECK(encoded(made(written.vocabulary), "a" + std::string(mark) + "b", false) == Ids{6, id, 3, 5});
    }
    Written written = byte_level("gpt-2");
    written.add("<|im_start|>", normal);  // not on llama.cpp's list
    CHECK(encoded(made(written.vocabulary), "<|im_start|>").size() > 1);
    written = byte_level("gpt-2");
    written.add("<|fim_pad|>", normal);
    written.vocabulary.fills_given[static_cast<std::size_t>(FillMark::padding)] =
        true;  // the key names another token
    CHECK(encoded(made(written.vocabulary), "<|fim_pad|>").size() > 1);
    written = byte_level("gpt-2");
    written.add("</s>", control);
    written.add("<|tool_response>", normal);
    CHECK(encoded(made(written.vocabulary), "</s>").size() > 1);
}

TEST_CASE("the marks of Phi-3 take the white space after them", "[gguf][text]") {
    Written written = sentence_piece();
    const std::int32_t user = written.add("<|user|>", control), last = written.add("<|endoftext|>", control);
    CHECK(encoded(made(written.vocabulary), "<|user|> \n", false) == Ids{user, 3, 3, 0});
    for (const std::string_view name : {"Phi3", "microsoft Phi-3 mini"}) {
        written.vocabulary.name = name;
        const GgufTokenizer tokenizer = made(written.vocabulary);
        CHECK(encoded(tokenizer, "<|user|> \n\t", false) == Ids{user});
        CHECK(encoded(tokenizer, "<|user|>\na</s> b", false) == Ids{user, 6, 2, 3, 5});
        CHECK(encoded(tokenizer, "<|endoftext|> ", false) == Ids{last, 3, 3});
        CHECK(encoded(tokenizer, "<s> ", false) == Ids{1, 3, 3});
    }
    Written bytes = byte_level("gpt-2");
    bytes.vocabulary.name = "phi-3";
    const std::int32_t mark = bytes.add("<|user|>", control);
    CHECK(encoded(made(bytes.vocabulary), "<|user|>\n a") == Ids{mark, 64});
}

TEST_CASE("SentencePiece begins with its token and a blank", "[gguf][text]") {
    Written written = sentence_piece();
    const std::int32_t blanks = written.add("▁▁", user_defined);
    const GgufTokenizer tokenizer = made(written.vocabulary);
    CHECK(encoded(tokenizer, "a") == Ids{1, 6});
    CHECK(encoded(tokenizer, "") == Ids{1});
    CHECK(encoded(tokenizer, "ab") == Ids{1, 6, 5});
    CHECK(encoded(tokenizer, "a</s>b", false) == Ids{6, 2, 3, 5});
    CHECK(encoded(tokenizer, "a  b", false) == Ids{6, blanks, 3, 5});
    CHECK(encoded(tokenizer, "aéüa", false) == Ids{6, 0, 4});
    CHECK(tokenizer.decode(Ids{6, 5, blanks, 4}) == " ab  a");
    written.vocabulary.add_space_prefix = false;  // Gemma's setting
    written.vocabulary.add_eos = true;
    CHECK(encoded(made(written.vocabulary), "ab") == Ids{1, 7, 2});
    written.vocabulary.add_bos = false;
    CHECK(encoded(made(written.vocabulary), "b") == Ids{5, 2});
}

TEST_CASE("SentencePiece spells characters in bytes if the file has them", "[gguf][text]") {
    Written written = sentence_piece();
    for (int byte = 0; byte < 256; ++byte) {
        constexpr std::string_view digits = "0123456789ABCDEF";
        written.add(std::string("<0x") + digits[static_cast<std::size_t>(byte / 16)] +
                        digits[static_cast<std::size_t>(byte % 16)] + ">",
                    TokenType::byte);
    }
    for (const bool typed : {true, false}) {
        if (!typed) written.vocabulary.types.clear();
        const GgufTokenizer tokenizer = made(written.vocabulary);
        CHECK(encoded(tokenizer, "aé\n", false) == Ids{6, 8 + 0xC3, 8 + 0xA9, 8 + 0x0A});
        CHECK(tokenizer.decode(Ids{8 + 0xC3}) == "\xC3");
        std::mt19937 random(11);
        const std::string text = random_text(random, 300);
        CHECK(tokenizer.decode(encoded(tokenizer, text, false)) == " " + text);
        CHECK(tokenizer.decode(encoded(tokenizer, "\xFF", false)) == " \uFFFD");
    }
}

TEST_CASE("invalid vocabularies are refused in one sentence", "[gguf][text]") {
    Written written = byte_level("runes");
    CHECK(refusal(written.vocabulary) ==
          "tokenizer.ggml.pre is 'runes', a way to divide texts that is not known here");
    written = byte_level("gpt-2");
    for (const auto& [merge, says] : {std::pair{"a z", "there is no token 'az'"},
                                      {"a", "it should be two tokens with a space between them"},
                                      {"a a a", "it should be two tokens"},
                                      {"", "it should be two tokens"},
                                      {" ", "it should be two tokens"}}) {
        written.vocabulary.merges.back() = merge;
        CHECK_THAT(refusal(written.vocabulary), Catch::Matchers::StartsWith("tokenizer.ggml.merges has '") &&
                                                    Catch::Matchers::ContainsSubstring(says) &&
                                                    Catch::Matchers::ContainsSubstring("as number 6"));
    }
    written.vocabulary.merges.clear();
    CHECK(refusal(written.vocabulary) == "tokenizer.ggml.merges is missing; byte-level BPE needs it");
    written = byte_level("gpt-2");
    written.vocabulary.eos = -1;
    CHECK(refusal(written.vocabulary) == "tokenizer.ggml.eos_token_id is -1, but there are 263 tokens");
    written = byte_level("gpt-2");
    written.add(std::string(300, 'x'), control);
    CHECK_THAT(refusal(written.vocabulary), Catch::Matchers::ContainsSubstring("up to 256 bytes"));
    written = sentence_piece();
    written.vocabulary.scores.clear();
    CHECK(refusal(written.vocabulary) ==
          "tokenizer.ggml.scores is missing; SentencePiece needs a score for each token");
    written = sentence_piece();
    written.add("byte", TokenType::byte);
    CHECK(refusal(written.vocabulary) ==
          "tokenizer.ggml.tokens has 'byte' as a byte; it should be like '<0x0A>'");
}

TEST_CASE("a character without a token is named", "[gguf][text]") {
    Written written;
    written.vocabulary.model = "gpt2";
    written.add("a");
    written.merge("a", "a");
    const auto ids = made(written.vocabulary).encode("aé");
    REQUIRE(!ids);
    CHECK(ids.error().message == "A character of this text has no token in this model's vocabulary");
    CHECK(encoded(made(written.vocabulary), "aaa") == Ids{1, 0});
}
