#include "lenses/inverse/inverse.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "support/this_build.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

struct InverseScreen : Screen {
    InverseScreen() {
        visit.perform(OpenSubject{worked_subject});
        open();
    }
    void open() {
        visit.perform(OpenLens{"inverse"});
        settle();
    }
    inverse::Model& model() const { return static_cast<inverse::Lens&>(visit.lens()).model(); }
    Subject& subject() const { return subject_in(visit); }
    const HeadChange& change() const {
        const HeadChange* now = model().change.kept();
        REQUIRE(now);
        return *now;
    }
    std::string spoken() const { return test::spoken(visit); }
    // Sets targets for the chosen row, or for the last.
    void ask(ChangeOf of, const std::vector<Wish>& wishes) {
        inverse::State next = visit.state().of<inverse::State>();
        next.of = of;
        next.wishes.clear();
        const Index last = subject().attention()->queries() - 1;
        for (const Wish& wish : wishes)
            next.wish(visit.state().selection.query.value_or(last), wish.key, wish.weight);
        visit.perform(Set<inverse::State>{next});
        settle();
    }
    double weight(Index query, Index key) const {
        const Record& record = *subject().attention()->record(visit.state().selection.layer);
        return static_cast<double>(record.cell(Stage::weight, visit.state().selection.head, query, key));
    }
};

// Kernels round q, k and scores to f32: a weight is accurate to some 1e-7 times its scores.
constexpr double rounding = 2e-6;

}  // namespace

TEST_CASE("applied, the change gives the example its target weight, and undo restores the original") {
    for (const Source source : {Source::projections, Source::qkv})
        for (Index of = 0; of < change_count; ++of) {
            if (test::sanitized && (of % 2 == 0) != (source == Source::qkv))
                continue;  // one source is enough
            InverseScreen screen;
            const auto changed = static_cast<ChangeOf>(of);
            INFO(inverse::change_name(changed) << (source == Source::qkv ? ", of Q and K" : ", of X"));
            screen.visit.perform(SetSource{source});
            screen.visit.perform(SetSoftcap{3});
            screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
            screen.visit.perform(Select{{0, 0, 2, {}}});
            screen.ask(changed, {{0, 0.6}, {1, 0.15}});
            const HeadChange& change = screen.change();
            REQUIRE(change.found());
            if (source == Source::qkv) CHECK(change.x() == nullptr);
            CHECK(change.search()->idle_share() < 1e-6);
            const State before = screen.visit.state();
            REQUIRE(inverse::deed(screen.model(), screen.visit, screen.subject()));
            const std::vector<double> row0 = *change.after(2);
            const HeadChange::Moved elsewhere = change.elsewhere();
            screen.click("inverse/do");
            screen.settle();
            CHECK(std::abs(screen.weight(2, 0) - 0.6) < rounding);
            CHECK(std::abs(screen.weight(2, 1) - 0.15) < rounding);
            for (Index j = 0; j < 3; ++j)
                CHECK(std::abs(screen.weight(2, j) - row0[static_cast<std::size_t>(j)]) < rounding);
            CHECK(screen.spoken().starts_with("Nothing has to change"));
            // The other movements that it predicted have happened, too.
            const double then = elsewhere.query < 0 ? 0 : screen.weight(elsewhere.query, elsewhere.key);
            screen.visit.undo();
            screen.settle();
            CHECK(screen.visit.state() == before);
            if (elsewhere.query >= 0)
                CHECK(std::abs(then - screen.weight(elsewhere.query, elsewhere.key) - elsewhere.by) <
                      2 * rounding);
        }
}

