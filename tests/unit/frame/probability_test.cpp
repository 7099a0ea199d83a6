// Checks that the probability of a next token is the same number wherever the page shows it, and names its
// setting.
#include <catch_amalgamated.hpp>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/heads/heads.hpp"
#include "lenses/masks/masks.hpp"
#include "support/small_families.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// The texts on the screen for screen readers.
std::vector<std::string> read_aloud() {
    std::vector<std::string> all;
    for (const ui::Node& node : ui::semantics()) {
        all.push_back(node.name + " " + node.value + " " + node.description);
        if (!node.grid) continue;
        for (const auto* names : {&node.grid->row_names, &node.grid->column_names})
            all.insert(all.end(), names->begin(), names->end());
    }
    return all;
}

}  // namespace

TEST_CASE("a next token's probability names its setting in every lens") {
    Screen screen({1440, 2600});
    screen.page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
    screen.open_sentence();
    screen.visit.perform(SetSampling{{.temperature = 0.5f, .top_k = 2}});
    screen.visit.perform(ChangeRun{{.at = {.site = Site::head_output, .attention = 0, .head = 0}}});
    screen.settle();
    const Candidate first = sentence_in(screen.visit).next_tokens().candidates.front();
    const std::string shown = fixed(first.probability, 4);
    int lists = 0, sentences = 0;
    const auto check = [&](const std::string& what) {
        INFO(what);
        screen.settle();
        for (const std::string& text : read_aloud()) {
            // The steps of an explanation come below its title.
            if (text.find("robabilit") == std::string::npos || text.starts_with("probability ") ||
                text.find("no token has") != std::string::npos)
                continue;
            ++sentences;
            // Step and Play say how they change it.
            if (text.find("Step and Play") == std::string::npos)
                CHECK_THAT(text, ContainsSubstring(at_temperature));
        }
        for (const char* list : {"next/0", "layers/said/0", "masks/before/0", "cache/choices/0"}) {
            if (!screen.shows(list)) continue;
            ++lists;
            INFO(list);
            screen.hover(list);
            const auto cell = screen.frame.explained_cell();
            REQUIRE(cell);
            Subject& subject = subject_in(screen.visit);
            const auto why = lens_in(screen.visit).explain(subject, {subject.chosen_head(), *cell});
            REQUIRE(why);
            CHECK_THAT(why->title, ContainsSubstring("robability"));
            CHECK_THAT(why->title, ContainsSubstring(at_temperature));
            if (*cell == RunCell{.stage = Stage::probability, .col = first.id})
                CHECK(fixed(why->f64, 4) == shown);
        }
        if (lens_in(screen.visit).missing(subject_in(screen.visit))) return;
        for (const Table& table : lens_in(screen.visit).tables(subject_in(screen.visit))) {
            std::vector<std::string> names = table.columns;
            names.push_back(table.title);
            for (const std::string& name : names)
                if (name.find("robability") != std::string::npos)
                    CHECK_THAT(name, ContainsSubstring(at_temperature));
        }
    };
    for (const LensEntry& lens : lens_list()) {
        screen.visit.perform(OpenLens{lens.key});
        check(std::string(lens.key));
    }
    screen.visit.perform(OpenLens{"heads"});
    for (const heads::Part part : {heads::Part::sharing, heads::Part::latent}) {
        heads::State state;
        state.part = part;
        screen.visit.perform(Set<heads::State>{state});
        check("heads, " + std::to_string(static_cast<int>(part)));
    }
    screen.visit.perform(OpenLens{"cache"});
    for (const cache::Part part : {cache::Part::eviction, cache::Part::bits}) {
        screen.visit.perform(Set<cache::State>{{.part = part, .prompt = 3}});
        check("cache, " + std::to_string(static_cast<int>(part)));
    }
    screen.visit.perform(OpenLens{"masks"});
    screen.visit.perform(Set<masks::State>{{.runs = true}});
    check("masks, with the model");
    screen.visit.perform(OpenLens{"layers"});
    screen.settle();
    CHECK_THAT(lens_in(screen.visit).spoken(subject_in(screen.visit)),
               ContainsSubstring(chance(first.probability)));
    CHECK(lists >= 5);
    CHECK(sentences >= 2);
}

TEST_CASE("the settings beside Play say how they change the model's probabilities") {
    Screen screen;
    screen.page.piece = [](std::int32_t id) { return "w" + std::to_string(id); };
    screen.open_sentence();
    const auto told = [&](const SamplingState& sampling) {
        screen.visit.perform(SetSampling{sampling});
        screen.settle();
        std::string found;
        for (const std::string& text : read_aloud())
            if (text.find("Step and Play") != std::string::npos) found = text;
        return found;
    };
    const auto& next = sentence_in(screen.visit).next_tokens();
    const std::string own = percent(next.candidates.front().probability),
                      first = "“" + next.pieces.front() + "”";
    CHECK_THAT(told({.temperature = 0}), ContainsSubstring("take the likeliest token, " + first));
    CHECK_THAT(told({.temperature = 1, .top_k = 0}), ContainsSubstring("draw with these probabilities"));
    const std::string sharp = told({.temperature = 0.5f, .top_k = 3});
    CHECK_THAT(sharp, ContainsSubstring("from 3 of "));
    CHECK_THAT(sharp, ContainsSubstring("at temperature 0.5: " + first + " with " +
                                        percent(next.drawn.front()) + " instead of " + own));
    CHECK(next.drawn.front() > next.candidates.front().probability);
    CHECK(percent(next.candidates.front().probability) == own);
}
