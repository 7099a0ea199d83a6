#include "text/bpe_train.hpp"

#include <map>
#include <set>

#include "tensor/random.hpp"
#include "text/pretokenize.hpp"
#include "vocabularies.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using Tokens = std::vector<std::string>;

// Returns the tokens beyond special ones and bytes, in the order in which they were learned.
Tokens learned(const Bpe& bpe, std::int32_t special = 0) {
    Tokens tokens;
    for (std::int32_t id = 256 + special; id < bpe.vocabulary_size(); ++id)
        tokens.emplace_back(bpe.token(id));
    return tokens;
}

// Does the same by the definition: it counts all pairs again for each merge.
Tokens learned_plainly(std::string_view text, std::size_t count) {
    Tokens tokens;
    for (const std::uint8_t byte : bytes_in_alphabet_order()) tokens.emplace_back(1, static_cast<char>(byte));
    std::vector<std::vector<std::size_t>> pieces;
    for_each_piece(text, [&](std::string_view piece) {
        auto& ids = pieces.emplace_back();
        for (const char byte : piece)
            ids.push_back(
                static_cast<std::size_t>(std::ranges::find(tokens, std::string(1, byte)) - tokens.begin()));
    });
    while (tokens.size() < 256 + count) {
        std::map<std::pair<std::size_t, std::size_t>, int> counts;
        for (const auto& ids : pieces)
            for (std::size_t i = 0; i + 1 < ids.size(); ++i) ++counts[{ids[i], ids[i + 1]}];
        const auto [left, right] =
            std::ranges::max_element(counts, {}, [](auto& entry) { return entry.second; })->first;
        const std::size_t id = tokens.size();
        tokens.push_back(tokens[left] + tokens[right]);
        for (auto& ids : pieces)
            for (std::size_t i = 0; i + 1 < ids.size(); ++i)
                if (ids[i] == left && ids[i + 1] == right) {
                    ids[i] = id;
                    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                }
    }
    return {tokens.begin() + 256, tokens.end()};
}

void refused(const Result<Bpe>& result, const std::string& what) {
    REQUIRE_FALSE(result);
    CHECK(result.error().message == what);
}

}  // namespace

// Worked out by hand. The pieces are low ×5, lower ×2, newest ×6, widest ×3, so the pairs are lo 7, ow 7, we
// 2 + 6, er 2, ne 6, ew 6, es 9, st 9, wi 3, id 3, de 3. es precedes st by its lower ids, and takes st's 9
// along. est 9 is next, then lo (l < o), which makes low 7. Of those with 6 (ne, ew, and w + est), e + w has
// the lower ids.
TEST_CASE("the most frequent pair becomes a token, the lower ids first", "[text]") {
    std::string text;
    for (const auto& [word, count] : {std::pair{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}})
        for (int i = 0; i < count; ++i) text += std::string(word) + "\n";
    CHECK(learned(trained({text}, 261)) == Tokens{"es", "est", "lo", "low", "ew"});
    // n + ew and ew + est both have 6; the ids of n and ew, or of ew and est, decide.
    CHECK(learned(trained({text}, 263)) == Tokens{"es", "est", "lo", "low", "ew", "new", "newest"});
}

TEST_CASE("a run of one letter is counted by its overlapping pairs and merged from the left", "[text]") {
    // aaaaa has (a, a) 4 times and becomes aa aa a, with (aa, aa) and (aa, a) once each; a has the lower id.
    const Bpe bpe = trained({"aaaaa"}, 259);
    CHECK(learned(bpe) == Tokens{"aa", "aaa", "aaaaa"});
    CHECK(tokens_of(bpe, "aaaaa") == Tokens{"aaaaa"});
}

TEST_CASE("updated counts choose the same pairs as recounting", "[text]") {
    const unsigned letters = GENERATE(2u, 3u, 8u), longest = GENERATE(6u, 40u);
    Random random(letters + longest);
    std::string text;
    for (int word = 0; word < 120; ++word) {
        for (auto length = random.bits() % longest; length > 0; --length)
            text += static_cast<char>('a' + random.bits() % letters);
        text += ' ';
    }
    const int count = 40;
    const Bpe bpe = trained({text}, 256 + count);
    const Tokens tokens = learned_plainly(text, count);
    CHECK(learned(bpe) == tokens);
    CHECK(std::set(tokens.begin(), tokens.end()).size() == tokens.size());
}

