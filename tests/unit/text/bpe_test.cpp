#include "text/bpe.hpp"

#include <fstream>

#include "support/shared_data.hpp"
#include "vocabularies.hpp"

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::int32_t>;
using Tokens = std::vector<std::string>;

std::string text_of(const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Builds GPT-2's tokenizer from its published vocab.json and merges.txt.
Bpe gpt2(const std::filesystem::path& folder) {
    json tree = tokenizer_json({});
    tree["model"]["vocab"] = json::parse(text_of(folder / "gpt2-vocab.json"), nullptr, false);
    std::ifstream file(folder / "gpt2-merges.txt");
    std::string line;
    std::getline(file, line);  // #version
    while (std::getline(file, line))
        if (!line.empty()) tree["model"]["merges"].push_back(line);
    tree["added_tokens"].push_back({{"id", 50256}, {"content", "<|endoftext|>"}, {"special", true}});
    return parsed(tree);
}

}  // namespace

TEST_CASE("merges apply by rank, and from the left among equals", "[text]") {
    const Bpe bpe = parsed(tokenizer_json({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}, {"aa", "a"}}));
    CHECK(tokens_of(bpe, "abc") == Tokens{"abc"});
    CHECK(tokens_of(bpe, "ab") == Tokens{"ab"});
    CHECK(tokens_of(bpe, "abbc") == Tokens{"ab", "bc"});
    CHECK(tokens_of(bpe, "aaa") == Tokens{"aaa"});
    CHECK(tokens_of(bpe, "aaaa") == Tokens{"aa", "aa"});
    CHECK(tokens_of(bpe, "aaaaa") == Tokens{"aa", "aaa"});
    CHECK(tokens_of(bpe, "xyz") == Tokens{"x", "y", "z"});
    // A merge that becomes possible through a merge of higher rank still comes before merges of higher rank
    // than its own.
    const Bpe late = parsed(tokenizer_json({{"ab", "c"}, {"a", "b"}, {"c", "d"}}));
    CHECK(tokens_of(late, "abcd") == Tokens{"abc", "d"});
}

TEST_CASE("no merge crosses the end of a piece", "[text]") {
    const Bpe bpe = parsed(tokenizer_json({{"a", "1"}, {"Ġ", "a"}}));
    CHECK(tokens_of(bpe, "a1 a") == Tokens{"a", "1", " a"});
}

TEST_CASE("decode restores any well-formed text", "[text]") {
    const Bpe bpe =
        trained({"the cat sat on the mat, the cat; das Kätzchen saß 日本日本 😀😀"}, 290, {"<|end|>"});
    const std::string text =
        GENERATE(as<std::string>(), "", " ", "the mat", "😀👍🏽 👩‍👩‍👧",
                 "日本語 한국어 ไทย", "e\u0301 a\u0308\u0323", std::string("a\0\0b", 4), "lone\rreturns\r\r",
                 "\r\n\n \t", "<|end|>the<|end|><|end|", "\ufeffBOM", "\U0010FFFF\uFFFD", "½ Ⅷ ١٢٣");
    CAPTURE(text);
    CHECK(bpe.decode(bpe.encode(text)) == text);
}

TEST_CASE("ill-formed text is read with U+FFFD in it", "[text]") {
    const Bpe bpe = trained({"a"}, 256);
    CHECK(bpe.decode(bpe.encode("a\xFFz\xE2\x82")) == "a\uFFFDz\uFFFD");
}

TEST_CASE("tokens and ids that do not exist", "[text]") {
    const Bpe bpe = trained({"aa aa"}, 258, {"<s>"});
    CHECK(bpe.vocabulary_size() == 258);
    CHECK(bpe.token(0) == "<s>");
    CHECK(bpe.token(1) == "!");
    CHECK(bpe.token(257) == "aa");
    CHECK(bpe.token(258).empty());
    CHECK(bpe.token(-1).empty());
    CHECK(bpe.decode(Ids{257, 9999, -5, 257}) == "aaaa");
    CHECK(bpe.encode("").empty());
    CHECK(bpe.decode({}).empty());
}

TEST_CASE("added tokens are found in the text: the first, then the longest", "[text]") {
    json tree = tokenizer_json({{"a", "b"}});
    int id = 257;
    for (const char* content : {"<e", "<e>", "<e>>", "e><", "☃", "ab "})
        tree["added_tokens"].push_back({{"id", id++}, {"content", content}, {"special", false}});
    const Bpe bpe = parsed(tree);
    CHECK(tokens_of(bpe, "ab<e><e>>e><") == Tokens{"ab", "<e>", "<e>>", "e><"});
    CHECK(tokens_of(bpe, "<e<e>") == Tokens{"<e", "<e>"});
    CHECK(tokens_of(bpe, "x☃ab ab") == Tokens{"x", "☃", "ab ", "ab"});
}

TEST_CASE("a long piece without a space does not take quadratic time", "[text]") {
    const Bpe bpe = parsed(tokenizer_json({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}, {"a", "b"}}));
    const Ids ids = bpe.encode(std::string(100'000, 'a') + "b");
    CHECK(ids.size() == 100'000 / 8 + 1);
    std::string mixed;
    for (int i = 0; i < 50'000; ++i) mixed += i % 7 < 4 ? 'a' : 'b';
    CHECK(bpe.decode(bpe.encode(mixed)) == mixed);
}

TEST_CASE("GPT-2's own ids", "[golden][text]") {
    const auto folder = shared_data("tokenizers");
    if (!folder) SKIP("the shared tokenizers are not here; set ATTN_SHARED to their folder");
    const Bpe bpe = gpt2(*folder);
    CHECK(bpe.vocabulary_size() == 50257);
    std::ifstream lines(*folder / "gpt2.jsonl");
    int cases = 0;
    for (std::string line; std::getline(lines, line); ++cases) {
        const json expected = json::parse(line, nullptr, false);
        const auto text = expected["text"].get<std::string>();
        const auto ids = expected["ids"].get<Ids>();
        CAPTURE(text);
        CHECK(bpe.encode(text) == ids);
        CHECK(bpe.decode(ids) == text);
    }
    CHECK(cases > 30);
    CHECK(bpe.encode("a<|endoftext|>") == Ids{64, 50256});
}
