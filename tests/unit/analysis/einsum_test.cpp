// Checks Einstein sums against NumPy and against plain loops, and checks each text that is refused.
#include "analysis/linalg/einsum.hpp"

#include <cmath>
#include <map>

#include "support/numbers.hpp"
#include "unit/analysis/golden_numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

EinsumText parsed(const std::string& text) {
    INFO(text);
    const auto made = EinsumText::parse(text);
    REQUIRE(made);
    return *made;
}
std::string refusal(const std::string& text) {
    const auto made = EinsumText::parse(text);
    REQUIRE_FALSE(made);
    CHECK(made.error().message.ends_with('.'));
    return made.error().message;
}
std::string refusal(const std::string& text, const std::vector<Shape>& shapes) {
    const auto made = EinsumLoops::of(parsed(text), shapes);
    REQUIRE_FALSE(made);
    CHECK(made.error().message.ends_with('.'));
    return made.error().message;
}

struct Case {
    EinsumText text;
    std::vector<Shape> shapes;
    std::vector<std::vector<float>> values;

    Einsum sum() const {
        const auto loops = EinsumLoops::of(text, shapes);
        INFO((loops ? "" : loops.error().message));
        REQUIRE(loops);
        return Einsum(text, *loops, {values.begin(), values.end()});
    }
};

std::string with_names(std::string subscripts, std::size_t operands) {
    subscripts += " with ";
    for (std::size_t i = 0; i < operands; ++i) subscripts += (i > 0 ? ", M" : "M") + std::to_string(i);
    return subscripts;
}

// Computes the sum by its definition, over every value of every index.
std::vector<double> by_definition(const Case& c) {
    std::map<char, Index> size;
    for (std::size_t o = 0; o < c.shapes.size(); ++o)
        for (std::size_t i = 0; i < c.shapes[o].size(); ++i) size[c.text.operands[o][i]] = c.shapes[o][i];
    Index count = 1;
    for (const char letter : c.text.result) count *= size[letter];
    std::vector<double> result(static_cast<std::size_t>(count));
    Index all = 1;
    for (const auto& [letter, n] : size) all *= n;
    for (Index point = 0; point < all; ++point) {
        std::map<char, Index> at;
        Index rest = point;
        for (const auto& [letter, n] : size) at[letter] = rest % n, rest /= n;
        double product = 1;
        for (std::size_t o = 0; o < c.shapes.size(); ++o) {
            Index offset = 0;
            for (std::size_t i = 0; i < c.shapes[o].size(); ++i)
                offset = offset * c.shapes[o][i] + at[c.text.operands[o][i]];
            product *= static_cast<double>(c.values[o][static_cast<std::size_t>(offset)]);
        }
        Index to = 0;
        for (const char letter : c.text.result) to = to * size[letter] + at[letter];
        result[static_cast<std::size_t>(to)] += product;
    }
    return result;
}

void check(const Case& c, const std::vector<double>& expected, std::int64_t slice) {
    Einsum sum = c.sum();
    for (int steps = 0; sum.step(slice) && steps < 100'000; ++steps) continue;
    CHECK(sum.done());
    REQUIRE(sum.f64().size() == expected.size());
    // Fewer than a thousand products of normal numbers, with relative errors of 1e-16 and 1e-7.
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(std::abs(sum.f64()[i] - expected[i]) < 1e-12);
        CHECK(std::abs(static_cast<double>(sum.f32()[i]) - expected[i]) < 2e-4);
        double terms = 0;
        for (Index p = 0; p < sum.products(); ++p) {
            const auto [factors, summed] = sum.product(static_cast<Index>(i), p);
            double product = 1;
            for (std::size_t o = 0; o < factors.size(); ++o)
                product *= static_cast<double>(c.values[o][static_cast<std::size_t>(factors[o])]);
            terms += product;
        }
        CHECK(std::abs(terms - expected[i]) < 1e-12);
    }
}

}  // namespace

