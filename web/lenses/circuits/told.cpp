// Writes the sentence and the guide of lens Circuits.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

// ---- Names ------------------------------------------------------------------------------------------------

std::string CircuitsLens::head_name(Subject& subject, HeadIndex head) const {
    return subject.attention()->numbering().short_head(head);
}

std::string CircuitsLens::wire_name(Subject& subject, const Wire& wire) const {
    static constexpr std::array names{"Q-composition", "K-composition", "V-composition"};
    return std::string(names[static_cast<std::size_t>(wire.kind)]) + " of " + head_name(subject, wire.from) +
           " into " + head_name(subject, wire.to);
}

std::string CircuitsLens::end_name(Subject& subject, Circuit of, Index i) const {
    return of == Circuit::positions ? "position " + std::to_string(i) : token_name(subject, i);
}

// ---- The sentence -----------------------------------------------------------------------------------------

std::string CircuitsLens::spoken(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return refused_;
    switch (now().part) {
        case CircuitsPart::qk: return qk_spoken(subject);
        case CircuitsPart::ov: return ov_spoken(subject);
        case CircuitsPart::positions: return positions_spoken(subject);
        case CircuitsPart::wiring: return wiring_spoken(subject);
        case CircuitsPart::plane: break;
    }
    return plane_spoken(subject);
}

std::string CircuitsLens::qk_spoken(Subject& subject) {
    const std::string query = token_name(subject, this->query()), key = token_name(subject, this->key());
    HeadCircuit& shown = *circuit();
    const TokenDirections* found = shown.list(true, this->query(), distance());
    if (!found || !found->done())
        return "Searching the whole vocabulary for what this head matches with " + query + ".";
    const std::string far = uses_rope() ? ", " + many(now().distance, "token") + " back," : "";
    std::string text = "From its weights alone, " + query + far + " matches ";
    const auto highest = found->highest();
    const auto named = std::min<std::size_t>(highest.size(), 3);
    for (std::size_t i = 0; i < named; ++i)
        text += (i == 0 ? "" : i + 1 < named ? ", " : " and ") + token_name(subject, highest[i].id);
    const auto score = [&](Index id) {
        return fixed(static_cast<double>(shown.map(distance())->cell(this->query(), id)), 2);
    };
    text += " best, out of " + with_commas(vocabulary_size()) + " tokens.";
    const bool among =
        std::ranges::find(highest.first(named), this->key(), &TokenAlong::id) != highest.first(named).end();
    return text + (among ? ""
                         : "\n" + key + " scores " + score(this->key()) + ", the best one " +
                               score(highest.front().id) + ".");
}

std::string CircuitsLens::ov_spoken(Subject& subject) {
    HeadCircuit& shown = *circuit();
    const TokenDirections* found = shown.list(true, key(), distance());
    const std::string key_name = token_name(subject, key());
    if (!found || !found->done())
        return "Searching the whole vocabulary for what attending to " + key_name + " would raise.";
    const auto highest = found->highest();
    std::string text = "From its weights alone, seeing " + key_name + " makes this head raise ";
    const auto named = std::min<std::size_t>(highest.size(), 3);
    for (std::size_t i = 0; i < named; ++i)
        text += (i == 0 ? "" : i + 1 < named ? ", " : " and ") + token_name(subject, highest[i].id);
    text += " most.";
    if (!copying()) return text;
    const Copying& own = copying()->of(head_);
    if (std::isnan(own.score)) return text;
    const char* verdict = own.score > 0.5    ? ": on the whole it copies"
                          : own.score < -0.5 ? ": on the whole it lowers what it sees"
                                             : "";
    return text + "\nIts copying score is " + rounded(own.score, 2) + verdict + ".";
}

std::string CircuitsLens::positions_spoken(Subject& subject) {
    HeadCircuit* shown = circuit();
    if (!shown->done()) return "Computing what positions alone do to this head’s scores.";
    if (const auto* curve = by_distance()) {
        const auto best = std::ranges::max_element(*curve) - curve->begin();
        return "Positions rotate q and k here: the mean query scores the mean key highest " +
               many(best, "token") + " back.\nThe means are over the vocabulary; that score is " +
               fixed((*curve)[static_cast<std::size_t>(best)], 2) + ".";
    }
    const Map& map = *shown->map(0);
    const Index query = std::min<Index>(chosen_query(subject), map.queries() - 1);
    const Index seen = network().causal ? query + 1 : map.keys();
    Index best = 0;
    for (Index key = 1; key < seen; ++key)
        if (map.cell(query, key) > map.cell(query, best)) best = key;
    const std::string where = best == query ? "itself" : "position " + std::to_string(best);
    return "By positions alone, position " + std::to_string(query) + " looks most at " + where + " (" +
           fixed(static_cast<double>(map.cell(query, best)), 2) + ")" +
           (network().causal ? ", of those that it may see." : ".");
}

