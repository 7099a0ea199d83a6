// Checks what the inspector says about a number in double: for one step from a run's f32 numbers, and for the
// whole run.
#include <catch_amalgamated.hpp>
#include <chrono>
#include <cmath>
#include <thread>

#include "app/copied.hpp"
#include "support/small_families.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Returns the paragraphs of the inspector that begin with this text.
std::string inspector_says(const std::string& begins) {
    for (const ui::Node& node : ui::semantics())
        if (node.role == ui::Role::paragraph && node.name.starts_with(begins)) return node.name;
    return "";
}

std::optional<Explained> shown_why(Screen& screen, const CellRef& cell) {
    Subject& subject = subject_in(screen.visit);
    return lens_in(screen.visit).explain(subject, {subject.chosen_head(), cell});
}

}  // namespace

TEST_CASE("a model's number says that its f64 is one step, and gets the whole run in double beside it") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(Select{{1, 0, {}, {}, {}}});
    for (const RunCell& cell :
         {RunCell{.stage = Stage::weight, .row = 3, .col = 1}, RunCell{.stage = Stage::q, .row = 3, .col = 1},
          RunCell{.stage = Stage::output, .row = 3, .col = 1},
          RunCell{.stage = Stage::resid_pre, .row = 3, .col = 1},
          RunCell{.stage = Stage::logit, .row = 5, .col = 1}}) {
        INFO(symbol(cell.stage));
        screen.visit.perform(Pin{cell});
        screen.settle();
        // During computation, an explanation is refreshed a few times a second.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        screen.settle();
        const auto why = shown_why(screen, cell);
        REQUIRE(why);
        REQUIRE(why->in_double);
        // The step's operands are already rounded, so the step's error is not the number's error.
        CHECK(*why->in_double == Catch::Approx(why->f32).epsilon(1e-4).margin(1e-5));
        CHECK(*why->in_double != why->f64);
        CHECK(*why->in_double != why->f32);
        const std::string step = inspector_says("f64  " + significant(why->f64, 8));
        CHECK_THAT(step, ContainsSubstring(", this step, from the run’s f32 numbers"));
        CHECK_THAT(inspector_says("f64  " + fixed(*why->in_double, 12)),
                   ContainsSubstring("the whole run in double"));
        CHECK(inspector_says("f32 is off by") ==
              "f32 is off by " + significant(std::abs(why->f32 - *why->in_double), 2));
    }
    // A word of two tokens has one number, too.
    screen.visit.perform(SetText{"a few words"});
    screen.visit.tokens({Box::first, "a few words", {1, 2, 3, 4}, {"a", " few", " wor", "ds"}, 4});
    screen.settle();
    const RunCell word{.stage = Stage::weight, .row = 2, .col = 2, .unit = Unit::words};
    screen.visit.perform(Pin{word});
    screen.settle();
    const auto of_word = shown_why(screen, word);
    REQUIRE(of_word);
    REQUIRE(of_word->operands.size() == 4);
    REQUIRE(of_word->in_double);
    CHECK(*of_word->in_double == Catch::Approx(of_word->f64).epsilon(1e-5));
    CHECK(*of_word->in_double != of_word->f64);
    // A changed run is repeated with its changes.
    const RunCell cell{.stage = Stage::weight, .row = 3, .col = 1};
    screen.visit.perform(Pin{cell});
    screen.settle();
    const auto as_it_was = shown_why(screen, cell);
    screen.visit.perform(ChangeRun{{.at = {.site = Site::head_output, .attention = 0, .head = 0}}});
    screen.settle();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    screen.settle();
    const auto changed = shown_why(screen, cell);
    REQUIRE(changed);
    REQUIRE(changed->in_double);
    CHECK(changed->f32 != as_it_was->f32);
    CHECK(*changed->in_double == Catch::Approx(changed->f32).epsilon(1e-4));
    CHECK(*changed->in_double != changed->f64);
}

TEST_CASE("the example's f64 is computed from its own numbers") {
    Screen screen;
    screen.visit.perform(OpenSubject{"worked"});
    const RunCell cell{.stage = Stage::weight, .row = 1, .col = 1};
    screen.visit.perform(Pin{cell});
    screen.settle();
    const auto why = shown_why(screen, cell);
    REQUIRE(why);
    CHECK(inspector_says("f64  ") == "f64  " + fixed(why->f64, 12));
}

TEST_CASE("the scale of a model's scores, its epsilon and its caps come from its configuration, in double") {
    for (const SmallFamily& family : all_small_families()) {
        INFO(family.name);
        const auto model = small_model(family);
        const ModelConfig& config = model->config();
        const auto trace = run_text(model, {1, 2, 3, 4});
        REQUIRE(trace);
        for (Index attention = 0; attention < (*trace)->attentions(); ++attention) {
            const LayerAttention at = (*trace)->attention(attention);
            const double under_root = config.query_pre_attn_scalar > 0 ? config.query_pre_attn_scalar
                                                                       : static_cast<double>(config.head_dim);
            double scale = config.scale_by_head_dim ? 1 / std::sqrt(under_root) : 1;
            if (config.scale_by_layer_index) scale /= static_cast<double>(at.place.layer + 1);
            CHECK(explain(at.record(), Stage::scaled, 0, 1, 0).scale == scale);

            CHECK(at.record().spec().softcap ==
                  (at.place.kind == AttentionKind::cross ? 0 : config.score_cap));
            if (at.half.attention_norm) CHECK(at.half.attention_norm->epsilon == config.norm_epsilon);
        }
    }
    Screen screen;
    screen.open_sentence();
    const auto why = shown_why(screen, RunCell{.stage = Stage::scaled, .row = 2, .col = 1});
    REQUIRE(why);
    const auto d_k = static_cast<double>(sentence_in(screen.visit).model()->config().head_dim);
    CHECK_THAT(copied(*why, Dialect::numpy), ContainsSubstring(shortest(1 / std::sqrt(d_k))));
}
