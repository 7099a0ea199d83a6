// Checks that every lens, over every subject, either shows something or says in one sentence what is missing
// and offers a way there.
#include <catch_amalgamated.hpp>

#include "lenses/ladder/ladder.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"
#include "support/translator.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("every lens is available for every subject that has what it needs, or else leads to one") {
    Screen screen;
    screen.page.bundled = {"translator"};
    screen.open_sentence();
    screen.train_some();
    for (const SubjectEntry& subject : subject_list())
        for (const LensEntry& lens : lens_list()) {
            INFO(subject.key << " through " << lens.key);
            screen.visit.perform(OpenSubject{subject.key});
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            CHECK(screen.visit.state().subject == subject.key);
            if (!subject_in(screen.visit).attention()) continue;  // the subject shows how to begin instead
            const auto missing = lens_in(screen.visit).missing(subject_in(screen.visit));
            CHECK(screen.shows("missing") == missing.has_value());
            CHECK(screen.shows("spoken") != missing.has_value());
            if (!missing) {
                CHECK(lens_in(screen.visit).spoken(subject_in(screen.visit)).ends_with('.'));
                continue;
            }
            CHECK(missing->sentence.ends_with('.'));
            std::vector<std::string> ways;
            for (const auto& [name, place] : ui::landmarks())
                if (name.starts_with("missing/")) ways.push_back(name);
            REQUIRE_FALSE(ways.empty());
            for (const std::string& way : ways) {
                INFO(way);
                screen.visit.perform(OpenSubject{subject.key});
                screen.visit.perform(OpenLens{lens.key});
                screen.settle();
                if (!screen.shows(way)) continue;  // the previous step has brought what was missing
                screen.click(way);
                if (!screen.page.opened.empty()) {
                    open_awaited_translator(screen.visit, screen.page);
                    screen.settle();
                    CHECK_FALSE(lens_in(screen.visit).missing(subject_in(screen.visit)));
                    screen.page.opened.clear();
                    screen.page.piece = [](std::int32_t) { return std::string("token"); };
                    screen.open_sentence();
                    continue;
                }
                if (screen.page.second)
                    screen.visit.tokens({Box::second, *screen.page.second, {1, 2, 3}, {"a", "b", "c"}, 3});
                screen.settle();
                if (subject_in(screen.visit).attention())
                    CHECK_FALSE(lens_in(screen.visit).missing(subject_in(screen.visit)));
            }
        }
    for (const std::string& notice : screen.page.notices) UNSCOPED_INFO(notice);
    CHECK(screen.page.notices.empty());
}

TEST_CASE("a head that the example lacks stays chosen, and every lens shows the nearest one") {
    Screen screen;
    screen.open_sentence();
    const Selection far{1, 2, {}, {}, {}};
    for (const LensEntry& lens : lens_list()) {
        INFO(lens.key);
        std::vector<std::string> spoken;
        std::vector<std::size_t> tables;
        for (const Selection& chosen : {Selection{}, far}) {
            screen.visit.perform(OpenSubject{"worked"});
            screen.visit.perform(Select{chosen});
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            CHECK(screen.visit.state().selection == chosen);
            Subject& subject = subject_in(screen.visit);
            if (lens_in(screen.visit).missing(subject)) continue;
            CHECK(screen.shows("spoken"));
            spoken.push_back(lens_in(screen.visit).spoken(subject));
            tables.push_back(lens_in(screen.visit).tables(subject).size());
            screen.hover("panel/lens");
            (void)lens_in(screen.visit)
                .explain(subject, {subject.chosen_head(), RunCell{Stage::weight, 1, 1}});
        }
        if (spoken.empty()) continue;
        REQUIRE(spoken.size() == 2);
        CHECK(spoken[0] == spoken[1]);
        CHECK(tables[0] == tables[1]);
    }
}

TEST_CASE("every lens shows the heads of every family, or says what is missing") {
    std::size_t family_number = 0;
    for (const SmallFamily& family : small_families) {
        const std::string_view name = family.name;
        // Families that differ most from GPT-2 and Llama go through every lens, the others through a few
        // each.
        const bool differs = name == "gemma3_text" || name == "olmo2" || name == "mixtral" ||
                             name == "gptj" || name == "opt_350m" || name == "bert";
        const std::size_t share = test::sanitized ? (differs ? 6 : 18) : differs ? 1 : 4;
        const ModelFiles files = files_of(family);
        Screen screen;
        load_files(screen.visit, "tiny", as_opened(files));
        screen.write_words(6);
        screen.visit.perform(Select{{1, 1, 4, {}, {}}});
        ++family_number;
        for (std::size_t i = 0; i < lens_list().size(); ++i) {
            if (i % share != family_number % share) continue;  // each lens shows some of them
            const LensEntry& lens = lens_list()[i];
            INFO(name << " through " << lens.key);
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            const auto missing = lens_in(screen.visit).missing(subject_in(screen.visit));
            const std::string told =
                missing ? missing->sentence : lens_in(screen.visit).spoken(subject_in(screen.visit));
            CHECK(told.ends_with('.'));
        }
        for (const std::string& notice : screen.page.notices) UNSCOPED_INFO(notice);
        CHECK(screen.page.notices.empty());
    }
}

