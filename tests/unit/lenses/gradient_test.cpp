#include "lenses/gradient/gradient.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "model/explain.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/slope_errors.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

struct GradientScreen : Screen {
    GradientScreen() {
        visit.perform(OpenSubject{worked_subject});
        visit.perform(OpenLens{"gradient"});
        settle();
    }
    gradient::Lens& lens() const { return static_cast<gradient::Lens&>(visit.lens()); }
    gradient::Model& model() const {
        lens().spoken(subject());  // brings it up to date
        return lens().model();
    }
    Subject& subject() const { return subject_in(visit); }
    const Slopes& slopes() const {
        const Slopes* all = model().slopes();
        REQUIRE(all);
        return *all;
    }
    Result<gradient::StepAlong> step() const {
        return step_along(slopes(), lens().model().state, visit.state(), subject());
    }
    Explained explained(Slope slope, Index row, Index col) const {
        const auto why = lens().explain(subject(), {{}, gradient::cells::derivative(slope, row, col)});
        REQUIRE(why);
        return *why;
    }
};

}  // namespace

TEST_CASE("every gradient of the example matches finite differences") {
    GradientScreen screen;
    const std::array<Command, 5> changes{Set<gradient::State>{{.aim = gradient::Aim::value, .key = 1}},
                                         SetSource{Source::qkv}, SetSoftcap{2},
                                         SetMask{.kind = WorkedMask::Kind::causal}, SetTemperature{0.5}};
    const auto check = [&](const char* after) {
        INFO(after);
        screen.settle();
        // A step of 1e-5 leaves its square times a third derivative of a few, and rounding of 1e-16 / 1e-5.
        CHECK(largest_error(screen.slopes()) < 1e-8);
        CHECK(screen.lens().model().check->done == screen.lens().model().check->cells.size());
        CHECK(screen.lens().model().check->worst < 1e-8);
    };
    check("the first picture");
    for (const Command& change : changes) {
        const std::string after = change.describe(screen.visit.state());
        screen.visit.perform(change);
        check(after.c_str());
    }
    CHECK(screen.shows("gradient/dA/0/0"));
}

TEST_CASE("every gradient explains itself: its operands and its lines give its value") {
    GradientScreen screen;
    screen.visit.perform(SetSource{Source::projections});
    screen.settle();
    const Slopes& slopes = screen.slopes();
    REQUIRE(slopes.projections());
    for (Index i = 0; i < slope_count; ++i) {
        const auto slope = static_cast<Slope>(i);
        const Range rows = slopes.rows(slope);
        for (Index row = rows.begin; row < rows.end; ++row)
            for (Index col = slopes.columns(slope).begin; col < slopes.columns(slope).end; ++col) {
                const Explained why = screen.explained(slope, row, col);
                INFO(why.title);
                CHECK(std::abs(why.f32 - why.f64) < 1e-5);
                CHECK_FALSE(why.formula.empty());
                CHECK_FALSE(why.calculation.empty());
                check_calculated(why);
                double sum = 0;
                for (const auto& operand : why.operands) {
                    sum += operand.product;
                    REQUIRE(operand.right_at);
                    // The number that an operand leads to has its value, within the precision of f32.
                    for (const auto& [at, value] : {std::pair(*operand.left_at, operand.left),
                                                    std::pair(*operand.right_at, operand.right)}) {
                        const auto there = screen.lens().explain(screen.subject(), at);
                        REQUIRE(there);
                        CHECK(std::abs(there->f64 - value) < 1e-6);
                    }
                }
                if (!why.operands.empty()) CHECK(std::abs(sum - why.f64) < 1e-12);
            }
    }
    CHECK_FALSE(
        screen.lens().explain(screen.subject(), {{}, gradient::cells::derivative(Slope::weight, 0, 3)}));
    CHECK_FALSE(screen.lens().explain(screen.subject(), {{}, gradient::cells::derivative(Slope::k, 3, 0)}));
}

