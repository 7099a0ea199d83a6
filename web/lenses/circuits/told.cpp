// Writes the sentence and the guide of lens Circuits.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::circuits {

// ---- Names ------------------------------------------------------------------------------------------------

std::string token_name(const Model& model, Subject& subject, Index id) {
    return model.vocabulary.name(subject, static_cast<std::int32_t>(id));
}

std::string head_name(Subject& subject, HeadIndex head) {
    return subject.attention()->numbering().short_head(head);
}

std::string wire_name(Subject& subject, const Wire& wire) {
    static constexpr std::array names{"Q-composition", "K-composition", "V-composition"};
    return std::string(names[static_cast<std::size_t>(wire.kind)]) + " of " + head_name(subject, wire.from) +
           " into " + head_name(subject, wire.to);
}

std::string corpus_word(const Model& model, Subject& subject, const CorpusPlane::End& end) {
    const auto [text, token] = model.corpus->at(end);
    const auto& pieces = corpus_of(subject)->texts()[static_cast<std::size_t>(text)].pieces;
    return in_quotes(label_at(pieces, token)) + " " + std::to_string(text) + ":" + std::to_string(token);
}

std::string corpus_name(const Model& model, Subject& subject, const CorpusPlane::End& end) {
    const auto text = static_cast<std::size_t>(model.corpus->at(end).text);
    return std::string(end.key ? "key" : "query") + " of " + corpus_word(model, subject, end) + ", in " +
           curly_quoted(corpus_of(subject)->texts()[text].text);
}

// ---- The sentence -----------------------------------------------------------------------------------------