TEST_CASE("every lens shows every kind of attention of an encoder–decoder, or says what is missing") {
    for (const SmallFamily& family : small_encoder_decoders) {
        if (test::sanitized && &family != &small_encoder_decoders.front()) break;
        Screen screen;
        // Texts with the same number of tokens, so that cross-attention has the same shape.
        open_encoder_decoder(screen.visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8});
        const ModelConfig& config = sentence_in(screen.visit).model()->config();
        Index lens_number = 0;
        for (const LensEntry& lens : lens_list()) {
            ++lens_number;
            for (Index layer = 0; layer < config.attentions(); ++layer) {
                if (test::sanitized && layer != lens_number % config.attentions()) continue;
                INFO(family.name << " through " << lens.key << ", attention " << layer);
                screen.visit.perform(Select{{layer, 1, 3, {}, {}}});
                screen.visit.perform(OpenLens{lens.key});
                screen.settle();
                Subject& subject = subject_in(screen.visit);
                if (const auto missing = lens_in(screen.visit).missing(subject)) {
                    CHECK(missing->sentence.ends_with('.'));
                    continue;
                }
                CHECK(lens_in(screen.visit).spoken(subject).ends_with('.'));
                for (const Table& table : lens_in(screen.visit).tables(subject)) {
                    CHECK(std::ssize(table.columns) == table.values.cols);
                    CHECK(std::ssize(table.row_labels) == table.values.rows);
                }
                // The item under the mouse says why.
                for (const float x : {0.3f, 0.5f, 0.7f})
                    for (const float y : {0.3f, 0.5f, 0.7f}) {
                        ImGui::GetIO().AddMousePosEvent(1440 * x, 846 * y);
                        screen.draw(2);
                    }
            }
        }
        for (const std::string& notice : screen.page.notices) UNSCOPED_INFO(notice);
        CHECK(screen.page.notices.empty());
    }
}

TEST_CASE("the ladder of a model's head shows the record's numbers, for a window that follows the query") {
    Screen screen;
    screen.open_sentence(12);
    screen.visit.perform(OpenLens{"ladder"});
    screen.visit.perform(SetLadderTokens{{std::nullopt, 4}});
    screen.visit.perform(Select{{1, 2, 6, {}, {}}});
    screen.settle();
    CHECK(screen.shows("weight/6/3"));
    CHECK(screen.shows("weight/3/6"));
    CHECK_FALSE(screen.shows("weight/7/3"));
    CHECK_FALSE(screen.shows("weight/6/2"));
    const Ladder& ladder = *subject_in(screen.visit).ladder();
    const Record& record = sentence_in(screen.visit).run()->record_at(1);
    for (const auto& row : ladder.rungs({3, 7}, {3, 7}))
        for (const Rung& rung : row) {
            if (!is_score_or_weight(rung.stage)) continue;
            for (Index r = 0; r < 4; ++r)
                for (Index c = 0; c < 4; ++c)
                    CHECK(rung.values.at(r, c) ==
                          static_cast<double>(record.cell(rung.stage, 2, 3 + r, 3 + c)));
        }
    screen.hover("weight/6/3");
    CHECK(screen.frame.explained_cell() == RunCell{Stage::weight, 6, 3});
    CHECK(ladder_window({}, 5, std::nullopt) == Range{0, 5});
    CHECK(ladder_window({Index{100}, 4}, 10, Index{2}) == Range{6, 10});
    CHECK(ladder_window({std::nullopt, 4}, 10, Index{1}) == Range{0, 4});
}

TEST_CASE("a head is copied to the worked example and edited there") {
    Screen screen;
    screen.open_sentence(5);
    screen.visit.perform(OpenLens{"ladder"});
    screen.visit.perform(Select{{1, 1, {}, {}, {}}});
    screen.settle();
    const Record record = sentence_in(screen.visit).run()->record_at(1);
    screen.click("take");
    REQUIRE(screen.visit.state().subject == worked_subject);
    const WorkedState& w = worked_of(screen.visit.state());
    CHECK(w.origin.from.find("layer 1, head 1 of tiny") == 0);
    for (Index i = 0; i < 5; ++i)
        for (Index j = 0; j < 5; ++j)
            CHECK(worked_in(screen.visit).run().value(w, {Stage::weight, i, j}) ==
                  Catch::Approx(record.cell(Stage::weight, 1, i, j)).margin(1e-6));
    screen.settle();
    screen.click("q/0/0");
    screen.type("2");
    screen.press(ImGuiKey_Enter);
    CHECK(worked_of(screen.visit.state()).q.at(0, 0) == 2);
    for (int step = 0; step < 3; ++step) screen.visit.undo();  // undoes the number, the cell, the head
    CHECK(screen.visit.state().subject == sentence_subject);
}