TEST_CASE("a small step changes the loss as its gradient predicts, and is one undo step") {
    for (const bool to_value : {false, true})
        for (const Source source : {Source::qkv, Source::projections, Source::scores}) {
            GradientScreen screen;
            screen.visit.perform(SetSource{source});
            screen.visit.perform(
                Set<gradient::State>{{.aim = to_value ? gradient::Aim::value : gradient::Aim::component,
                                      .component = 1,
                                      .rate = 1e-3}});
            screen.settle();
            const double before = screen.slopes().f64().loss,
                         squares = gradient::gain_of_step(screen.slopes(), screen.subject());
            const State state = screen.visit.state();
            const auto step = screen.step();
            REQUIRE(step);
            screen.visit.perform(*step);
            screen.settle();
            const double moved = screen.slopes().f64().loss - before;
            // Second order: a step of 1e-3 times gradients of about 1; inputs are rounded to f32.
            CHECK(std::abs(moved - (to_value ? -1e-3 : 1e-3) * squares) < 1e-5 * std::max(1.0, squares));
            CHECK((to_value ? moved < 0 : moved > 0));
            screen.visit.undo();
            CHECK(screen.visit.state() == state);
        }
}

TEST_CASE("in a model a step adds to the query's q, and its logit grows as the gradient predicts") {
    GradientScreen screen;
    screen.open_sentence(6);
    screen.visit.perform(OpenLens{"gradient"});
    screen.visit.perform(Select{{0, 1, 4, {}}});
    const auto aim_at = [&](double rate) {
        screen.visit.perform(
            Set<gradient::State>{{.aim = gradient::Aim::logit, .raise = 5, .over = 3, .rate = rate}});
        screen.settle();
    };
    const auto difference = [&] {
        const Attention& attention = *screen.subject().attention();
        const Index row = attention.logits_row();
        const Tensor logits = attention.trace()->logits({row, row + 1});
        return static_cast<double>(logits.values()[5]) - static_cast<double>(logits.values()[3]);
    };
    const auto run_on = [&] {
        screen.settle();  // the model continues
        screen.settle();  // and the backward pass through its numbers
    };
    const auto take_step = [&] {
        screen.click("gradient/step");
        run_on();
    };
    aim_at(1);
    const double before = difference(), squares = gradient::gain_of_step(screen.slopes(), screen.subject());
    REQUIRE(squares > 0);
    const double wished = 0.01;
    aim_at(std::min(wished / squares, gradient::rate_limit));
    const double rate = screen.visit.state().of<gradient::State>().rate;
    std::vector<float> by;
    for (Index a = 0; a < screen.slopes().columns(Slope::q).size(); ++a)
        by.push_back(static_cast<float>(rate * screen.slopes().value(Slope::q, 4, a)));
    const State state = screen.visit.state();

    take_step();
    const std::vector<Intervention>& changed = screen.subject().attention()->trace()->interventions();
    REQUIRE(changed.size() == 1);
    CHECK(changed[0].attention == 0);
    CHECK(changed[0].site == Site::q);
    CHECK(changed[0].edit == Edit{.head = 1,
                                  .rows = {4},
                                  .columns = {0, 1, 2, 3, 4, 5},
                                  .operation = Operation::add,
                                  .values = by});
    // Second-order terms are about a hundredth; logits are f32.
    CHECK(std::abs(difference() - before - rate * squares) < 0.05 * rate * squares + 2e-6);
    const State after = screen.visit.state();
    CHECK(parse_fragment(to_fragment(after)).state == after);

    // Another step is merged into the same change, starting where the first one ended.
    const double next = gradient::gain_of_step(screen.slopes(), screen.subject()), here = difference();
    take_step();
    CHECK(screen.subject().attention()->trace()->interventions().size() == 1);
    CHECK(std::abs(difference() - here - rate * next) < 0.05 * rate * next + 2e-6);

    // Not if a change made between the two would alter their sum.
    screen.visit.perform(ChangeRun{
        {.at = {.site = Site::q, .attention = 0, .head = 1}, .operation = Operation::scale, .value = 2}});
    run_on();
    const auto refused = screen.step();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "Its q is changed in another way already: take that back first.");
    for (int i = 0; i < 3; ++i) screen.visit.undo();
    screen.settle();
    CHECK(screen.visit.state() == state);
    CHECK(difference() == before);
}