std::string CircuitsLens::wiring_spoken(Subject& subject) {
    if (!composition_->done())
        return "Computing how far each head reads what earlier heads write, " +
               percent(composition_->progress()) + ".";
    if (wires_.drawn.empty()) return "No two heads compose that strongly; lower the threshold.";
    const DrawnWire& best = wires_.drawn.front();
    return "The strongest wire is the " + wire_name(subject, best.wire) + ": " + fixed(best.value, 3) +
           ".\nRandom matrices would have " +
           fixed(expected_composition(trace_->model()->config().d_model), 3) + ".";
}

std::string CircuitsLens::corpus_word(Subject& subject, const CorpusEnd& end) const {
    const CorpusPlane::Point& at = corpus_plane_->points()[static_cast<std::size_t>(end.point)];
    const CorpusRun* texts = subject.corpus();
    const auto& pieces = texts->texts()[static_cast<std::size_t>(at.text)].pieces;
    return in_quotes(label_at(pieces, at.token)) + " " + std::to_string(at.text) + ":" +
           std::to_string(at.token);
}

std::string CircuitsLens::corpus_name(Subject& subject, const CorpusEnd& end) const {
    const CorpusPlane::Point& at = corpus_plane_->points()[static_cast<std::size_t>(end.point)];
    const std::string& text = subject.corpus()->texts()[static_cast<std::size_t>(at.text)].text;
    return std::string(end.key ? "key" : "query") + " of " + corpus_word(subject, end) + ", in " +
           curly_quoted(text);
}

std::string CircuitsLens::corpus_spoken(Subject& subject) {
    const CorpusRun* texts = subject.corpus();
    if (!texts->done())
        return "The model reads " + many(std::ssize(texts->texts()), "text") + ", " +
               percent(static_cast<double>(texts->progress())) + ".";
    if (texts->texts().empty()) return "None of the texts has a token of this model.";
    if (!corpus_plane()) return "Queries and keys of the texts are being placed.";
    const CorpusEnd end = corpus_end();
    const Index best = corpus_best(end).front(), near = corpus_nearest(end).front();
    const CorpusEnd other{!end.key, best};
    return "Of " + many(std::ssize(corpus_plane_->points()), "token") + " of " +
           many(std::ssize(texts->texts()), "text") + ", the " + corpus_name(subject, end) + " scores the " +
           (end.key ? "query" : "key") + " of " + corpus_word(subject, other) + " highest (" +
           fixed(corpus_score(end, best), 2) + ")" +
           (near == best ? ", which is also nearest in the plane."
                         : "; nearest in the plane is that of " + corpus_word(subject, {!end.key, near}) +
                               " (" + fixed(corpus_score(end, near), 2) + ").");
}

std::string CircuitsLens::plane_spoken(Subject& subject) {
    if (now().corpus) return corpus_spoken(subject);
    if (!plane_) return "Queries and keys are placed as soon as the attention is computed.";
    const QueryKeyPlane& plane = *this->plane();
    const Attention& attention = *subject.attention();
    const Index query = std::min(chosen_query(subject), plane_->tokens.end - 1);
    const std::vector<float> weights = attention.record(head_.layer)->weights(head_.head, query);
    const auto most = std::ranges::max_element(weights);
    const Index key = most - weights.begin();
    return "In this plane, which holds " + percent(plane.share[0] + plane.share[1]) +
           " of how far queries and keys spread, the query of " + query_in_words(attention, query) +
           " looks most at the key of " + key_in_words(attention, key) + " (" +
           percent(static_cast<double>(*most)) + ").";
}

Guide CircuitsLens::guide(Subject&) const {
    return {
        "What a head does on any text",
        "A head is two products of weights (Elhage et al. 2021). The QK circuit scores every key token for "
        "every "
        "query token; the OV circuit says which logits attending to a token raises. Both are maps of the "
        "whole "
        "vocabulary, computed where you look.\n\n"
        "Tokens stand here alone, as they leave the embedding. In later layers heads read what earlier "
        "layers "
        "made of them, so the circuits of the first layer say most; the wiring shows who reads from "
        "whom.\n\n"
        "Norms are taken with each token’s own statistics where a head reads, and by their gain alone where "
        "it writes: logits are known up to a positive factor."};
}

}  // namespace attn::app
