#include "frame/start.hpp"

#include <algorithm>
#include <vector>

#include "app/format.hpp"
#include "subjects/reading.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

std::optional<std::array<StartStep, 3>> start_steps(const Attention& attention, const Selection& s) {
    const auto record = attention.record(s.layer);
    if (!record || record->d_k() == 0) return std::nullopt;
    const auto reading = read_row(attention, s.layer, s.head, s.query);
    if (!reading || reading->looks.empty()) return std::nullopt;
    const std::vector<float> weights = record->weights(s.head, reading->query);
    const auto most = static_cast<Index>(std::ranges::max_element(weights) - weights.begin());
    const auto score = static_cast<double>(record->cell(Stage::raw, s.head, reading->query, most));
    const std::string asks = query_in_words(attention, reading->query),
                      answers = key_in_words(attention, most);
    const std::string share = percent(static_cast<double>(weights[static_cast<std::size_t>(most)]));
    return std::array<StartStep, 3>{{
        {"A word asks",
         asks + " wants to know which words matter to it. In this head its question is a list of " +
             std::to_string(record->d_k()) + " numbers, its query q."},
        {"Every word answers",
         "Each word holds up a list of its own, its key k. Multiplied number by number and added up, q and k "
         "make a score: " +
             answers + " scores " + fixed(score, 2) +
             ". Softmax turns the scores of all words into shares of one whole; what counts is how far a "
             "score is "
             "ahead of the others: " +
             answers + " gets " + share + "."},
        {"The answers are mixed",
         "Each word then hands over a third list, its value v, in proportion to its share. "
         "What the head gives to " +
             asks + " is that mix: " + share + " of it comes from " + answers +
             ".\n\nNow point at another word, or change one, and watch the shares move."},
    }};
}

std::optional<std::array<StartStep, 3>> start_steps(const Visit& visit, const Selection& selection) {
    Subject& subject = subject_in(visit);
    const Attention* attention = subject.learning() ? nullptr : subject.attention();
    return attention ? start_steps(*attention, selection) : std::nullopt;
}

}  // namespace attn::app
