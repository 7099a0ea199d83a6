#include "train/data.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <numeric>

#include "text/bpe_train.hpp"

using namespace attn;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr Index data_context = 64;

std::shared_ptr<const Bpe> tokenizer() {
    const std::string_view text = "the cat sat on the mat and the dog sat on the log";
    const std::string special = "<|endoftext|>";
    auto bpe = train_bpe({&text, 1}, 265, {&special, 1});
    REQUIRE(bpe);
    return std::make_shared<const Bpe>(*std::move(bpe));
}

// Makes tokens whose ids show where they come from.
std::vector<std::int32_t> numbered(std::int32_t count) {
    std::vector<std::int32_t> text(static_cast<std::size_t>(count));
    std::iota(text.begin(), text.end(), 1000);
    return text;
}

struct Sequence {
    std::vector<std::int32_t> ids = std::vector<std::int32_t>(data_context), targets = ids;
    bool operator==(const Sequence&) const = default;
};

Sequence drawn(const Mixture& mixture, std::int64_t step, Index place = 0, std::uint64_t seed = 1) {
    const auto batches = mixed_batches(tokenizer(), numbered(500), data_context, 1, mixture, seed);
    REQUIRE(batches);
    Sequence sequence;
    (*batches)(step, place, sequence.ids, sequence.targets);
    return sequence;
}

}  // namespace

TEST_CASE("The targets of a stretch of text are its next tokens", "[unit][train]") {
    const Sequence s = drawn({}, 3);
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
        CHECK(s.ids[i] == s.ids[0] + static_cast<std::int32_t>(i));
        CHECK(s.targets[i] == s.ids[i] + 1);
    }
}

TEST_CASE("A batch depends only on seed, step and place", "[unit][train]") {
    const Mixture all{1, 1, 1, 1, 1};
    CHECK(drawn(all, 5, 2) == drawn(all, 5, 2));
    CHECK(drawn(all, 5, 2) != drawn(all, 6, 2));
    CHECK(drawn(all, 5, 2) != drawn(all, 5, 3));
    CHECK(drawn(all, 5, 2) != drawn(all, 5, 2, 2));
}

TEST_CASE("Repeats repeat, and the first occurrence of noise is no target", "[unit][train]") {
    const bool random = GENERATE(false, true);
    for (std::int64_t step = 0; step < 20; ++step) {
        const Sequence s = drawn(random ? Mixture{0, 0, 0, 1} : Mixture{0, 0, 1, 0}, step);
        std::size_t period = 1;
        while (period < s.ids.size() &&
               !std::equal(s.ids.begin() + static_cast<std::ptrdiff_t>(period), s.ids.end(), s.ids.begin()))
            ++period;
        CHECK(period >= 8);
        CHECK(period <= 32);
        for (std::size_t i = 0; i + 1 < s.ids.size(); ++i)
            CHECK(s.targets[i] == (random && i < period ? -1 : s.ids[i + 1]));
        if (random) CHECK(std::ranges::min(s.ids) >= 1);
    }
}

TEST_CASE("The first of a pair predicts the second, once the pair has occurred", "[unit][train]") {
    std::size_t hits = 0;
    for (std::int64_t step = 0; step < 20; ++step) {
        const Sequence s = drawn({0, 0, 0, 0, 1}, step);
        std::vector<std::pair<std::int32_t, std::int32_t>> seen;
        for (std::size_t i = 0; i + 1 < s.ids.size(); i += 2) {
            const std::pair pair{s.ids[i], s.ids[i + 1]};
            const bool again = std::ranges::find(seen, pair) != seen.end();
            // Two pairs from a vocabulary of 264 may be equal by chance; then the second cannot be predicted
            // yet.
            CHECK((s.targets[i] == pair.second || s.targets[i] == -1));
            if (!again) CHECK(s.targets[i] == -1);
            CHECK(s.targets[i + 1] == -1);
            hits += s.targets[i] != -1;
            seen.push_back(pair);
        }
        CHECK(std::ranges::min(s.ids) >= 1);
    }
    CHECK(hits > 20 * 20);  // 32 per sequence, minus the first occurrences of at most 8 pairs
}

TEST_CASE("Generated sentences fill a sequence", "[unit][train]") {
    const Sequence s = drawn({0, 1, 0, 0}, 0);
    const std::string text = tokenizer()->decode(s.ids);
    CHECK(text.size() >= static_cast<std::size_t>(data_context));
    CHECK_THAT(text, ContainsSubstring(" "));
}

TEST_CASE("An impossible mixture gives one sentence", "[unit][train]") {
    const auto refusal = [](const Mixture& mixture, std::int32_t tokens) {
        const auto batches = mixed_batches(tokenizer(), numbered(tokens), data_context, 1, mixture, 1);
        return batches ? std::string() : batches.error().message;
    };
    CHECK_THAT(refusal({}, 0), ContainsSubstring("the text has 0 tokens"));
    CHECK_THAT(refusal({}, 64), ContainsSubstring("the text has 64 tokens"));
    CHECK(refusal({}, 65).empty());
    CHECK_THAT(refusal({0, 0, 0, 0}, 100), ContainsSubstring("one of them more than 0"));
    CHECK_THAT(refusal({1, -1, 0, 0}, 100), ContainsSubstring("0 or more"));
    CHECK_THAT(refusal({1, 0, 0, 0, -1}, 100), ContainsSubstring("0 or more"));
    CHECK(refusal({0, 1, 0, 0}, 0).empty());
}