TEST_CASE("the gradient says where the head should attend, and its link restores it") {
    GradientScreen screen;
    const std::string sentence = screen.lens().spoken(screen.subject());
    CHECK(sentence.starts_with("To raise component 0 of the output of "));
    CHECK(sentence.find(", attend more to ") != std::string::npos);
    screen.click("gradient/preset/first");
    screen.settle();
    CHECK(screen.visit.state().of<gradient::State>().aim == gradient::Aim::value);
    CHECK(screen.lens().spoken(screen.subject()).starts_with("To bring the output of "));
    const std::string link = to_fragment(screen.visit.state());
    CHECK(link == "v=1&lens=gradient&gradient.loss=value,0");
    CHECK(parse_fragment(link).state == screen.visit.state());
    CHECK(parse_fragment("v=1&lens=gradient&gradient.loss=component,3&gradient.rate=2").note.empty());
    for (const char* tokens : {"logit", "logit,3", "logit,3,4"}) {
        const std::string with_tokens = "v=1&lens=gradient&gradient.loss=" + std::string(tokens);
        CHECK(parse_fragment(with_tokens).note.empty());
        CHECK(to_fragment(parse_fragment(with_tokens).state) == with_tokens);
    }
    for (const char* bad : {"value", "value,-1", "row,1", "value,1,2", "component,99999999999999999999",
                            "logit,-1", "logit,3,3", "logit,3,4,5", "logit,x"})
        CHECK_FALSE(parse_fragment("v=1&gradient.loss=" + std::string(bad)).note.empty());
    for (const char* bad : {"0", "-1", "10001", "nan", "inf", "fast"})
        CHECK_FALSE(parse_fragment("v=1&gradient.rate=" + std::string(bad)).note.empty());
    CHECK(screen.lens().tables(screen.subject()).front().title.starts_with("∂L/∂S["));
}

TEST_CASE("a row that sees nothing, or has numbers that are not finite, says so") {
    GradientScreen screen;
    screen.visit.perform(SetSource{Source::qkv});
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    screen.visit.perform(Select{{0, 0, 0, {}}});
    screen.settle();
    CHECK(screen.lens().spoken(screen.subject()).starts_with("The mask leaves "));
    screen.visit.perform(SetSource{Source::scores});
    screen.visit.perform(SetMask{});
    screen.visit.perform(SetCell{{Stage::raw, 0, 0}, HUGE_VAL});
    screen.settle();
    CHECK(screen.lens().spoken(screen.subject()).find("not finite") != std::string::npos);
}