TEST_CASE(
    "the smallest change of q is smaller than that of all keys is for K, and both follow the formulas") {
    InverseScreen screen;
    screen.visit.perform(SetSource{Source::qkv});
    screen.ask(ChangeOf::q, {{0, 0.9}});
    const HeadChange& of_q = screen.change();
    REQUIRE(of_q.found());
    double squares_of_q = 0;
    for (Index a = 0; a < 4; ++a) squares_of_q += std::pow(of_q.change(2, a), 2);
    CHECK(std::abs(of_q.norm() - std::sqrt(squares_of_q)) < 1e-12);
    screen.ask(ChangeOf::keys, {{0, 0.9}});
    const HeadChange& of_keys = screen.change();
    REQUIRE(of_keys.found());
    double squares_of_k = 0;
    for (Index j = 0; j < 3; ++j)
        for (Index a = 0; a < 4; ++a) squares_of_k += std::pow(of_keys.change(j, a), 2);
    CHECK(std::abs(of_keys.norm() - std::sqrt(squares_of_k)) < 1e-12);
    screen.ask(ChangeOf::key, {{0, 0.9}});
    const HeadChange& of_key = screen.change();
    REQUIRE(of_key.found());
    // A single key has to move along q by as much as its score lacks.
    const RowChain row = row_chain(of_key.record(), 0, 2);
    double squares = 0;
    for (Index a = 0; a < 4; ++a)
        squares += std::pow(static_cast<double>(of_key.record().q().heads().head(0)(2, a)), 2);
    const double rest = 1 - row.at(0).weight, lacks = std::log(9.0) - std::log(row.at(0).weight / rest);
    CHECK(std::abs(of_key.norm() - 2 * lacks / std::sqrt(squares)) < 1e-9);
    CHECK(of_key.elsewhere().query >= 0);
}

TEST_CASE("a change is called the smallest if that is proven, and otherwise the smallest of those found") {
    InverseScreen screen;
    screen.visit.perform(SetSource{Source::qkv});
    const auto says = [](const char* part) {
        return std::ranges::any_of(
            ui::semantics(), [&](const ui::Node& node) { return node.name.find(part) != std::string::npos; });
    };
    screen.ask(ChangeOf::q, {{0, 0.9}});
    CHECK(screen.change().proven());
    CHECK(says("The least change has length "));
    screen.ask(ChangeOf::q, {{0, 0.001}});
    CHECK_FALSE(screen.change().proven());
    CHECK(screen.change().starts() == 3);
    CHECK(says("; no shorter one was found from 3 starts."));
    CHECK_FALSE(says("The least change has length "));
}

TEST_CASE("every number of the lens explains itself: operands, lines and what they lead to") {
    InverseScreen screen;
    const auto check = [&](const CellKind& kind, Index rows, Index cols, double tolerance) {
        for (Index row = 0; row < rows; ++row)
            for (Index col = 0; col < cols; ++col) {
                const auto why = test::why(screen.visit, kind(row, col));
                INFO(kind.name << " at " << row << ", " << col);
                REQUIRE(why);
                INFO(why->title);
                CHECK(std::abs(why->f32 - why->f64) < tolerance);
                CHECK_FALSE(why->formula.empty());
                REQUIRE_FALSE(why->calculation.empty());
                check_calculated(*why);
                double sum = 0;
                for (const auto& operand : why->operands) sum += operand.product;
                // The smallest change is composed of keys if it has no idle part.
                if (&kind == &inverse::cells::change && !why->operands.empty())
                    CHECK(std::abs(sum - why->f64) < 1e-6);
                for (const auto& operand : why->operands)
                    for (const auto& [at, value] : {std::pair(operand.left_at, operand.left),
                                                    std::pair(operand.right_at, operand.right)}) {
                        if (!at) continue;
                        const auto there = lens_in(screen.visit).explain(screen.subject(), *at);
                        REQUIRE(there);
                        CHECK(std::abs(there->f64 - value) < 1e-6);  // within the precision of f32
                    }
            }
    };
    for (Index of = 0; of < change_count; ++of) {
        screen.ask(static_cast<ChangeOf>(of), {{1, 0.7}});
        REQUIRE(screen.change().found());
        check(inverse::cells::weight, 3, 3, rounding);
        check(inverse::cells::query, 3, 4, 1e-6);
        check(inverse::cells::key, 3, 4, 1e-6);
        check(inverse::cells::iteration, 2, std::ssize(screen.change().search()->iterations()), 1e-6);
        if (screen.change().x()) check(inverse::cells::projection, 4, 4, 1e-6);
        if (screen.change().x()) check(inverse::cells::change, 4, 4, 1e-6);
        if (screen.change().of() == ChangeOf::keys) check(inverse::cells::change, 3, 4, 1e-6);
        CHECK_FALSE(why(screen.visit, inverse::cells::weight(3, 0)));
    }
    screen.ask(ChangeOf::q, {{1, 0.7}});
    for (Index a = 0; a < 4; ++a) {
        const auto why = test::why(screen.visit, inverse::cells::change(2, a));
        REQUIRE(why);
        REQUIRE(why->operands.size() == 3);
        double sum = 0;
        for (const auto& operand : why->operands) sum += operand.product;
        CHECK(std::abs(sum - why->f64) < 1e-6 * screen.change().search()->length());
    }
    REQUIRE(screen.model().fit.kept()->done());
    check(inverse::cells::target, 8, 8, 1e-6);
    check(inverse::cells::fitted_weight, 8, 8, 1e-6);
    check(inverse::cells::fitted_query, 8, 2, 1e-4);
    CHECK_FALSE(why(screen.visit, inverse::cells::error(9)));
    CHECK(why(screen.visit, inverse::cells::error(8)));
}