namespace {

std::span<const TokenAlong> best_three(const TokenDirections& found) {
    return found.highest().first(std::min<std::size_t>(found.highest().size(), 3));
}
// "“a”, “b” and “c”"
std::string names_of(const Model& model, Subject& subject, std::span<const TokenAlong> best) {
    std::string text;
    for (std::size_t i = 0; i < best.size(); ++i)
        text += (i == 0 ? "" : i + 1 < best.size() ? ", " : " and ") + token_name(model, subject, best[i].id);
    return text;
}

std::string qk_told(Model& model, Subject& subject) {
    const auto [query, key, output] = model.tokens;
    const std::string query_name = token_name(model, subject, query);
    HeadCircuit& shown = *model.circuit();
    const TokenDirections* found = shown.list(true, query, model.distance());
    if (!found || !found->done())
        return "Searching the whole vocabulary for what this head matches with " + query_name + ".";
    const std::string far = model.uses_rope() ? ", " + many(model.state.distance, "token") + " back," : "";
    const auto best = best_three(*found);
    std::string text = "From its weights alone, " + query_name + far + " matches " +
                       names_of(model, subject, best) + " best, out of " +
                       with_commas(model.vocabulary_size()) + " tokens.";
    if (std::ranges::find(best, key, &TokenAlong::id) != best.end()) return text;
    const auto score = [&, row = query](Index id) {
        return fixed(static_cast<double>(shown.map(model.distance())->cell(row, id)), 2);
    };
    return text + "\n" + token_name(model, subject, key) + " scores " + score(key) + ", the best one " +
           score(best.front().id) + ".";
}

std::string ov_told(Model& model, Subject& subject) {
    const TokenDirections* found = model.circuit()->list(true, model.tokens.key, model.distance());
    const std::string key_name = token_name(model, subject, model.tokens.key);
    if (!found || !found->done())
        return "Searching the whole vocabulary for what attending to " + key_name + " would raise.";
    std::string text = "From its weights alone, seeing " + key_name + " makes this head raise " +
                       names_of(model, subject, best_three(*found)) + " most.";
    const double score = model.copying() ? model.copying()->of(model.head).score : NAN;
    if (std::isnan(score)) return text;
    const char* verdict = score > 0.5    ? ": on the whole it copies"
                          : score < -0.5 ? ": on the whole it lowers what it sees"
                                         : "";
    return text + "\nIts copying score is " + rounded(score, 2) + verdict + ".";
}

std::string positions_told(Model& model, Subject& subject) {
    HeadCircuit& shown = *model.circuit();
    if (!shown.done()) return "Computing what positions alone do to this head’s scores.";
    if (model.uses_rope()) {
        const std::vector<double>& curve = *shown.by_distance();
        const auto best = std::ranges::max_element(curve);
        return "Positions rotate q and k here: the mean query scores the mean key highest " +
               many(best - curve.begin(), "token") +
               " back.\nThe means are over the vocabulary; that score is " + fixed(*best, 2) + ".";
    }
    const Map& map = *shown.map(0);
    const Index query = std::min<Index>(chosen_query(subject), map.queries() - 1);
    const bool causal = model.network().causal;
    Index best = 0;
    for (Index key = 1; key < (causal ? query + 1 : map.keys()); ++key)
        if (map.cell(query, key) > map.cell(query, best)) best = key;
    const std::string where = best == query ? "itself" : "position " + std::to_string(best);
    return "By positions alone, position " + std::to_string(query) + " looks most at " + where + " (" +
           fixed(static_cast<double>(map.cell(query, best)), 2) + ")" +
           (causal ? ", of those that it may see." : ".");
}

std::string wiring_told(const Model& model, Subject& subject) {
    if (!model.composition->done())
        return "Computing how far each head reads what earlier heads write, " +
               percent(model.composition->progress()) + ".";
    const Wires& wires = *model.wires.kept();
    if (wires.listed.empty()) return "No two heads compose that strongly; lower the threshold.";
    const Wires::One& best = wires.listed.front();
    return "The strongest wire is the " + wire_name(subject, best.wire) + ": " + fixed(best.value, 3) +
           ".\nRandom matrices would have " +
           fixed(expected_composition(model.trace->model()->config().d_model), 3) + ".";
}

std::string corpus_told(const Model& model, Subject& subject) {
    const CorpusRun* texts = corpus_of(subject);
    if (!texts->done())
        return "The model reads " + many(std::ssize(texts->texts()), "text") + ", " +
               percent(static_cast<double>(texts->progress())) + ".";
    if (texts->texts().empty()) return "None of the texts has a token of this model.";
    const CorpusPlane* shown = model.corpus_plane();
    if (!shown) return "Queries and keys of the texts are being placed.";
    const CorpusPlane::End end = model.corpus_end;
    const Index best = shown->best(end).front(), near = shown->plane().nearest(end).front();
    return "Of " + many(std::ssize(shown->points()), "token") + " of " +
           many(std::ssize(texts->texts()), "text") + ", the " + corpus_name(model, subject, end) +
           " scores the " + (end.key ? "query" : "key") + " of " +
           corpus_word(model, subject, {!end.key, best}) + " highest (" + fixed(shown->score(end, best), 2) +
           ")" +
           (near == best
                ? ", which is also nearest in the plane."
                : "; nearest in the plane is that of " + corpus_word(model, subject, {!end.key, near}) +
                      " (" + fixed(shown->score(end, near), 2) + ").");
}

std::string plane_told(const Model& model, Subject& subject) {
    if (!model.plane()) return "Queries and keys are placed as soon as the attention is computed.";
    const QueryKeyPlane& plane = *model.plane();
    const Attention& attention = *subject.attention();
    const Index query = std::min(chosen_query(subject), model.placed->tokens.end - 1);
    const std::vector<float> weights = attention.record(model.head.layer)->weights(model.head.head, query);
    const auto most = std::ranges::max_element(weights);
    return "In this plane, which holds " + percent(plane.share[0] + plane.share[1]) +
           " of how far queries and keys spread, the query of " + query_in_words(attention, query) +
           " looks most at the key of " + key_in_words(attention, most - weights.begin()) + " (" +
           percent(static_cast<double>(*most)) + ").";
}

}  // namespace

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    switch (state.part) {
        case Part::qk: return qk_told(*this, subject);
        case Part::ov: return ov_told(*this, subject);
        case Part::positions: return positions_told(*this, subject);
        case Part::wiring: return wiring_told(*this, subject);
        case Part::plane: break;
    }
    return state.corpus ? corpus_told(*this, subject) : plane_told(*this, subject);
}

Guide Model::guide(Subject&) {
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

}  // namespace attn::app::circuits
