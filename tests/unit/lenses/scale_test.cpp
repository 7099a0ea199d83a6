// Tests lens Scale on its subjects.
#include "lenses/scale/scale.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

void finish(DotProducts& products) {
    while (products.step()) continue;
}

scale::Model& scale_in(const Screen& screen) {
    return static_cast<ModelLens<scale::Model>&>(screen.visit.lens()).model();
}

}  // namespace

TEST_CASE("Scale works for every subject, describes what it shows, and is in the link") {
    Screen screen;
    for (const SubjectEntry& subject : subject_list()) {
        screen.visit.perform(OpenSubject{subject.key});
        screen.visit.perform(OpenLens{"scale"});
        screen.settle();
        if (subject_in(screen.visit).attention()) CHECK(screen.shows("chart/products"));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.visit.state().lens == "scale");
    CHECK(spoken(screen.visit).starts_with("Divided by √64, q · k of seeded vectors spreads by ± "));
    CHECK(screen.shows("chart/entropy"));
    screen.click("scale/vectors/of this head");
    screen.settle();
    // The example has 4 components, and 9 pairs.
    CHECK(scale_in(screen).products.kept()->values().size() == 9);
    CHECK(spoken(screen.visit).starts_with("Divided by √4, "));
    CHECK(screen.shows("chart/components"));
    CHECK_FALSE(screen.shows("chart/entropy"));
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=scale&scale.d=64,head");
    CHECK(parse_fragment("v=1&lens=scale&scale.d=64,head").state == screen.visit.state());
    screen.visit.undo();
    CHECK(screen.visit.state().of<scale::State>() == scale::State{});
    for (const scale::Preset& preset : scale::presets()) {
        const scale::State expected = preset.from(screen.visit.state().of<scale::State>());
        screen.click("scale/preset/" + std::string(preset.title));
        CHECK(screen.visit.state().of<scale::State>() == expected);
        CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    }
    screen.visit.perform(Set<scale::State>{{.seed = 9, .row = scale::Row::two, .keys = 17, .own = 0.1}});
    CHECK(to_fragment(screen.visit.state()) ==
          "v=1&lens=scale&scale.d=64,normal,9&scale.row=2,17&scale.own=0.1");
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    CHECK(refusal(default_state(), Set<scale::State>{{.components = 0}}) ==
          "The number of components must be from 1 to 4,096.");
    CHECK(refusal(default_state(), Set<scale::State>{{.keys = 65}}) ==
          "The number of keys must be from 2 to 64.");
    CHECK(refusal(default_state(), Set<scale::State>{{.own = NAN}}) ==
          "The scale of your own must be from 0.0001 to 10.");
    for (const char* bad :
         {"scale.d=5000", "scale.row=3", "scale.row=seeded,1", "scale.own=-1", "scale.own="})
        CHECK_FALSE(parse_fragment(std::string("v=1&") + bad).note.empty());
}

TEST_CASE("for a head, all of its components give its raw scores, and the first ones their part") {
    Screen screen;
    screen.open_sentence();
    const auto record = sentence_in(screen.visit).run()->record(1);
    DotProducts all(HeadPairs(record, 2), 4096);
    finish(all);
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
    DotProducts one(HeadPairs(record, 2), 1);
    finish(one);
    for (std::size_t i = 0; i < first.size(); ++i)
        CHECK(one.values()[i] == Catch::Approx(first[i]).margin(1e-6));
    DotProducts some(HeadPairs(record, 2, 5), 1);
    finish(some);
    CHECK(some.values().size() <= 5);
}

TEST_CASE("given scores and weights have no q and k, and the lens says so") {
    Screen screen;
    screen.visit.perform(OpenLens{"scale"});
    screen.visit.perform(Set<scale::State>{{.vectors = scale::Vectors::head}});
    screen.settle();
    CHECK_FALSE(screen.shows("scale/without"));
    CHECK(scale_in(screen).variances.kept());
    screen.visit.perform(SetSource{Source::scores});
    screen.settle();
    CHECK(screen.shows("scale/without"));
    CHECK_FALSE(scale_in(screen).variances.kept());
    CHECK(scale_in(screen).without_vectors ==
          "No head’s q and k can be shown here, because its scores are given.");
    // The seeded vectors are shown instead.
    CHECK(scale_in(screen).products.kept()->components() == scale::State{}.components);
    screen.click("scale/vectors/of this head");
    CHECK_FALSE(scale_in(screen).variances.kept());
}

