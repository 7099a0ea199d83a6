#include "lenses/scale/scale.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <numeric>

#include "analysis/moments.hpp"
#include "app/link.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

ScaleLens& scale_in(const Screen& screen) { return static_cast<ScaleLens&>(lens_in(screen.visit)); }

}  // namespace

TEST_CASE("the variance of q · k of normal vectors is the number of their components") {
    for (const Index d : {1, 4, 64, 1024}) {
        DotProducts products(d, scale_pairs, 7);
        while (products.step()) continue;
        REQUIRE(std::ssize(products.values()) == scale_pairs);
        const Moments moments = moments_of(products.values());
        // The standard error of a variance over n draws is √((κ − 1) / n) of it, with a kurtosis κ = 3 + 6 / d of
        // such sums; four of them are allowed.
        const double error = std::sqrt((2 + 6 / static_cast<double>(d)) / static_cast<double>(scale_pairs));
        INFO("d " << d);
        CHECK(std::abs(moments.variance / static_cast<double>(d) - 1) < 4 * error);
        CHECK(std::abs(moments.mean) <
              4 * std::sqrt(static_cast<double>(d) / static_cast<double>(scale_pairs)));
    }
    DotProducts again(64, 10, 7), other(64, 10, 8);
    while (again.step()) continue;
    while (other.step()) continue;
    CHECK(again.values() != other.values());
}

TEST_CASE("of a head, all of its components give its raw scores, and the first of them their part") {
    Screen screen;
    screen.open_sentence();
    const auto record = sentence_in(screen.visit).run()->record(1);
    DotProducts all(record, 2, 4096, scale_pairs);
    while (all.step()) continue;
    std::vector<float> expected, first;
    for (Index i = 0; i < record->queries(); ++i)
        for (Index j = 0; j <= i; ++j) {
            expected.push_back(record->cell(Stage::raw, 2, i, j));
            first.push_back(record->q().heads().head(2)(i, 0) * record->k().heads().head(2)(j, 0));
        }
    REQUIRE(all.values().size() == expected.size());
    CHECK(all.components() == record->d_k());
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(all.values()[i] == Catch::Approx(expected[i]).epsilon(1e-5).margin(1e-6));
    DotProducts one(record, 2, 1, scale_pairs);
    while (one.step()) continue;
    for (std::size_t i = 0; i < first.size(); ++i)
        CHECK(one.values()[i] == Catch::Approx(first[i]).margin(1e-6));
    DotProducts some(record, 2, 1, 5);
    while (some.step()) continue;
    CHECK(some.values().size() <= 5);
}

TEST_CASE("every value is counted in one bin") {
    const std::vector<float> values{-5, -1, -0.999f, 0, 0.5f, 0.999f, 1, 70, std::nanf("")};
    const auto counts = histogram_of(values, 1, 4);
    CHECK(counts == std::vector<Index>{3, 0, 1, 4});
}

TEST_CASE("Scale is there for every subject, speaks of what it shows, and is in the link") {
    Screen screen;
    for (const SubjectEntry& subject : subject_list()) {
        screen.visit.perform(OpenSubject{subject.key});
        screen.visit.perform(OpenLens{"scale"});
        screen.settle();
        if (subject_in(screen.visit).attention()) CHECK(screen.shows("scale/histogram"));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.visit.state().lens == "scale");
    CHECK(scale_in(screen)
              .spoken(subject_in(screen.visit))
              .starts_with("Over 64 components, q · k spreads by ± "));
    screen.click("scale/vectors/of this head");
    screen.settle();
    // The example has 4 components, and 9 pairs.
    CHECK(scale_in(screen).products(subject_in(screen.visit)).values().size() == 9);
    CHECK(scale_in(screen).spoken(subject_in(screen.visit)).starts_with("Over 4 components"));
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=scale&scale.d=64,head");
    CHECK(parse_fragment("v=1&lens=scale&scale.d=64,head").state == screen.visit.state());
    screen.visit.undo();
    CHECK(screen.visit.state().of<ScaleState>() == ScaleState{});
    CHECK_FALSE(apply(default_state(), SetScale{{.components = 0}}));
    CHECK_FALSE(parse_fragment("v=1&scale.d=5000").note.empty());
    CHECK(scale_in(screen).tables(subject_in(screen.visit)).front().values.rows == table_row_limit);
}
