#include "lenses/geometry/geometry.hpp"

#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/format.hpp"
#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/geometry_screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const int geometry_kinds = static_cast<int>(geometry::numbers().size());

// Checks one number: its operands give its value and lead to numbers with their values, and its lines end
// with it.
void check_number(GeometryScreen& screen, const CellRef& cell) {
    INFO(write_cell(cell));
    const auto why = screen.why(cell);
    REQUIRE(why);
    INFO(why->title);
    CHECK_FALSE(why->title.empty());
    CHECK_FALSE(why->formula.empty());
    // Single precision, for sums of some dozen products of numbers below ten.
    CHECK(std::abs(why->f32 - why->f64) < 2e-4 * (1 + std::abs(why->f64)));
    double sum = 0;
    for (const auto& operand : why->operands) {
        sum += operand.product;
        for (const auto& [at, value] :
             {std::pair(operand.left_at, operand.left), std::pair(operand.right_at, operand.right)}) {
            if (!at) continue;
            const auto there = lens_in(screen.visit).explain(screen.subject(), *at);
            REQUIRE(there);
            INFO("leads to " << there->title);
            CHECK(std::abs(there->f64 - value) < 3e-6 * (1 + std::abs(value)));
        }
    }
    for (const auto& step : why->steps)
        if (step.at) CHECK(lens_in(screen.visit).explain(screen.subject(), *step.at));
    check_calculated(*why);
    if (!why->operands.empty() && why->calculation.lines().size() == 1)
        CHECK(std::abs(sum - why->f64) < 1e-9 * (1 + std::abs(why->f64)));
}