TEST_CASE("Einstein sums match NumPy, in slices of any size") {
    const auto golden = golden_numbers("einsum.json");
    for (const auto& each : golden["cases"]) {
        Case c{parsed(with_names(each["subscripts"], each["operands"].size())), {}, {}};
        for (const auto& operand : each["operands"]) {
            c.shapes.push_back(operand["shape"].get<Shape>());
            c.values.push_back(operand["values"].get<std::vector<float>>());
        }
        INFO(each["subscripts"]);
        const auto expected = each["values"].get<std::vector<double>>();
        CHECK(c.sum().loops().shape == each["shape"].get<Shape>());
        for (const std::int64_t slice : {1, 7, 100'000}) check(c, expected, slice);
        check(c, by_definition(c), 1000);
    }
}

TEST_CASE("random sums match plain loops") {
    Random random(4);
    const auto below = [&](std::uint64_t end) { return static_cast<Index>(random.below(end)); };
    for (int round = 0; round < 150; ++round) {
        constexpr std::string_view letters = "ijkZ";
        const std::array<Index, 4> sizes{1 + below(4), 1 + below(4), 1 + below(4), 1 + below(3)};
        Case c;
        std::string subscripts;
        const Index operands = 1 + below(3);
        for (Index o = 0; o < operands; ++o) {
            std::string indices;
            Shape shape;
            Index count = 1;
            for (Index i = below(3); i >= 0; --i) {
                const auto letter = static_cast<std::size_t>(below(4));
                indices += letters[letter];
                shape.push_back(sizes[letter]);
                count *= sizes[letter];
            }
            subscripts += (o > 0 ? "," : "") + indices;
            c.shapes.push_back(shape);
            const Tensor numbers = random_tensor({count}, static_cast<std::uint64_t>(round * 10 + o));
            c.values.emplace_back(numbers.values().begin(), numbers.values().end());
        }
        if (below(2)) {
            std::string kept;
            for (const char letter : letters)
                if (subscripts.find(letter) != std::string::npos && kept.size() < 3 && below(2))
                    kept += letter;
            subscripts += "->" + kept;
        }
        const auto made = EinsumText::parse(with_names(subscripts, static_cast<std::size_t>(operands)));
        if (!made) continue;  // the result has four indices
        c.text = *made;
        INFO(subscripts);
        check(c, by_definition(c), 11);
    }
}

TEST_CASE("a text is parsed like NumPy's, with the names of its matrices") {
    CHECK(parsed("ik,jk->ij with Q, K") == EinsumText{{"ik", "jk"}, "ij", {"Q", "K"}});
    CHECK(parsed(" i k , j k -> i j  with  Q ,K ") == EinsumText{{"ik", "jk"}, "ij", {"Q", "K"}});
    CHECK(parsed("ba with A").result == "ab");
    CHECK(parsed("bA with A").result == "Ab");
    CHECK(parsed("ii with A").result.empty());
    CHECK(parsed("ik,kj with Q, W_K").subscripts() == "ik,kj->ij");
    CHECK(parsed("ij-> with A").result.empty());
}

TEST_CASE("an invalid sum is refused with one sentence") {
    CHECK(refusal("").find("Say which matrices") == 0);
    CHECK(refusal("ik,jk->ij").find("Say which matrices") == 0);
    CHECK(refusal("ik,jk->ij with ") == "After “with” a name is missing, as in ik,jk->ij with Q, K.");
    CHECK(refusal("ik,jk->ij with Q") == "There are indices for 2 operands, and 1 name after “with”.");
    CHECK(refusal("ik->ij with Q, K") == "There are indices for 1 operand, and 2 names after “with”.");
    CHECK(refusal("ik,,jk->ij with Q, K, V").starts_with("Between two commas"));
    CHECK(refusal("-> with Q").starts_with("Between two commas"));
    CHECK(refusal("i1->i with Q").starts_with("An index is a letter"));
    CHECK(refusal("ik->jk->i with Q").starts_with("An index is a letter"));
    CHECK(refusal("...i->i with Q").find("“...”") != std::string::npos);
    CHECK(refusal("ijkl->i with Q").find("more than three indices") != std::string::npos);
    CHECK(refusal("ij->ii with Q") == "The index “i” stands twice in the result.");
    CHECK(refusal("ij->ik with Q") == "The index “k” of the result is in no operand.");
    CHECK(refusal("ij,kl with Q, K").find("The result would have more than three indices") == 0);
    CHECK(refusal("a,b,c,d,e->a with q, q, q, q, q").find("at most 4 operands") != std::string::npos);
    CHECK(refusal("abc,def,ghi->a with Q, K, V").find("at most 8 different") != std::string::npos);
    CHECK(refusal(std::string(1 << 20, 'i') + " with Q").find("at most 200 characters") != std::string::npos);
    CHECK(refusal(std::string(1 << 20, ',')).find("at most 200 characters") != std::string::npos);
    CHECK(refusal("ij->ij with Q\xff, K").starts_with("There are indices for 1 operand"));
}

TEST_CASE("sizes that do not match, and too much work, are refused with one sentence") {
    CHECK(refusal("ik,jk->ij with Q, K", {{3, 4}, {3, 5}}) ==
          "The index “k” does not fit: it has 4 values in Q and 5 in K.");
    CHECK(refusal("ii-> with Q", {{3, 4}}) == "The index “i” does not fit: it has 3 values in Q and 4 in Q.");
    CHECK(refusal("i-> with Q", {{3, 4}}) == "Q is 3×4, so it does not take the 1 index of “i”.");
    CHECK(refusal("ij,jk->ik with A, B", {{1000, 1000}, {1000, 1000}}).find("250 million") !=
          std::string::npos);
    CHECK(refusal("ab,cd->ac with A, B", {{1 << 30, 1 << 30}, {1 << 30, 1 << 30}}).find("250 million") !=
          std::string::npos);
    CHECK(refusal("i,j->ij with a, b", {{3000}, {3000}}).find("4 million numbers") != std::string::npos);
}

TEST_CASE("loops are written in order, and none run where a size is 0") {
    const auto loops = EinsumLoops::of(parsed("ik,jk->ij with Q, K"), std::vector<Shape>{{3, 4}, {2, 4}});
    REQUIRE(loops);
    CHECK(loops->multiply_adds == 24);
    CHECK(
        loops->written(parsed("ik,jk->ij with Q, K")) ==
        std::vector<std::string>{"for i in range(3):", "    for j in range(2):", "        out[i, j] = 0",
                                 "        for k in range(4):", "            out[i, j] += Q[i, k] * K[j, k]"});
    const auto turned = parsed("ij->ji with A");
    CHECK(EinsumLoops::of(turned, std::vector<Shape>{{1, 2}})->written(turned).back() ==
          "        out[j, i] = A[i, j]");
    const auto whole = parsed("i-> with q");
    CHECK(EinsumLoops::of(whole, std::vector<Shape>{{2}})->written(whole).front() == "out = 0");
    Case none{parsed("ik,jk->ij with Q, K"), {{3, 0}, {2, 0}}, {{}, {}}};
    check(none, std::vector<double>(6, 0.0), 5);
    Case empty{parsed("ik,jk->ij with Q, K"), {{0, 2}, {3, 2}}, {{}, {1, 2, 3, 4, 5, 6}}};
    check(empty, {}, 5);
}
