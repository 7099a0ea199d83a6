#include <catch_amalgamated.hpp>
#include <string>

#include "attention/mask.hpp"
#include "tensor/random.hpp"

using namespace attn;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

std::string failure(std::string_view text) {
    const auto mask = Mask::parse(text);
    return mask ? "" : mask.error().message;
}

// Makes a random expression of a few levels.
Mask random_mask(Random& random, int levels) {
    const auto below = [&](int n) { return static_cast<int>(random.uniform() * n); };
    if (levels > 0) {
        switch (below(4)) {
            case 0: return random_mask(random, levels - 1) & random_mask(random, levels - 1);
            case 1: return random_mask(random, levels - 1) | random_mask(random, levels - 1);
            case 2: return !random_mask(random, levels - 1);
            default: break;
        }
    }
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(below(40)));
    for (auto& b : bits) b = static_cast<std::uint8_t>(below(2));
    const Index size = std::ssize(bits);
    switch (below(11)) {
        case 0: return Mask();
        case 1: return Mask::causal(below(9) - 4);
        case 2: return Mask::window(below(9) - 4, below(9) - 4);
        case 3: return Mask::padding(below(9));
        case 4: return Mask::prefix(below(9));
        case 5: return Mask::strided(1 + below(9));
        case 6: return Mask::block_sparse(1 + below(9), 1, size, bits);
        case 7:
            return Mask::global_local(std::vector<Index>(static_cast<std::size_t>(below(3)), below(9)),
                                      below(9));
        case 8: return Mask::painted({1, size, 1, bits});
        case 9: return Mask::painted({2, 0, 3, {}});
        default:
            return Mask::same_document(
                std::vector<std::int32_t>(static_cast<std::size_t>(below(4)), below(9) - 4),
                std::vector<std::int32_t>(bits.begin(), bits.end()));
    }
}

}  // namespace

TEST_CASE("A mask's text is the text it was made from", "[unit][mask]") {
    CHECK(Mask().text() == "everything");
    CHECK(Mask::causal(-3).text() == "causal(-3)");
    CHECK((Mask::causal() & Mask::window(3, 0)).text() == "causal(0) & window(3,0)");
    CHECK(((!(Mask::causal() | Mask::padding(4))) & Mask::prefix(2)).text() ==
          "!(causal(0) | padding(4)) & prefix(2)");
    CHECK(((Mask::causal() | Mask::padding(4)) & Mask::strided(2)).text() ==
          "(causal(0) | padding(4)) & strided(2)");
    CHECK(Mask::same_document({0, 0, 1}, {}).text() == "same_document([0,0,1],[])");
    CHECK(Mask::block_sparse(16, 2, 3, {1, 0, 1, 0, 1, 0}).text() == "block_sparse(16,2,3,a8)");
    CHECK(Mask::global_local({4, 0}, 2).text() == "global_local([0,4],2)");
    CHECK(Mask::painted({1, 2, 3, {1, 1, 1, 1, 0, 1}}).text() == "painted(1,2,3,f4)");
    CHECK((!Mask()).text() == "!everything");
}

TEST_CASE("Text and mask are equivalent", "[unit][mask]") {
    Random random(1);
    for (int i = 0; i < 3000; ++i) {
        const Mask mask = random_mask(random, 4);
        const std::string text = mask.text();
        const auto again = Mask::parse(text);
        INFO(text);
        REQUIRE(again);
        REQUIRE(*again == mask);
        REQUIRE(again->text() == text);
    }
}

TEST_CASE("Precedence and spaces", "[unit][mask]") {
    CHECK(*Mask::parse("causal(0)|padding(1)&prefix(2)") ==
          (Mask::causal() | (Mask::padding(1) & Mask::prefix(2))));
    CHECK(*Mask::parse("  ( causal( 0 ) )  ") == Mask::causal());
    CHECK(*Mask::parse("!!causal(0)") == !!Mask::causal());
    CHECK(*Mask::parse("!causal(0) & padding(1)") == ((!Mask::causal()) & Mask::padding(1)));
}