TEST_CASE("a logit's gradient for any token of any head matches runs of the model") {
    GradientScreen screen;
    screen.open_sentence(6);
    screen.visit.perform(OpenLens{"gradient"});
    screen.settle();
    CHECK(screen.model().aim == gradient::Aim::component);
    screen.click("gradient/preset/over");
    for (const Selection& at : {Selection{1, 0, 5, {}}, Selection{0, 1, 2, {}}}) {
        screen.visit.perform(Select{at});
        screen.settle();
        CAPTURE(at.layer, at.head);
        const Slopes& slopes = screen.slopes();
        const LogitPass& logit = screen.model().logit;
        REQUIRE(slopes.loss().along.size() == logit.differences().size());
        CHECK_FALSE(screen.visit.frame_computes());
        for (Index b = 0; b < std::ssize(logit.differences()); ++b) {
            const Explained why = screen.explained(Slope::output, *at.query, b);
            // Weights and gradients are f32 in both; the sum is in double in one.
            CHECK(std::abs(why.f64 - why.f32) < 1e-5);
            check_calculated(why);
            // The bound from the test of the gradient itself.
            CHECK(std::abs(logit.differences()[static_cast<std::size_t>(b)] - why.f64) < 2e-3);
            const auto weight = screen.lens().explain(screen.subject(), *why.operands.front().left_at);
            REQUIRE(weight);
            CHECK(weight->f64 == why.operands.front().left);
        }
        REQUIRE(slopes.projections());
        CHECK(largest_error(slopes) < 1e-8);
        for (const Slope slope : {Slope::x, Slope::w_q, Slope::w_k, Slope::w_v}) {
            const Index row = slope == Slope::x ? *at.query : 1;
            const Explained why = screen.explained(slope, row, 2);
            check_calculated(why);
            for (const auto& operand : why.operands)
                for (const auto& [place, value] :
                     {std::pair(operand.left_at, operand.left), std::pair(operand.right_at, operand.right)}) {
                    if (!place) continue;
                    const auto there = screen.lens().explain(screen.subject(), *place);
                    REQUIRE(there);
                    CHECK(std::abs(there->f64 - value) < 1e-6);
                }
        }
        CHECK(screen.shows("gradient/rerun"));
        CHECK(screen.lens().spoken(screen.subject()).starts_with("To raise the logit of "));
    }
    const gradient::State asked = screen.visit.state().of<gradient::State>();
    REQUIRE(asked.over);
    // A subject without a model uses a component; a token outside every vocabulary is refused with a message.
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenLens{"gradient"});
    screen.visit.perform(Select{});
    screen.settle();
    CHECK(screen.model().aim == gradient::Aim::component);
    CHECK(screen.model().slopes());
    screen.visit.perform(OpenSubject{sentence_subject});
    screen.visit.perform(Set<gradient::State>{{.aim = gradient::Aim::logit, .raise = 2'000'000}});
    screen.settle();
    CHECK(screen.model().slopes() == nullptr);
    CHECK(screen.shows("gradient/preset/next"));
    screen.click("gradient/preset/next");
    screen.settle();
    CHECK(screen.model().slopes());
}

TEST_CASE("in a changed run, gradients pass through the changes, and the model agrees") {
    struct Changed {
        Site site;
        Operation operation;
    };
    const auto [site, operation] = GENERATE(
        Changed{Site::q, Operation::scale}, Changed{Site::k, Operation::zero},
        Changed{Site::v, Operation::scale}, Changed{Site::score, Operation::mean},
        Changed{Site::score, Operation::scale}, Changed{Site::weight, Operation::scale},
        Changed{Site::weight, Operation::mean}, Changed{Site::mask, Operation::zero},
        Changed{Site::head_output, Operation::scale}, Changed{Site::attention_output, Operation::scale},
        Changed{Site::mlp_output, Operation::zero}, Changed{Site::resid_post, Operation::add});
    CAPTURE(info(site).key, static_cast<int>(operation));
    GradientScreen screen;
    screen.open_sentence(6);
    screen.visit.perform(OpenLens{"gradient"});
    screen.visit.perform(Select{{0, 1, 4, {}}});
    RunChange change{.at = {.site = site, .attention = 0, .row = 4}, .operation = operation};
    if (is_of_heads(site)) change.at.head = 1;
    if (is_of_cells(site)) change.at.column = 2;
    if (site == Site::k || site == Site::v) change.at.row = 2;
    if (operation == Operation::scale || operation == Operation::add) change.value = 1.5;
    screen.visit.perform(ChangeRun{change});
    screen.settle();
    screen.visit.perform(Set<gradient::State>{{.aim = gradient::Aim::logit, .raise = 5, .over = 3}});
    screen.settle();
    REQUIRE(screen.subject().attention()->trace()->interventions().size() == 1);
    const Slopes& slopes = screen.slopes();
    const LogitPass& logit = screen.model().logit;
    REQUIRE(slopes.loss().along.size() == logit.differences().size());
    for (Index b = 0; b < std::ssize(logit.differences()); ++b) {
        const Explained why = screen.explained(Slope::output, 4, b);
        // The same bound as without a change.
        CHECK(std::abs(why.f64 - why.f32) < 1e-5);
        check_calculated(why);
        CHECK(std::abs(logit.differences()[static_cast<std::size_t>(b)] - why.f64) < 2e-3);
        CHECK(std::abs(slopes.f32().output[static_cast<std::size_t>(b)] -
                       slopes.record().output().heads().head(1)(4, b)) < 1e-5f);
    }
    CHECK(largest_error(slopes) < 1e-8);
    for (const Slope slope : {Slope::weight, Slope::masked, Slope::raw, Slope::q, Slope::k, Slope::v,
                              Slope::x, Slope::w_q, Slope::w_k, Slope::w_v, Slope::jacobian})
        for (const Index col : {1, 2}) {
            const bool of_query = slope == Slope::q || is_of_pairs(slope) || slope == Slope::x;
            if (is_of_pairs(slope) && !slopes.f64().allowed[static_cast<std::size_t>(col)]) continue;
            const Explained why = screen.explained(slope, of_query ? 4 : 2, col);
            check_calculated(why);
        }
}

