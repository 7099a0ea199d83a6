// Draws the controls of the sample of texts.
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/sentence/sentence.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

void SentenceSubject::draw_corpus() {
    CorpusRun* texts = corpus();
    if (!texts) return;
    Corpus next = now().corpus;
    if (next.own.empty() && ui::next_control(ui::need::stepper))
        if (const auto seed = ui::stepper("corpus/seed", "seed", static_cast<Index>(next.seed), 0,
                                          static_cast<Index>(corpus_seed_limit) - 1))
            next.seed = static_cast<std::uint64_t>(*seed);
    if (!texts->done()) {
        ui::next_control(ui::need::button);
        if (ui::button("corpus/stop", "Stop")) {
            texts->stop();
            begin_changed();
        }
        ui::tooltip("Goes on with the texts that were run by now");
    }
    const ui::Typed typed =
        ui::text_area("corpus/own", "Texts of your own, one a line", next.own, longest_corpus);
    if (typed.too_long)
        ui::fault("corpus/fault", "These are more than " + with_commas(static_cast<Index>(longest_corpus)) +
                                      " characters; paste fewer.");
    const auto count = std::ssize(texts->texts());
    std::string told =
        !texts->done() ? "The model reads " + many(count, "text") + ", " +
                             percent(static_cast<double>(texts->progress())) + "."
        : count == 0
            ? "None of these texts has a token of this model; type others."
            : many(count, "text") + " of " + with_commas(texts->tokens()) + " tokens, " +
                  (next.own.empty()
                       ? "written by the program with seed " + std::to_string(next.seed) +
                             ", as the texts that the model that comes with the page was trained on; "
                             "type your own to take those, one a line."
                       : "your own.");
    if (!next.own.empty() && !fits_into_a_link(next.own)) told += " They are too long for the link.";
    ui::caption(told.c_str());
    ui::landmark_item("corpus/told");
    if (next != now().corpus) visit().perform(SetCorpus{next}, ui::gesture());
}

}  // namespace attn::app