TEST_CASE("Runs in lists are written once, and documents equal for keys, too", "[unit][mask]") {
    std::vector<std::int32_t> documents(16'384, 3);
    std::fill(documents.begin() + 10'000, documents.end(), -4);
    const Mask mask = Mask::same_document(documents, documents);
    CHECK(mask.text() == "same_document([3*10000,-4*6384])");
    CHECK(*Mask::parse(mask.text()) == mask);
    CHECK(*Mask::parse("same_document([0 * 2, 1], [0, 1*1])") == Mask::same_document({0, 0, 1}, {0, 1}));
    CHECK(Mask::same_document({1, 1, 1, 2}, {1}).text() == "same_document([1,1,1,2],[1])");
    CHECK(Mask::same_document({}, {}).text() == "same_document([])");
    CHECK(*Mask::parse("global_local([4*3],1)") == Mask::global_local({4}, 1));
    CHECK_THAT(failure("same_document([0*])"), StartsWith("mask: at character 18 a whole number is missing"));
    CHECK_THAT(failure("same_document([0*0])"), StartsWith("mask: at character 18 a number is out of range"));
}

TEST_CASE("An invalid mask gets one sentence", "[unit][mask]") {
    CHECK(failure("") ==
          "mask: at character 1 a term is missing; write for example causal(0), window(3,0), "
          "padding(5) or everything");
    CHECK(failure("causal") == "mask: at character 7 a '(' is missing");
    CHECK(failure("causal(") == "mask: at character 8 a whole number is missing");
    CHECK(failure("causal(1") == "mask: at character 9 a ')' is missing");
    CHECK(failure("causal(1) padding(2)") ==
          "mask: at character 11 stands something unexpected; join terms with & or |");
    CHECK_THAT(failure("window(1)"), StartsWith("mask: at character 9 a ',' is missing"));
    CHECK_THAT(failure("causal(0) &"), StartsWith("mask: at character 12 a term is missing"));
    CHECK_THAT(failure("diagonal(3)"), StartsWith("mask: at character 1 a term is missing"));
    CHECK_THAT(failure("strided(0)"),
               StartsWith("mask: at character 9 a number is out of range; it must lie between 1"));
    CHECK_THAT(failure("causal(99999999999999999999)"),
               StartsWith("mask: at character 8 a number is out of range"));
    CHECK_THAT(failure("padding(-1)"), StartsWith("mask: at character 9 a number is out of range"));
    CHECK_THAT(failure("same_document([0,],[0])"),
               StartsWith("mask: at character 18 a whole number is missing"));
    CHECK_THAT(failure("painted(1,2,3,f)"), StartsWith("mask: at character 16 the digits do not fit 1×2×3"));
    CHECK_THAT(failure("painted(1,2,3,fff)"), StartsWith("mask: at character 18 the digits do not fit"));
    CHECK_THAT(failure("everything everything"), StartsWith("mask: at character 12"));
    CHECK_THAT(failure(std::string_view("causal(0)\0", 10)), StartsWith("mask: at character 10"));
}

TEST_CASE("Hostile text costs nothing", "[unit][mask]") {
    CHECK_THAT(failure("painted(1000000000,1000000000,1000000000,f)"), StartsWith("mask:"));
    CHECK_THAT(failure("block_sparse(1,1000000000,1000000000,)"), StartsWith("mask:"));
    CHECK_THAT(failure("same_document([0*1000000000])"), EndsWith("it must have at most 1048576 numbers"));
    CHECK_THAT(failure("same_document([0*1048576,1])"), EndsWith("it must have at most 1048576 numbers"));
    std::string deep = "causal(0)";
    for (int i = 0; i < 10'000; ++i) deep = "!(" + deep + ")";
    CHECK_THAT(failure(deep), StartsWith("mask: at character 34 the expression is nested too deeply"));
    CHECK_THAT(failure(std::string(1000000, '(')),
               StartsWith("mask: at character 34 the expression is nested"));
    CHECK_THAT(failure(std::string(1000000, '!')),
               StartsWith("mask: at character 34 the expression is nested"));
    std::string many = "causal(0)";
    for (int i = 0; i < 300; ++i) many += "|causal(0)";
    CHECK_THAT(failure(many), EndsWith("the expression is too long; use at most 256 terms"));
    CHECK_THAT(failure(std::string((std::size_t{1} << 22) + 1, ' ')),
               StartsWith("mask: the text is longer than"));
}

TEST_CASE("No text of ours, valid or broken, crashes the parser", "[unit][mask]") {
    Random random(2);
    const std::string alphabet = "causlwindopreg_xythf0123456789,()[]&|! -";
    for (int i = 0; i < 20000; ++i) {
        std::string text = random_mask(random, 3).text();
        for (int changes = 0; changes < 3 && !text.empty(); ++changes) {
            const auto at = static_cast<std::size_t>(random.uniform() * static_cast<double>(text.size()));
            const char with =
                alphabet[static_cast<std::size_t>(random.uniform() * static_cast<double>(alphabet.size()))];
            random.uniform() < 0.3   ? text.erase(at, 1)
            : random.uniform() < 0.5 ? text.insert(at, 1, with)
                                     : text.replace(at, 1, 1, with);
        }
        const auto mask = Mask::parse(text);
        if (!mask) {
            REQUIRE_THAT(mask.error().message, StartsWith("mask: "));
        } else {
            REQUIRE(*Mask::parse(mask->text()) == *mask);
        }
    }
}