TEST_CASE("targets in several rows are reached together, by any kind of change") {
    for (const Source source : {Source::projections, Source::qkv})
        for (Index of = 0; of < change_count; ++of) {
            if (test::sanitized && (of % 2 == 0) != (source == Source::qkv))
                continue;  // one source is enough
            InverseScreen screen;
            screen.visit.perform(SetSource{source});
            inverse::State next = screen.visit.state().of<inverse::State>();
            next.of = static_cast<ChangeOf>(of);
            next.wishes = {{0, 1, 0.6}, {1, 0, 0.5}, {2, 1, 0.45}};
            screen.visit.perform(Set<inverse::State>{next});
            screen.settle();
            INFO(inverse::change_name(next.of));
            const HeadChange& change = screen.change();
            REQUIRE(change.found());
            CHECK(change.search()->idle_share() < 1e-6);
            CHECK(screen.spoken().find("all 3 wishes come true") != std::string::npos);
            // The norm of the changed matrix.
            double squares = 0;
            for (Index row = 0; row < change.changed_rows(); ++row)
                for (Index col = 0; col < 4; ++col) squares += std::pow(change.change(row, col), 2);
            CHECK(std::abs(std::sqrt(squares) - change.norm()) < 1e-9 * change.norm());
            for (Index col = 0; col < 4; ++col) {
                const auto why = test::why(screen.visit, inverse::cells::change(1, col));
                REQUIRE(why);
                // It states the properties of a smallest change; this one has no idle part beyond 1e-8 of its
                // length.
                CHECK(std::abs(why->f64 - change.change(1, col)) < 1e-6 * change.norm());
            }
            screen.click("inverse/do");
            screen.settle();
            for (const auto& [query, key, weight] : next.wishes)
                CHECK(std::abs(screen.weight(query, key) - weight) < rounding);
        }
    InverseScreen screen;
    screen.click("inverse/preset/previous");
    screen.settle();
    CHECK(screen.visit.state().of<inverse::State>().wishes ==
          std::vector<CellWish>{{1, 0, 0.6}, {2, 1, 0.6}});
    CHECK(screen.change().found());
}

TEST_CASE("an impossible target says why, in one sentence") {
    InverseScreen screen;
    screen.visit.perform(SetSource{Source::qkv});
    const auto says = [&](std::vector<Wish> wishes, const char* part) {
        screen.ask(ChangeOf::q, std::move(wishes));
        INFO(screen.spoken());
        CHECK(screen.spoken().find(part) != std::string::npos);
        CHECK(screen.spoken().ends_with('.'));
        CHECK_FALSE(screen.shows("inverse/do"));
    };
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    screen.visit.perform(Select{{0, 0, 1, {}}});
    says({{2, 0.5}}, "The mask hides “mat” from “sat”");
    says({{0, 0.5}, {1, 0.4}}, "without a wish");
    screen.visit.perform(SetMask{});
    says({{0, 0.5}, {1, 0.5}}, "add up to 1");
    // The second key lies halfway between the others.
    for (Index a = 0; a < 4; ++a)
        screen.visit.perform(SetCell{{Stage::k, 1, a}, a == 0 ? 0.8 : a == 1 ? 0.35 : a == 2 ? 0.45 : 0.55});
    says({{1, 0.6}}, "lies among the other keys");
    CHECK(screen.spoken().find("more than 0.3333") != std::string::npos);
    for (Index a = 0; a < 4; ++a)
        screen.visit.perform(SetCell{{Stage::k, 1, a}, a == 1 ? 0.5 : a == 0 ? 1 : a == 2 ? 0.2 : 0.8});
    says({{1, 0.6}}, "stay in one ratio");
    screen.visit.perform(SetSoftcap{0.5});
    says({{2, 0.9}}, "The soft cap of 0.5");
    for (Index j = 0; j < 3; ++j)
        for (Index a = 0; a < 4; ++a) screen.visit.perform(SetCell{{Stage::k, j, a}, 1});
    says({{2, 0.9}}, "All keys");
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    screen.visit.perform(Select{{0, 0, 0, {}}});
    screen.ask(ChangeOf::q, {});
    CHECK(screen.spoken().starts_with("The mask leaves “cat” nothing to look at"));
    screen.visit.perform(SetSource{Source::scores});
    screen.settle();
    CHECK(screen.shows("missing/offer"));
    screen.click("missing/offer");
    screen.settle();
    CHECK_FALSE(lens_in(screen.visit).missing(screen.subject()));
    for (const std::string& notice : screen.page.notices) UNSCOPED_INFO(notice);
    CHECK(screen.page.notices.empty());
}