TEST_CASE("a row of many keys comes scale by scale, and a head with NaN keeps the view") {
    Screen screen;
    const auto drop = [&](const Shape& q, const Shape& k, float odd) {
        Tensor keys = random_tensor(k, 2);
        keys.data()[0] = odd;
        put(screen.visit, {{"q.npy", normal_npy(q, 1)}, {"k.npy", write_npy(k, keys.values())}});
        screen.settle();
    };
    screen.visit.perform(OpenSubject{tensors_subject});
    screen.visit.perform(OpenLens{"scale"});
    screen.visit.perform(Set<scale::State>{{.vectors = scale::Vectors::head, .own = 0.5}});
    drop({2, 64}, {6000, 64}, 1);
    REQUIRE(subject_in(screen.visit).attention());
    screen.visit.perform(Select{{0, 0, 0, {}, {}}});
    screen.draw();
    CHECK(scale_in(screen).rules.kept()->rules.size() < scale_rules);
    CHECK_FALSE(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
    CHECK_FALSE(why(screen.visit, scale::cells::weight(3, 0)));
    screen.settle();
    const auto& rules = scale_in(screen).rules.kept()->rules;
    REQUIRE(rules.size() == scale_rules);
    CHECK(rules[3].record.scale() == 0.5f);
    for (const RuledRow& rule : rules)
        CHECK_THAT(std::accumulate(rule.exact.begin(), rule.exact.end(), 0.0), WithinAbs(1, 1e-12));
    CHECK(screen.shows("scale/row/3/7"));

    drop({3, 2}, {3, 2}, std::nanf(""));
    CHECK(scale_in(screen).products.kept()->odd() == 3);
    CHECK(screen.shows("chart/products"));
    CHECK(screen.shows("scale/row/0/0"));
}

TEST_CASE("each number of Scale explains itself, and numbers that do not exist say nothing") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(OpenLens{"scale"});
    // Every number of a kind, and none beyond it.
    const auto check = [&](const CellKind& kind, std::array<Index, 3> sizes) {
        for (Index i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
            const LensCell cell{&kind, {i / sizes[2] / sizes[1], i / sizes[2] % sizes[1], i % sizes[2]}};
            const auto told = why(screen.visit, cell);
            INFO(write_cell(cell));
            REQUIRE(told);
            CHECK_FALSE(told->title.empty());
            CHECK(std::isfinite(told->f64));
            CHECK_THAT(told->f32, WithinAbs(told->f64, 1e-5 * (1 + std::abs(told->f64))));
            check_calculated(*told);
        }
        for (std::size_t axis = 0; axis < kind.rank(); ++axis)
            for (const Index beyond : {sizes[axis], position_limit}) {
                LensCell cell{&kind};
                cell.at[axis] = beyond;
                CHECK_FALSE(why(screen.visit, cell));
            }
    };
    for (const scale::Row rows : {scale::Row::seeded, scale::Row::hundred, scale::Row::ninety}) {
        screen.visit.perform(Set<scale::State>{{.components = 40, .row = rows, .keys = 6}});
        screen.settle();
        const Index keys = std::ssize(scale_in(screen).rules.kept()->rules.front().weights);
        check(scale::cells::histogram, {ProductHistogram::bins, 1, 1});
        check(scale::cells::weight, {4, keys, 1});
        check(scale::cells::measure, {3, 4, 1});
        check(scale::cells::curve, {4, 4, std::ssize(ScaleCurves::points())});
        CHECK_FALSE(why(screen.visit, scale::cells::component_variance(0)));
        CHECK_FALSE(why(screen.visit, scale::cells::cumulative_variance(1)));
    }
    screen.visit.perform(Set<scale::State>{{.row = scale::Row::two}});
    const auto printed = why(screen.visit, scale::cells::weight(0, 0));
    REQUIRE(printed);
    CHECK(printed->note == "“Attention: The Heart of Transformers” prints 0.5; exact is 0.599021.");

    screen.visit.perform(Select{{1, 2, 4, {}, {}}});
    screen.visit.perform(Set<scale::State>{{.vectors = scale::Vectors::head}});
    screen.settle();
    const auto record = sentence_in(screen.visit).run()->record(1);
    check(scale::cells::histogram, {ProductHistogram::bins, 1, 1});
    check(scale::cells::weight, {4, record->keys(), 1});
    check(scale::cells::measure, {3, 4, 1});
    check(scale::cells::component_variance, {record->d_k(), 1, 1});
    for (Index components = 1; components <= record->d_k(); ++components) {
        const auto told = why(screen.visit, scale::cells::cumulative_variance(components));
        REQUIRE(told);
        CHECK_THAT(told->f32, WithinAbs(told->f64, 1e-5 * (1 + told->f64)));
        check_calculated(*told);
    }
    for (const Index none : {Index{0}, record->d_k() + 1})
        CHECK_FALSE(why(screen.visit, scale::cells::cumulative_variance(none)));
    CHECK_FALSE(why(screen.visit, scale::cells::curve(0, 0, 0)));
    // Without a scale, the weight of key 1 is that of the raw scores, and its terms lead on to q and k.
    const auto weight = why(screen.visit, scale::cells::weight(1, 1));
    double sum = 0;
    for (Index key = 0; key <= 4; ++key)
        sum += std::exp(static_cast<double>(record->cell(Stage::raw, 2, 4, key)));
    CHECK_THAT(weight->f64,
               WithinAbs(std::exp(static_cast<double>(record->cell(Stage::raw, 2, 4, 1))) / sum, 1e-6));
    CHECK(weight->operands.front().left_at == CellPlace{{1, 2}, RunCell{Stage::q, 4, 0}});
    CHECK(weight->operands.front().right_at == CellPlace{{1, 2}, RunCell{Stage::k, 1, 0}});
}