TEST_CASE("choosing a head in Overview changes the map, the flow and the inspector together") {
    Screen screen;
    screen.open_sentence();
    screen.settle();
    screen.click("head/1/2");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 2);
    screen.settle();
    screen.hover("map/4/1");
    CHECK(screen.frame.explained_cell() == RunCell{Stage::weight, 4, 1});
    const auto why = explained(screen.visit, RunCell{Stage::weight, 4, 1});
    REQUIRE(why);
    CHECK(why->provenance == "layer 1, head 2 · computed by tiny");
}

TEST_CASE("a contribution explains itself as a weight times the length of a value") {
    Screen screen;
    screen.open_sentence();
    const Record& record = sentence_in(screen.visit).run()->record_at(0);
    const auto why = explained(screen.visit, RunCell{Stage::contribution, 3, 1});
    REQUIRE(why);
    CHECK(why->f32 == static_cast<double>(record.cell(Stage::contribution, 0, 3, 1)));
    CHECK(why->f64 == Catch::Approx(why->f32).epsilon(1e-5));
    REQUIRE(why->steps.size() >= 2);
    CHECK(why->steps.back().name == "contribution");
    const auto projected = explained(screen.visit, RunCell{Stage::projected, 3, 1});
    REQUIRE(projected);
    CHECK(projected->f64 > 0);
    CHECK(projected->f64 != why->f64);
}

TEST_CASE("an ablated head can be switched on again, and its effect is described") {
    Screen screen;
    screen.open_sentence();
    screen.settle();
    const SentenceSubject& subject = sentence_in(screen.visit);
    const auto off = subject.offer_without({1, 1});
    REQUIRE(off);
    CHECK(off->label == "Switch this head off");
    screen.page.announced.clear();
    screen.visit.perform(off->command);
    screen.settle();
    REQUIRE_FALSE(screen.page.announced.empty());
    CHECK_THAT(screen.page.announced.back(), ContainsSubstring(" from ") && ContainsSubstring(" to "));
    const auto on = subject.offer_without({1, 1});
    REQUIRE(on);
    CHECK(on->label == "Switch it on again");
    CHECK(subject.offer_without({1, 0})->label == "Switch this head off");

    // Both runs are also compared by their predictions.
    screen.visit.perform(Compare{Comparison{.text = "", .before = true}});
    screen.settle();
    CHECK(screen.shows("compare/next/first"));
    CHECK(screen.shows("compare/next/second"));
    screen.visit.perform(Compare{});
    screen.settle();

    screen.visit.perform(on->command);
    screen.settle();
    CHECK(screen.page.announced.back() == "The run is as before the change.");
    CHECK(sentence_of(screen.visit.state()).changes.all.empty());
    CHECK(subject.offer_without({1, 1})->label == "Switch this head off");
    // A change switched off by its chip has no effect.
    screen.visit.perform(off->command);
    screen.visit.perform(SwitchChange{0});
    CHECK(subject.offer_without({1, 1})->label == "Switch this head off");
}

TEST_CASE("a note about a row or a number of a user's tensors leads there and marks it") {
    Screen screen;
    std::vector<float> values(2 * 3 * 4 * 4, 0.25f);
    const auto at = [&](Index layer, Index head, Index row, Index col) -> float& {
        return values[static_cast<std::size_t>(((layer * 3 + head) * 4 + row) * 4 + col)];
    };
    at(1, 2, 3, 0) = 0.1f;
    at(0, 1, 2, 1) = -0.25f;
    at(0, 1, 2, 2) = 0.75f;
    const Bytes file = write_npy({2, 3, 4, 4}, values);
    FileIntake& tensors = *screen.visit.intake(FileKind::tensors);
    std::ranges::copy(file, *tensors.buffer("weights.npy", file.size()));
    tensors.arrived();
    screen.settle();
    const auto follow = [&](const std::string& sentence) {
        const auto remarks = tensors_in(screen.visit).open()->remarks();
        for (std::size_t i = 0; i < remarks.size(); ++i)
            if (remarks[i].sentence.find(sentence) != std::string::npos) {
                const std::string landmark = "remark/" + std::to_string(i);
                reveal(screen, landmark);
                return screen.click(landmark);
            }
        FAIL(sentence);
    };
    follow("does not sum to 1");
    CHECK(screen.visit.state().selection == Selection{1, 2, 3, {}, {}});
    CHECK(screen.visit.state().pin == MapSum{MapTotal::row_total, 3});
    screen.settle();
    const auto sum = explained(screen.visit, *screen.visit.state().pin);
    REQUIRE(sum);
    CHECK(sum->f64 == Catch::Approx(0.85));
    follow("is below zero");
    CHECK(screen.visit.state().selection == Selection{0, 1, 2, 1, {}});
    CHECK(screen.visit.state().pin == RunCell{Stage::weight, 2, 1});
    screen.visit.undo();  // consecutive choices of heads are one step
    CHECK(screen.visit.state().selection == Selection{});
    CHECK_FALSE(screen.visit.state().pin);
}