TEST_CASE("bytes are numbered by their characters, special tokens before them", "[text]") {
    const Bpe bpe = trained({"a"}, 258, {"<|endoftext|>", "<pad>"});
    CHECK(bpe.token(0) == "<|endoftext|>");
    CHECK(bpe.token(1) == "<pad>");
    CHECK(bpe.token(2) == "!");
    CHECK(bpe.token(2 + 220) == " ");
    CHECK(bpe.token(2 + 255) == "\xAD");
    CHECK(tokens_of(bpe, "a<pad>") == Tokens{"a", "<pad>"});
}

TEST_CASE("special tokens are not part of the training text", "[text]") {
    CHECK(learned(trained({"<s>ab<s>ab<s>"}, 258, {"<s>"}), 1) == Tokens{"ab"});
    refused(train({"<s>ab<s>ab<s>"}, 259, {"<s>"}),
            "a vocabulary of 259 tokens is more than this text supports; it makes 258");
}

TEST_CASE("the texts count together, and no pair joins them", "[text]") {
    CHECK(learned(trained({"ab", "cd", "ab"}, 258)) == Tokens{"ab", "cd"});
    refused(train({"a", "b"}, 257),
            "a vocabulary of 257 tokens is more than this text supports; it makes 256");
}

TEST_CASE("the order of the texts changes nothing", "[text]") {
    const std::vector<std::string_view> texts{"the rain in Spain", "stays mainly in the plain,",
                                              "as it is plain"};
    const std::vector<std::string_view> reversed(texts.rbegin(), texts.rend());
    CHECK(trained(texts, 280).to_json() == trained(reversed, 280).to_json());
}

TEST_CASE("unsuitable texts are refused", "[text]") {
    refused(train({}, 300), "there is no text to learn a vocabulary from");
    refused(train({"", ""}, 300), "there is no text to learn a vocabulary from");
    refused(train({"<s><s>"}, 300, {"<s>"}), "there is no text to learn a vocabulary from");
    refused(train({"abc"}, 255),
            "a vocabulary of 255 tokens is too small: the 256 bytes and the special tokens take 256");
    refused(train({"abc"}, -1),
            "a vocabulary of -1 tokens is too small: the 256 bytes and the special tokens take 256");
    refused(train({"abc"}, 256, {"<s>"}),
            "a vocabulary of 256 tokens is too small: the 256 bytes and the special tokens take 257");
    refused(train({"a"}, 257), "a vocabulary of 257 tokens is more than this text supports; it makes 256");
    refused(train({"abc abc"}, 1000),
            "a vocabulary of 1000 tokens is more than this text supports; it makes 259");
    refused(train({"a"}, 300, {"<s>", "<s>"}), "the special token '<s>' is given twice");
    refused(train({"a"}, 300, {""}), "the special token '' is not of 2 to 256 of the characters from ! to ~");
    refused(train({"a"}, 300, {"a b"}),
            "the special token 'a b' is not of 2 to 256 of the characters from ! to ~");
    refused(train({"a"}, 300, {"é"}),
            "the special token '\\xc3\\xa9' is not of 2 to 256 of the characters from ! to ~");
    refused(train({"a"}, 300, {"x"}),
            "the special token 'x' is not of 2 to 256 of the characters from ! to ~");
}

TEST_CASE("ill-formed text is trained on as it is read", "[text]") {
    CHECK(learned(trained({"\xFF\xFE\xFF"}, 258)) == Tokens{"\xBF\xBD", "\xEF\xBF\xBD"});
}

TEST_CASE("a long piece without a space is trained on in reasonable time", "[text]") {
    std::string text;
    for (unsigned i = 0; i < 100'000; ++i) text += static_cast<char>('a' + i * i % 7);
    CHECK(trained({text}, 280).vocabulary_size() == 280);
}

TEST_CASE("a vocabulary may end where the text does", "[text]") {
    const std::string_view text = "abab";
    const auto fewer = train_bpe_up_to({&text, 1}, 1000, {}), enough = train_bpe_up_to({&text, 1}, 257, {});
    REQUIRE(fewer);
    REQUIRE(enough);
    CHECK(fewer->vocabulary_size() == 258);  // ab, abab
    CHECK(enough->vocabulary_size() == 257);
    refused(train_bpe_up_to({}, 1000, {}), "there is no text to learn a vocabulary from");
}