TEST_CASE("the pictures of Scale have tables of what they show, and a click pins its number") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    screen.visit.perform(OpenLens{"scale"});
    screen.settle();
    const auto table = [&](std::string_view title) { return table_of(screen, title); };
    const auto& rules = scale_in(screen).rules.kept()->rules;
    const Table weights = table("Weights"), products = table("q · k of 2,048 pairs");
    CHECK(weights.values.at(3, 1) == rules[1].exact[3]);
    CHECK(table("Saturation").values.at(2, 1) == rules[2].exact_saturation.largest);
    CHECK(products.columns == std::vector<std::string>{"counted", "exact", "normal limit"});
    double pairs = 0;
    for (Index bin = 0; bin < ProductHistogram::bins; ++bin) pairs += products.values.at(bin, 0);
    CHECK(pairs == static_cast<double>(sampled_pairs));
    for (const char* title : {"Entropy", "Largest weight", "Gradient that passes"})
        CHECK(table(title).values.rows == std::ssize(ScaleCurves::points()));
    screen.click("scale/row/1/3");
    CHECK(screen.visit.state().pin == scale::cells::weight(1, 3));
    screen.click("scale/measure/2/1");
    CHECK(screen.visit.state().pin == scale::cells::measure(RowMeasure::largest, 2));
    screen.click("chart/products");
    CHECK(screen.visit.state().pin == scale::cells::histogram(20));
    screen.visit.perform(Set<scale::State>{{.vectors = scale::Vectors::head}});
    screen.settle();
    CHECK(table("Variance over the first components").values.rows ==
          subject_in(screen.visit).attention()->record(0)->d_k());
    table("Variance of each component’s product");
    screen.click("scale/row/0/3");
    CHECK(screen.visit.state().pin == RunCell{Stage::weight, 5, 3});
}