// Checks some numbers of every kind available here, and returns the number of kinds.
int check_numbers(GeometryScreen& screen) {
    // The directions of a form and an einsum are computed only while they are shown; then they stay.
    for (const auto part : {geometry::Part::form, geometry::Part::einsum})
        screen.set([&](auto& s) { s.part = part; });
    int kinds = 0;
    for (const CellKind* kind : geometry::numbers()) {
        int seen = 0;
        for (const Index row : {0, 1, 2, 5, 9})
            for (const Index col : {0, 1, 3, 7}) {
                const CellRef cell = (*kind)(row, col);
                if (!screen.model().holds(*cell.own())) {
                    CHECK_FALSE(screen.why(cell));
                    continue;
                }
                check_number(screen, cell);
                ++seen;
            }
        kinds += seen > 0;
    }
    CHECK_FALSE(screen.why(geometry::cells::singular_value(1000)));
    CHECK_FALSE(screen.why(geometry::cells::bilinear_form(0, 20'000)));
    return kinds;
}

}  // namespace

TEST_CASE("every number of the example explains itself, in all parts of the lens") {
    WorkedGeometry screen;
    screen.set([](auto& s) { s.gauge = {GaugeKind::rotation, 0.7, 0, 1, 0}; });
    // All except those of a vocabulary.
    CHECK(check_numbers(screen) == geometry_kinds - 2);
    screen.visit.perform(SetSource{Source::qkv});
    screen.set([](auto& s) {
        s.gauge = {GaugeKind::mix, 2, 0, 1, 3};
        s.metric = geometry::MetricKind::minkowski;
        s.einsum = "hik,hjk->hij with Q, K";
    });
    CHECK(screen.model().form_of() == FormOf::tokens);
    CHECK(check_numbers(screen) == geometry_kinds - 4);  // also none of inputs
}

TEST_CASE("so does every number of a model's head, of a network in training, and of tensors") {
    GeometryScreen screen;
    screen.open_sentence(7);
    screen.visit.perform(Select{{1, 2, 5, {}, {}}});
    screen.open();
    screen.set([](auto& s) {
        s.gauge = {GaugeKind::shear, -1.5, 2, 1, 0};
        s.metric = geometry::MetricKind::axis;
    });
    CHECK(check_numbers(screen) == geometry_kinds);
    screen.set([](auto& s) {
        s.form = FormOf::values;
        s.direction = 1;
        s.einsum = "ac,bc->ab with W_V, W_O";
    });
    // The directions of W_V W_O write, so no input lies along v; and W_O has its rows the other way round.
    CHECK_FALSE(screen.model().sum());
    CHECK(check_numbers(screen) == geometry_kinds - 2);
    screen.train_some();
    screen.visit.perform(Select{{1, 0, 5, {}, {}}});
    screen.open();
    screen.set([](auto& s) { s.einsum = geometry::State{}.einsum; });
    CHECK(check_numbers(screen) == geometry_kinds - 1);
    screen.visit.perform(OpenSubject{tensors_subject});
    put(screen.visit, {{"q.npy", normal_npy({2, 9, 6}, 1)}, {"k.npy", normal_npy({2, 11, 6}, 2)}});
    screen.settle();
    screen.visit.perform(Select{{0, 1, 5, {}, {}}});
    screen.open();
    CHECK(screen.model().form_of() == FormOf::tokens);
    // With nine queries and eleven keys there is no symmetric part.
    CHECK(check_numbers(screen) == geometry_kinds - 6);
}

TEST_CASE(
    "the form of a head's weights gives its scores from its inputs, if there are no biases or rotations") {
    WorkedGeometry screen;
    const HeadForm& form = screen.model().form();
    const HeadWeights& w = *screen.model().weights;
    CHECK_FALSE(w.biased);
    CHECK_FALSE(w.rotated);
    const WorkedState& worked = worked_of(screen.visit.state());
    const WorkedRun run = *run_worked(worked);
    const SingularDirections& all = *form.directions();
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 3; ++j) {
            double score = 0, by_directions = 0;
            for (Index b = 0; b < w.width(); ++b)
                for (Index c = 0; c < w.width(); ++c)
                    score += w.input(i, b) * form_cell<double>(form.factors(), b, c) * w.input(j, c);
            for (Index r = 0; r < all.count(); ++r) {
                double left = 0, right = 0;
                for (Index b = 0; b < w.width(); ++b) {
                    left += w.input(i, b) * all.left_of(r)[static_cast<std::size_t>(b)];
                    right += w.input(j, b) * all.right_of(r)[static_cast<std::size_t>(b)];
                }
                by_directions += all.values[static_cast<std::size_t>(r)] * left * right;
            }
            const double expected = static_cast<double>(run.value(worked, {Stage::raw, i, j}));
            CHECK(std::abs(score - expected) < 1e-6);
            CHECK(std::abs(by_directions - expected) < 1e-6);
        }
}

TEST_CASE(
    "under every gauge, random or ill-conditioned, the visible scores stay within the bound, masked or not") {
    GeometryScreen screen;
    screen.open_sentence(20);
    screen.open();
    for (const GaugeKind kind : {GaugeKind::rotation, GaugeKind::stretch, GaugeKind::shear, GaugeKind::mix})
        for (const double t : {-8.0, 0.3, 8.0}) {
            screen.set([&](auto& s) {
                s.part = geometry::Part::gauge;
                s.gauge = {kind, t, 1, 0, 7};
            });
            const GaugedScores& head = screen.model().gauged();
            CHECK(head.off32 <= head.bound + head.plain_off32);
            CHECK(head.off <= 1e-13 * head.matrices.condition * (1 + head.bound * 0x1p24));
            CHECK(screen.spoken().starts_with("Under this "));
            const std::string last = std::to_string(screen.model().keys.size() - 1);
            CHECK(screen.shows("geometry/score/" + last + "/" + last));
            CHECK(screen.model().keys.holds(screen.subject().attention()->queries() - 1));
        }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    screen.settle();
    CHECK(screen.model().gauged().off < 1e-15 * screen.model().gauged().matrices.condition);
    screen.set([](auto& s) { s.part = geometry::Part::metric; });
    screen.visit.perform(Select{{0, 0, 0, {}}});
    screen.settle();
    CHECK(screen.spoken().starts_with("No key has a weight for "));
    CHECK(screen.why(geometry::cells::metric_weight(0, 1))->f64 == 0);
    CHECK(screen.why(geometry::cells::metric_weight(0, 1))->masked);
}

TEST_CASE("a metric's weights are a softmax of its scores; the identity changes nothing") {
    WorkedGeometry screen;
    screen.set([](auto& s) { s.part = geometry::Part::metric; });
    const auto check = [&](auto g) {
        const MetricScores& head = *screen.model().metric();
        const Matrix q = worked_in(screen.visit).run().q, k = worked_in(screen.visit).run().k;
        std::array<double, 3> scores{};
        double sum = 0;
        for (Index j = 0; j < 3; ++j) {
            for (Index a = 0; a < 4; ++a)
                for (Index b = 0; b < 4; ++b)
                    scores[static_cast<std::size_t>(j)] += q.at(2, a) * g(a, b) * k.at(j, b) / 2;
            sum += std::exp(scores[static_cast<std::size_t>(j)]);
        }
        for (Index j = 0; j < 3; ++j)
            CHECK(std::abs(head.under.at(j).weight - std::exp(scores[static_cast<std::size_t>(j)]) / sum) <
                  1e-6);
        CHECK(head.lowered_off < 1e-12);
    };
    check([](Index a, Index b) { return static_cast<double>(a == b); });
    CHECK(screen.spoken().find("looks most at the same key") != std::string::npos);
    screen.click("geometry/preset/minkowski");
    check([](Index a, Index b) { return a != b ? 0.0 : a == 0 ? -1.0 : 1.0; });
    CHECK(screen.model().metric()->metric.negative() == 1);
    screen.set([](auto& s) { s.metric = geometry::MetricKind::divided; });
    check([](Index a, Index b) { return a == b ? 0.5 : 0.0; });
    screen.set([](auto& s) {
        s.metric = geometry::MetricKind::own;
        s.own = identity(4, 4);
        s.own.at(0, 2) = s.own.at(2, 0) = 0.25;
    });
    check([](Index a, Index b) { return a == b ? 1.0 : a + b == 2 && a != 1 ? 0.25 : 0.0; });
    // A pinned number of g is changed on a slider, together with its mirror image.
    screen.click("geometry/g/1/3");
    CHECK(screen.visit.state().pin == geometry::cells::metric(1, 3));
    REQUIRE(screen.shows("geometry/cell"));
    screen.visit.perform(OpenSubject{tensors_subject});
    put(screen.visit, {{"q.npy", normal_npy({3, 5}, 1)}, {"k.npy", normal_npy({3, 5}, 2)}});
    screen.settle();
    CHECK(screen.spoken() == "This metric has 4 rows, and the vectors here have 5 components.");
    CHECK(screen.shows("geometry/fault"));
}

TEST_CASE("the lens says what it lacks, and what is not finite") {
    WorkedGeometry screen;
    screen.visit.perform(SetSource{Source::scores});
    screen.settle();
    REQUIRE(lens_in(screen.visit).missing(screen.subject()));
    CHECK(screen.shows("missing"));
    screen.visit.perform(OpenSubject{tensors_subject});
    put(screen.visit, {{"weights.npy", weights_npy({3, 3})}});
    screen.settle();
    REQUIRE(lens_in(screen.visit).missing(screen.subject()));
    std::vector<float> odd(8, 1.0f);
    odd[3] = NAN;
    put(screen.visit, {{"q.npy", write_npy({4, 2}, odd)}, {"k.npy", normal_npy({4, 2}, 2)}});
    screen.settle();
    CHECK(screen.spoken() == "Some number of Q Kᵀ is not finite, so it has no directions.");
    for (const auto part : {geometry::Part::gauge, geometry::Part::metric, geometry::Part::einsum}) {
        screen.set([&](auto& s) { s.part = part; });
        CHECK(screen.spoken().ends_with('.'));
    }
    screen.set([](auto& s) { s.part = geometry::Part::gauge; });
    CHECK(screen.spoken().find("not finite") != std::string::npos);
}

TEST_CASE("each preset is one undo step, and its link restores it") {
    WorkedGeometry screen;
    for (const geometry::Preset& preset : geometry::presets()) {
        const State before = screen.visit.state();
        screen.click(preset.name);
        screen.settle();
        CHECK(screen.now() == preset.from(before.of<geometry::State>()));
        const std::string link = to_fragment(screen.visit.state());
        CHECK(parse_fragment(link).state == screen.visit.state());
        CHECK(parse_fragment(link).note.empty());
        CHECK_FALSE(lens_in(screen.visit).tables(screen.subject()).empty());
        if (screen.visit.state() == before) continue;  // the usual text of the einsum
        screen.visit.undo();
        CHECK(screen.visit.state() == before);
        screen.visit.redo();
    }
    const std::string rotation = "v=1&lens=geometry&geometry.part=gauge&geometry.gauge=rotation,0.75";
    screen.visit.open_fragment(rotation);
    CHECK(to_fragment(screen.visit.state()) == rotation);
    for (const char* bad :
         {"geometry.part=all", "geometry.form=", "geometry.form=wq-wk,whole,-1",
          "geometry.gauge=rotation,9,0,1,0", "geometry.gauge=rotation,1,1,1,0", "geometry.gauge=turn,1,0,1,0",
          "geometry.gauge=rotation,nan,0,1,0", "geometry.metric=2x2:1,2,3,4", "geometry.metric=2x2:1,1,1,1",
          "geometry.metric=euclid", "geometry.einsum=ik,jk", "geometry.einsum="}) {
        INFO(bad);
        CHECK_FALSE(parse_fragment("v=1&" + std::string(bad)).note.empty());
    }
    CHECK(parse_fragment("v=1&geometry.metric=2x2:1,0,0,-1").note.empty());
    CHECK(parse_fragment("v=1&geometry.einsum=ii-%3E%20with%20A").note.empty());
}

TEST_CASE("a large head is shown in parts, and each of its steps is short") {
    GeometryScreen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    put(screen.visit, {{"q.npy", normal_npy({3000, 32}, 1)}, {"k.npy", normal_npy({3000, 32}, 2)}});
    screen.settle();
    screen.visit.perform(Select{{0, 0, 2500, {}, {}}});
    screen.open();
    const HeadForm& form = screen.model().form();
    CHECK(form.factors().rows() == geometry::form_tokens_limit);
    CHECK(form.first_row() == 2501 - geometry::form_tokens_limit);
    REQUIRE(form.directions());
    CHECK(screen.shows("geometry/m/47/47"));
    const FormPicture& picture = screen.model().picture();
    CHECK(picture.in_blocks());
    for (const Index at : {0, 20, 47}) {
        const auto [i, j] = picture.at(at, at);
        CHECK(picture.values()(at, at) == static_cast<double>(form_cell<float>(form.factors(), i, j)));
        CHECK(i >= at * geometry::form_tokens_limit / form_blocks_shown);
        CHECK(i < (at + 1) * geometry::form_tokens_limit / form_blocks_shown);
        for (Index row = at * geometry::form_tokens_limit / form_blocks_shown;
             row < (at + 1) * geometry::form_tokens_limit / form_blocks_shown; ++row)
            CHECK(std::abs(form_cell<double>(form.factors(), row, j)) <=
                  std::abs(picture.values()(at, at)) + 1e-4);
    }
    screen.set([](auto& s) {
        s.part = geometry::Part::einsum;
        s.einsum = "ik,jk->ij with Q, K";
    });
    CHECK(screen.spoken().find("250 million multiply-adds") != std::string::npos);
    screen.set([](auto& s) { s.einsum = "ij-> with A"; });
    CHECK(screen.spoken() == "A is 3000×3000; an einsum here takes matrices of at most 1,000,000 numbers.");
}

TEST_CASE("the share of symmetry is compared with that of a matrix of independent numbers") {
    // The mean over many forms with such factors.
    Random random(8);
    constexpr Index n = 5, rank = 3;
    double whole = 0, symmetric = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::vector<double> left, right;
        for (Index i = 0; i < n * rank; ++i)
            left.push_back(random.normal()), right.push_back(random.normal());
        const FormSquares squares = squares_of({{left.data(), n, rank, rank}, {right.data(), n, rank, rank}});
        whole += squares.whole;
        symmetric += squares.symmetric;
    }
    CHECK(std::abs(symmetric / whole - 0.5 * (1 + 1.0 / n)) < 0.005);
    GeometryScreen screen;
    screen.open_sentence(6);
    screen.open();
    const auto rows = static_cast<double>(screen.model().form().factors().rows());
    const std::string expected = "a matrix of independent numbers has " + fixed(50 + 50 / rows, 1) + " and " +
                                 fixed(50 - 50 / rows, 1) + " % on average";
    CHECK(std::ranges::any_of(ui::semantics(), [&](const ui::Node& node) {
        return node.name.find(expected) != std::string::npos;
    }));
}
