// Explains the probability of a next token, or of a token in place of another.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "subjects/reading.hpp"
#include "subjects/sentence/sentence.hpp"

namespace attn::app {

// The column of a probability is its token's id.
std::optional<Explained> SentenceSubject::explain_next(const RunCell& cell) {
    const auto logits = run()->logits.values();
    const Index token = run()->predicted();
    if (kept_.version != run()->version() || kept_.token != token)
        kept_ = {run()->version(), token,
                 next_token_distribution(logits, {.temperature = 1}, std::ssize(logits))};
    const std::vector<Candidate>& all = kept_.tokens;
    const auto found = std::ranges::find(all, static_cast<std::int32_t>(cell.col), &Candidate::id);
    if (found == all.end()) return std::nullopt;
    const auto logit = static_cast<double>(found->logit), best = static_cast<double>(all.front().logit);
    const auto likelihood = [&](double of) { return std::exp(of - best); };
    Explained out;
    double sum = 0;
    for (const Candidate& each : all) sum += likelihood(static_cast<double>(each.logit));
    const auto shown = std::ranges::find(next_.candidates, found->id, &Candidate::id);
    out.title = "Probability of " +
                (shown == next_.candidates.end()
                     ? "token " + std::to_string(found->id)
                     : in_quotes(next_.pieces[static_cast<std::size_t>(shown - next_.candidates.begin())])) +
                " " + at_temperature;
    out.provenance = (continues_text() ? "the next token" : prediction_in_words(*run())) + " · computed by " +
                     shown_name(open_.name);
    out.f64 = likelihood(logit) / sum;
    out.f32 = static_cast<double>(static_cast<float>(found->probability));
    out.formula = "exp(logit − best) / Σ";
    const auto add_logit = [&](const char* name, const Candidate& of) {
        out.steps.push_back(
            {name, "id " + std::to_string(of.id), four(static_cast<double>(of.logit)), false,
             CellPlace{{std::max(state().selection.layer, run()->alike().begin), state().selection.head},
                       RunCell{.stage = Stage::logit, .row = token, .col = of.id}}});
    };
    add_logit("logit", *found);
    add_logit("best logit", all.front());
    out.steps.push_back({"exp(…)", "exp(" + four(logit - best) + ")", four(likelihood(logit)), false});
    out.steps.push_back({"Σ", "of " + with_commas(std::ssize(all)) + " tokens", four(sum), false});
    out.steps.push_back(
        {"probability", four(likelihood(logit)) + " / " + four(sum), fixed(out.f64, 6), true});
    const Expression exponential = out.line("exponential", exp(out.line("logit", logit) - best));
    out.line("probability", exponential / sum);
    add_double(out, *run(), [&](const DoubleRun& whole) { return whole.probability(token, cell.col); });
    if (shown != next_.candidates.end() && continues_text())
        out.note = "Step and Play draw it with probability " +
                   four(next_.drawn[static_cast<std::size_t>(shown - next_.candidates.begin())]) +
                   ", as the settings beside Play say.";
    return out;
}

}  // namespace attn::app
