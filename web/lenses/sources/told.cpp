// Names the sources of lens Sources, and writes its sentence and its guide.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/sources/sources.hpp"
#include "subjects/reading.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::sources {

namespace {

constexpr double worth_saying = 0.1;  // a weight from which on a query is said to attend to a key

// Names the strongest term of this sign, and what it adds.
std::string strongest_term(const Model& model, Subject& subject, bool raises) {
    const auto& listed = model.terms->listed();
    auto found = std::ranges::find_if(
        listed, [&](const ScoreTerms::Term& each) { return (each.value > 0) == raises; });
    if (found == listed.end()) found = listed.begin();
    return number_name(model, subject, ScoreSide::query, found->query) + " × " +
           number_name(model, subject, ScoreSide::key, found->key) + ": " + signed_number(found->value) +
           " of " + signed_number(model.terms->total()) + ".\n";
}

std::string score_headline(const Model& model, Subject& subject) {
    const ScorePlace& at = model.of.place;
    const double total = model.terms->total(), weight = at.weight();
    const bool attends = !model.contrasts() && weight >= worth_saying;
    const std::string query = token_name(model, subject, ScoreSide::query),
                      key = token_name(model, subject, ScoreSide::key),
                      term = strongest_term(model, subject, attends || total > 0);
    if (!model.contrasts())
        return query + (attends ? " attends to " : " with ") + key + ", led by " + term +
               "The scaled score of " + fixed(total, 2) + " gives " + key + " a weight of " +
               percent(weight) + " among the keys of " + query +
               (attends && total < 0 ? ", whose other scores are lower." : ".");
    const std::string against =
        "The weight is " + percent(weight) + ", against " + percent(model.of.against.weight());
    if (model.of.state.part == Part::key) {
        const std::string other = key_name(subject, at.attention, model.of.against.key);
        return query + " prefers " + (total > 0 ? key : other) + " to " + (total > 0 ? other : key) +
               ", led by " + term + against + " of " + other + ".";
    }
    const bool of_text = model.of.state.part == Part::text;
    return (of_text ? "Here " : "After the change, ") + query + " scores " + key +
           (total > 0 ? " higher" : " lower") + ", by " + term + against +
           (of_text ? " in the other text." : " before the change.");
}

// Says which source decides most, or how far that is known; `of` are the keys and `in` the scores.
std::string deciding_headline(Subject& subject, const auto& job, const auto& shares, const std::string& of,
                              const std::string& in) {
    if (!job.done())
        return "Taking the keys " + of + " apart, " + percent(static_cast<double>(job.progress())) + ".";
    if (shares.empty()) return "The scaled scores " + in + " do not vary, so no source decides between them.";
    return capitalised(source_name(subject, shares.front().source)) + " decides most between the keys " + of +
           ": " + percent(shares.front().share) +
           ".\nThat is its share of the variance of the scaled scores " + in + ".";
}

}  // namespace

std::string source_name(Subject& subject, const Source& source) {
    const std::string head = subject.attention()->numbering().short_head({source.number, source.head});
    switch (source.part) {
        case SourcePart::token_embedding: return "embedding";
        case SourcePart::position_embedding: return "position";
        case SourcePart::segment_embedding: return "segment";
        case SourcePart::head: return "head " + head;
        case SourcePart::mlp: return "MLP " + head.substr(0, head.find('.'));
        case SourcePart::change: return "changes";
        default: return "biases";
    }
}

std::string source_at(Subject& subject, const Source& source, const std::string& word) {
    return source_name(subject, source) + (source.part < SourcePart::embedding_norm ? " of " : " at ") + word;
}

std::string number_name(const Model& model, Subject& subject, ScoreSide side, Index which) {
    const std::string word = token_name(model, subject, side);
    const Index all = model.terms->all(side);
    return which < all ? source_at(subject, model.terms->sources(side)[static_cast<std::size_t>(which)], word)
           : which == all ? "all sources of " + word
                          : "other sources of " + word;
}

std::string token_name(const Model& model, Subject& subject, ScoreSide side) {
    return side == ScoreSide::query ? query_in_words(*subject.attention(), model.of.place.query)
                                    : key_in_words(*subject.attention(), model.of.place.key);
}

std::string key_name(Subject& subject, Index attention, Index token) {
    return key_in_words(*subject.attention_of(attention), token);
}

Index reading_token(const Model& model) {
    return model.path.size() > 1 ? *model.path[model.path.size() - 2].token
                                 : model.terms->token(model.of.state.side);
}

std::string part_name(const Model& model, Subject& subject, const OpenedTerm::Part& part) {
    const OpenedHead& reader = model.path.back();
    if (reader.token) return source_at(subject, part.source, key_name(subject, reader.number, *reader.token));
    if (part.source.token >= 0) return key_name(subject, reader.number, part.source.token);
    if (!part.is_of_other_run()) return source_name(subject, part.source);
    const auto ids = model.of.against.trace->attention(reader.number).keys.ids();
    const auto names = subject.token_texts(ids.subspan(static_cast<std::size_t>(part.other_token), 1));
    return (names.empty() ? std::to_string(part.other_token)
                          : curly_quoted(Vocabulary::bare(names.front()))) +
           ", in the other text only";
}

std::string Model::headline(Subject& subject) {
    if (!refused.empty() || !lacking.empty()) return refused.empty() ? lacking : refused;
    if (of.state.part == Part::row)
        return deciding_headline(subject, *row, row->deciding(),
                                 "of " + token_name(*this, subject, ScoreSide::query),
                                 "of " + many(std::ssize(row->keys()), "key"));
    if (of.state.part == Part::texts)
        return deciding_headline(subject, *texts, texts->means(), "of this head",
                                 "in " + many(std::ssize(texts->counted()), "text") + ", in the mean");
    return is_ready() ? score_headline(*this, subject) : "Taking the scaled score apart into its sources.";
}

Guide Model::guide(Subject&) {
    return {
        "A score has sources",
        "A scaled score is q · k times a scale, and both are linear in the residual stream while the norms "
        "on the way are held at "
        "what they had. Each stream is a sum: the embedding, every earlier head with its value bias, every "
        "earlier MLP with its own, and biases: those of attention outputs, of the norm before this layer and "
        "of q or k. "
        "So the score is a sum over pairs of sources, and adds up to its last digits (Elhage et al. "
        "2021).\n\n"
        "A head opens into the tokens that it read from, with its pattern held, and a token into its own "
        "sources, to any depth. MLPs are not linear and do not open. A source taken out with the norms held "
        "changes the score by exactly its term; with the norms live, it shows how much holding them "
        "matters."};
}

}  // namespace attn::app::sources