TEST_CASE(
    "in a model with rotary positions, gradients with respect to X pass through the rotation, and heads "
    "share W_K and W_V") {
    GradientScreen screen;
    open_golden(screen.visit, GENERATE("llama3-scaled-f32", "qwen2-linear-f32"));
    screen.visit.perform(OpenLens{"gradient"});
    screen.visit.perform(Select{{1, 3, 4, {}}});
    screen.visit.perform(Set<gradient::State>{{.component = 2, .from = 3}});
    screen.settle();
    const Slopes& slopes = screen.slopes();
    const auto trace = screen.subject().attention()->trace();
    REQUIRE(trace);
    const Index kv_head = slopes.record().kv_head(3), width = slopes.record().d_k();
    // Derivative of a component with respect to component c of X, as the inspector computes it
    // (model/explain.hpp).
    const auto growth = [&](Stage stage, Index head, Index token, Index component, Index c) {
        const VectorComponent made = explain_component(*trace, stage, 1, head, token, component);
        const auto at = static_cast<std::size_t>(c);
        return made.own.terms[at].right * made.cosine +
               (made.partner_component < 0 ? 0 : made.partner.terms[at].right * made.sine);
    };
    const Range columns = slopes.columns(Slope::x);
    CHECK(columns.begin == std::min<Index>(3, trace->model()->config().d_model - columns.size()));
    for (Index token = 0; token < 5; ++token)
        for (Index c = columns.begin; c < columns.end; ++c) {
            double all = 0;
            for (Index a = 0; a < width; ++a) {
                if (token == 4) all += slopes.value(Slope::q, 4, a) * growth(Stage::q, 3, token, a, c);
                all += slopes.value(Slope::k, token, a) * growth(Stage::k, kv_head, token, a, c);
                all += slopes.value(Slope::v, token, a) * growth(Stage::v, kv_head, token, a, c);
            }
            // The same sum in double in another order.
            CHECK(std::abs(slopes.value(Slope::x, token, c) - all) < 1e-12);
        }
    CHECK(largest_error(slopes) < 1e-8);
    // W_Q depends on its own x: the query's row alone.
    for (Index a = 0; a < width; ++a) {
        double all = 0;
        for (Index b = 0; b < width; ++b) {
            const VectorComponent made = explain_component(*trace, Stage::q, 1, 3, 4, b);
            const double share = b == a ? made.cosine : made.partner_component == a ? made.sine : 0;
            all += slopes.value(Slope::q, 4, b) * share;
        }
        const Index c = columns.begin;
        const auto input = static_cast<double>(trace->layers()[1].attention_input.matrix()(4, c));
        CHECK(std::abs(slopes.value(Slope::w_q, c, a) - input * all) < 1e-12);
    }
}
