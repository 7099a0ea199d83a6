#include "text/sentence_piece.hpp"

#include <catch_amalgamated.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "text/utf8.hpp"

using namespace attn;

namespace {

using Ids = std::vector<std::int32_t>;
using Scores = std::vector<std::pair<std::string, float>>;

// The pieces' ids are their places; an additional last one is the unknown token.
SentencePiece vocabulary(const Scores& scores, bool with_bytes = false) {
    std::vector<SentencePiece::Piece> pieces;
    std::array<std::int32_t, 256> bytes{};
    for (std::size_t i = 0; i < scores.size(); ++i)
        pieces.push_back({scores[i].first, scores[i].second, static_cast<std::int32_t>(i)});
    for (std::size_t byte = 0; byte < 256; ++byte)
        bytes[byte] = with_bytes ? static_cast<std::int32_t>(1000 + byte) : SentencePiece::no_piece;
    return {std::move(pieces), bytes, static_cast<std::int32_t>(scores.size())};
}

Ids ids(const SentencePiece& pieces, std::string_view text) {
    Ids found;
    CHECK(!pieces.encode(text, found));
    return found;
}

// Does the same by the definition: it examines all neighbours again for each join.
Ids ids_plainly(const Scores& scores, std::string_view text) {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < scores.size(); ++i) places.try_emplace(scores[i].first, i);
    std::vector<std::string> symbols;
    while (!text.empty()) {
        const std::size_t length = first_code_point(text).bytes;
        symbols.emplace_back(text[0] == ' ' ? "▁" : text.substr(0, length));
        text.remove_prefix(length);
    }
    while (true) {
        std::size_t best = symbols.size();
        float score = 0;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto place = places.find(symbols[i] + symbols[i + 1]);
            if (place == places.end()) continue;
            if (best < symbols.size() && scores[place->second].second <= score) continue;
            best = i;
            score = scores[place->second].second;
        }
        if (best == symbols.size()) break;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    Ids found;
    const auto unknown = static_cast<std::int32_t>(scores.size());
    bool before = false;
    for (const std::string& symbol : symbols) {
        const auto place = places.find(symbol);
        const bool known = place != places.end();
        if (known) found.push_back(static_cast<std::int32_t>(place->second));
        if (!known && !before) found.push_back(unknown);
        before = !known;
    }
    return found;
}

}  // namespace

TEST_CASE("neighbours are joined by the best score, the left ones among equals", "[text]") {
    const SentencePiece pieces =
        vocabulary({{"a", -9}, {"b", -9}, {"ab", -2}, {"ba", -1}, {"aba", -3}, {"▁", -9}, {"▁a", -4}});
    CHECK(ids(pieces, "aba") == Ids{4});  // "ba" before "ab", and "a" + "ba" is then "aba"
    CHECK(ids(pieces, "ab") == Ids{2});
    CHECK(ids(pieces, "abab") == Ids{4, 1});
    CHECK(ids(pieces, " a") == Ids{6});
    CHECK(ids(pieces, "  a") == Ids{5, 6});
    const SentencePiece equal = vocabulary({{"a", -1000}, {"aa", -1000}, {"aaa", -1000}});
    CHECK(ids(equal, "aaa") == Ids{2});
    CHECK(ids(equal, "aaaa") == Ids{2, 0});
    CHECK(ids(equal, "aaaaa") == Ids{2, 1});
}

TEST_CASE("text without a piece is spelled in bytes, or a run of it is one unknown token", "[text]") {
    CHECK(ids(vocabulary({{"a", -1}}, true), "aé a") == Ids{0, 1195, 1169, 1226, 1150, 1129, 0});
    CHECK(ids(vocabulary({{"a", -1}}), "aéüa日") == Ids{0, 1, 0, 1});
    const SentencePiece without(
        {{"a", -1, 0}},
        [] {
            std::array<std::int32_t, 256> none{};
            none.fill(SentencePiece::no_piece);
            return none;
        }(),
        std::nullopt);
    Ids found;
    CHECK(without.encode("aé", found) == "é");
}

TEST_CASE("pieces match the definition, on random vocabularies and texts", "[text]") {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        Scores scores{{"a", -1}, {"b", -2}, {"▁", -3}};
        for (int i = 0; i < 25; ++i) {
            const auto& left = scores[random() % scores.size()].first;
            const auto& right = scores[random() % scores.size()].first;
            if (left.size() + right.size() < 20)
                scores.emplace_back(left + right, -static_cast<float>(random() % 20));
        }
        std::string text;
        for (int i = 0; i < 60; ++i) text += std::array{"a", "b", " ", "é"}[random() % (round % 2 ? 4 : 3)];
        CAPTURE(text);
        CHECK(ids(vocabulary(scores), text) == ids_plainly(scores, text));
    }
}

TEST_CASE("a long text without a blank does not take quadratic time", "[text]") {
    const SentencePiece pieces =
        vocabulary({{"a", -9}, {"aa", -1}, {"aaaa", -2}, {"aaaaaaaa", -3}, {"aaab", -4}, {"b", -9}});
    CHECK(ids(pieces, std::string(100'000, 'a')).size() == 100'000 / 8);
    Ids found;
    std::string mixed;
    for (int i = 0; i < 50'000; ++i) mixed += i % 7 < 4 ? 'a' : 'b';
    CHECK(ids(pieces, mixed).size() > 10'000);
}