TEST_CASE("a head of a model is copied to the example with the change in it") {
    InverseScreen screen;
    screen.open_sentence(6);
    screen.visit.perform(Select{{1, 1, 4, {}, {}}});
    screen.open();
    for (const ChangeOf of : {ChangeOf::q, ChangeOf::keys, ChangeOf::w_q, ChangeOf::w_k}) {
        INFO(inverse::change_name(of));
        screen.ask(of, {{2, 0.75}});
        REQUIRE(screen.change().found());
        CHECK(screen.change().of() == of);
        screen.click("inverse/do");
        REQUIRE(screen.visit.state().subject == worked_subject);
        const WorkedState& w = worked_of(screen.visit.state());
        CHECK(w.origin.from.find("layer 1, head 1 of tiny") == 0);
        CHECK(std::abs(static_cast<double>(worked_in(screen.visit).run().value(w, {Stage::weight, 4, 2})) -
                       0.75) < rounding);
        screen.visit.undo();
        screen.settle();
        REQUIRE(screen.visit.state().subject == sentence_subject);
    }
}

TEST_CASE("a weight is dragged, typed and reset; its row is chosen") {
    InverseScreen screen;
    const Rect cell = rect("inverse/now/1/0");
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent((cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2);
    screen.draw(2);
    io.AddMouseButtonEvent(0, true);
    screen.draw();
    for (int i = 1; i <= 8; ++i) {
        io.AddMousePosEvent((cell.left + cell.right) / 2 + 5.0f * static_cast<float>(i),
                            (cell.top + cell.bottom) / 2);
        screen.draw();
    }
    io.AddMouseButtonEvent(0, false);
    screen.settle();
    const inverse::State& now = screen.visit.state().of<inverse::State>();
    REQUIRE(now.wishes.size() == 1);
    CHECK(now.wishes[0].query == 1);
    CHECK(now.wishes[0].key == 0);
    CHECK(now.wishes[0].weight > screen.weight(1, 0) + 0.1);
    CHECK(screen.visit.state().selection.query == 1);
    CHECK(screen.change().found());
    CHECK(screen.shows("inverse/weight/1/0"));
    screen.visit.undo();
    CHECK(screen.visit.state().of<inverse::State>().wishes.empty());
    screen.settle();
    screen.click("inverse/now/2/1");
    screen.type("0.8");
    screen.press(ImGuiKey_Enter);
    screen.settle();
    CHECK(screen.visit.state().of<inverse::State>().wishes == std::vector<CellWish>{{2, 1, 0.8}});
    screen.type("2");
    screen.press(ImGuiKey_Enter);
    CHECK(screen.page.notices.size() == 1);
    screen.click("inverse/forget/1");
    CHECK(screen.visit.state().of<inverse::State>().wishes.empty());
}

TEST_CASE("on tensors of 16,384 tokens a target is reached in slices; a row with a NaN says so") {
    const Index n = test::sanitized ? 2048 : 16384, query = n / 2, key = n * 3 / 4;
    InverseScreen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    const Tensor k = random_tensor({1, n, 32}, 2);
    put(screen.visit, {{"q.npy", normal_npy({1, n, 32}, 1)}, {"k.npy", write_npy({1, n, 32}, k.values())}});
    screen.settle();
    REQUIRE(subject_in(screen.visit).attention());
    screen.visit.perform(SetTensorRule{{}});
    screen.visit.perform(Select{{0, 0, query, key}});
    screen.open();
    screen.ask(ChangeOf::key, {{key, 0.4}});
    REQUIRE(screen.change().found());
    CHECK(std::abs(static_cast<double>(why(screen.visit, inverse::cells::weight(query, key))->f32) - 0.4) <
          1e-4);
    const ShownTokens keys = screen.model().keys_shown();
    const std::vector<float> row = screen.change().record().weights(screen.change().head(), query);
    const Index strongest = std::ranges::max_element(row) - row.begin();
    REQUIRE(keys.size() < n);
    CHECK(keys.holds(key));
    CHECK(keys.holds(strongest));
    CHECK(screen.shows("inverse/weight/" + std::to_string(query % inverse::queries_on_page) + "/" +
                       std::to_string(keys.place(strongest))));
    CHECK(screen.change().all_moved());
    CHECK(screen.shows("inverse/do"));
    CHECK(ImGui::GetDrawData()->TotalVtxCount < 60'000);

    InverseScreen odd;
    odd.visit.perform(OpenSubject{tensors_subject});
    Tensor q = random_tensor({6, 4}, 1);
    q.matrix()(3, 2) = std::nanf("");
    put(odd.visit, {{"q.npy", write_npy({6, 4}, q.values())}, {"k.npy", normal_npy({6, 4}, 2)}});
    odd.settle();
    odd.visit.perform(Select{{0, 0, 3, {}}});
    odd.open();
    CHECK(odd.spoken().find("not a number") != std::string::npos);
    odd.ask(ChangeOf::keys, {{1, 0.5}});
    CHECK(odd.spoken().find("is not finite") != std::string::npos);
    odd.visit.perform(Select{{0, 0, 4, {}}});
    odd.ask(ChangeOf::keys, {{1, 0.5}});
    CHECK(odd.change().found());
}

TEST_CASE("the link restores the lens") {
    InverseScreen screen;
    screen.ask(ChangeOf::w_k, {{0, 0.125}, {2, 0.5}});
    CHECK(to_fragment(screen.visit.state()) ==
          "v=1&lens=inverse&inverse.of=wk&inverse.wish=2.0:0.125,2.2:0.5");
    inverse::State next = screen.visit.state().of<inverse::State>();
    next.pattern = {PatternKind::painted, 3, 7, {1, 0, 0, 0, 1, 1, 0, 0, 0}};
    next.components = 3;
    screen.visit.perform(Set<inverse::State>{next});
    const std::string link = to_fragment(screen.visit.state());
    CHECK(parse_fragment(link).state == screen.visit.state());
    for (const char* bad :
         {"wish=0", "wish=0:0.5", "wish=0.0:1", "wish=0.0:0", "wish=0.-1:0.5", "wish=0.0:0.1,0.0:0.2",
          "wish=a.b:c", "of=v", "pattern=previous", "pattern=previous,1", "pattern=previous,17",
          "pattern=painted,3", "pattern=painted,3,ff", "pattern=stripes,3", "seed=-1", "d=0", "d=17"}) {
        INFO(bad);
        CHECK_FALSE(parse_fragment("v=1&inverse." + std::string(bad)).note.empty());
    }
}

TEST_CASE("a pattern is painted, fitted, and copied to the example") {
    InverseScreen screen;
    inverse::State next = screen.visit.state().of<inverse::State>();
    next.pattern = {PatternKind::first, 4, 1, {}};
    next.components = 1;
    screen.visit.perform(Set<inverse::State>{next});
    screen.settle();
    REQUIRE(screen.model().fitted());
    CHECK(screen.model().fitted()->rows_right == 4);
    // The targets are set only as far as this head's three tokens go.
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    screen.settle();
    CHECK(wishes_of(next.pattern, screen.change().record(), 0) ==
          std::vector<CellWish>{{1, 0, 0.9}, {2, 0, 0.9}});
    screen.visit.perform(SetMask{});
    screen.settle();
    const auto deed = inverse::take_pattern(screen.model(), screen.visit);
    REQUIRE(deed);
    const FittedPattern fitted = *screen.model().fitted();
    screen.visit.perform(deed->command);
    CHECK(screen.page.notices.empty());
    const WorkedState& w = worked_of(screen.visit.state());
    for (Index i = 0; i < 4; ++i)
        for (Index j = 0; j < 4; ++j)
            CHECK(
                std::abs(static_cast<double>(worked_in(screen.visit).run().value(w, {Stage::output, i, j})) -
                         fitted.weights[static_cast<std::size_t>(i * 4 + j)]) < 1e-5);
}
