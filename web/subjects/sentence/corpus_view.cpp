// Draws the controls of the sample of texts, and of the two sets of a contrast.
#include <array>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/sentence/sentence.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

void SentenceSubject::draw_sample() {
    Corpus next = now().corpus;
    if (next.own.empty() && ui::next_control(ui::need::stepper))
        if (const auto seed = ui::stepper("corpus/seed", "seed", static_cast<Index>(next.seed), 0,
                                          static_cast<Index>(corpus_seed_limit) - 1))
            next.seed = static_cast<std::uint64_t>(*seed);
    ui::caption("Texts of your own instead, one a line:");
    const ui::Typed typed =
        ui::text_area("corpus/own", "Texts of your own, one a line", next.own, longest_corpus);
    if (typed.too_long)
        ui::fault("corpus/fault", "These are more than " + with_commas(static_cast<Index>(longest_corpus)) +
                                      " characters; paste fewer.");
    if (next != now().corpus) visit().perform(SetCorpus{next}, ui::gesture());
}

void SentenceSubject::draw_corpus() {
    CorpusRun* texts = corpus();
    if (!texts) return;
    draw_sample();
    if (!texts->done()) {
        ui::next_control(ui::need::button);
        if (ui::button("corpus/stop", "Stop")) {
            texts->stop();
            begin_changed();
        }
        ui::tooltip("Goes on with the texts that were run by now");
    }
    const Corpus& from = now().corpus;
    const auto count = std::ssize(texts->texts());
    std::string told =
        !texts->done() ? "The model reads " + many(count, "text") + ", " +
                             percent(static_cast<double>(texts->progress())) + "."
        : count == 0
            ? "None of these texts has a token of this model; type others."
            : many(count, "text") + " of " + with_commas(texts->tokens()) + " tokens, " +
                  (from.own.empty()
                       ? "written by the program with seed " + std::to_string(from.seed) +
                             ", as the texts that the model that comes with the page was trained on; "
                             "type your own to take those, one a line."
                       : "your own.");
    if (!from.own.empty() && !fits_into_a_link(from.own)) told += " They are too long for the link.";
    ui::caption(told.c_str());
    ui::landmark_item("corpus/told");
}

void SentenceSubject::draw_contrast() {
    const auto sets = contrast();
    Contrast next = now().contrast;
    const auto draw = [&](std::size_t side, float width) {
        static constexpr std::array<const char*, 2> names{"contrast/positive", "contrast/negative"},
            labels{"Positive texts, one a line", "Negative texts, one a line"};
        std::string& own = side == 0 ? next.positive : next.negative;
        ui::caption(labels[side]);
        const ui::Typed typed = ui::text_area(names[side], labels[side], own, longest_corpus, width);
        const CorpusRun& texts = *sets[side];
        const auto count = std::ssize(texts.texts());
        std::string told =
            own.empty()     ? "Type or paste some: the direction is the mean of the positive tokens minus "
                              "that of the negative ones."
            : !texts.done() ? "The model reads them, " + percent(static_cast<double>(texts.progress())) + "."
            : count == 0    ? "None of them has a token of this model; type others."
                            : many(count, "text") + " of " + many(texts.tokens(), "token") + ".";
        if (typed.too_long)
            told = "These are more than " + with_commas(static_cast<Index>(longest_corpus)) +
                   " characters; paste fewer.";
        ui::caption(told.c_str());
        ui::landmark_item((std::string(names[side]) + "/told").c_str());
    };
    if (sets[0])
        ui::unequal_columns(
            0.5f, ui::column_gap, "contrast/left", [&](float width) { draw(0, width); }, "contrast/right",
            [&](float width) { draw(1, width); });
    if (next != now().contrast) visit().perform(SetContrast{next}, ui::gesture());
}

}  // namespace attn::app
