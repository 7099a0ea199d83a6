// Explains the numbers of lens Sources.
#include <algorithm>
#include <cmath>

#include "analysis/linalg/vectors.hpp"
#include "app/format.hpp"
#include "lenses/sources/sources.hpp"
#include "subjects/explain.hpp"

namespace attn::app::sources {

namespace {

std::string provenance(const Model& model, Subject& subject, bool holds_norms = true) {
    const HeadIndex head{model.of.place.attention, model.of.place.head};
    return head_text(head, subject.attention()->numbering()) +
           (holds_norms ? " · norms held at this text’s values" : " · computed from its scaled scores");
}

// Adds scale · Σ_a q[a] k[a], by the components of the head.
Expression add_products(Explained& out, double scale, std::span<const double> q, std::span<const double> k) {
    out.operands_title = "Components of the head: part of q · part of k";
    for (std::size_t a = 0; a < q.size(); ++a) out.term(std::to_string(a), q[a], k[a]);
    const Expression product = out.step("q part · k part", out.dot("q_part", "k_part"));
    return out.step("× scale", product * scale);
}

// Subtracts the same product of the other place.
void add_difference(Explained& out, const Expression& here, double scale,
                    const std::array<std::vector<double>, 2>& other) {
    out.title += ", less the other’s";
    out.formula = "scale · (Σ_a q_s[a] k_t[a] − Σ_a q′_s[a] k′_t[a])";
    const Column q{"other_q_part", other[0]}, k{"other_k_part", other[1]};
    const Expression there = out.step("the other’s", dot(q, k) * scale);
    out.step("difference", here - there);
}

std::optional<Explained> explain_term(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.is_ready()) return std::nullopt;
    const ScoreTerms& terms = *model.terms;
    const auto [s, t, unused] = cell.at;
    if (s > terms.others(ScoreSide::query) || t > terms.others(ScoreSide::key)) return std::nullopt;
    const std::string both = number_name(model, subject, ScoreSide::query, s) + " × " +
                             number_name(model, subject, ScoreSide::key, t);
    Explained out{
        .title = both, .provenance = provenance(model, subject), .formula = "scale · Σ_a q_s[a] k_t[a]"};
    const Expression here = add_products(out, terms.scale(), terms.written(ScoreSide::query, s),
                                         terms.written(ScoreSide::key, t));
    if (model.contrasts()) {
        add_difference(out, here, terms.scale(),
                       {terms.written(ScoreSide::query, s, true), terms.written(ScoreSide::key, t, true)});
    } else {
        const ScorePlace& at = model.of.place;
        out.beside("scaled score of the run", at.score(), "",
                   Places{{at.attention, at.head}}(Stage::scaled, at.query, at.key));
        if (s == terms.all(ScoreSide::query) && t == terms.all(ScoreSide::key))
            out.note = "The sum over all pairs of sources differs from the run’s by " +
                       fixed(std::abs(out.f64 - at.score()), 1) + ", the roundings of f32.";
    }
    return out;
}

std::optional<Explained> explain_opened(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.is_ready() || !model.opened || cell.at[0] >= std::ssize(model.opened->parts()))
        return std::nullopt;
    const OpenedTerm::Part& opened = model.opened->parts()[static_cast<std::size_t>(cell.at[0])];
    const Source& part = opened.source;
    const OpenedHead& head = model.path.back();
    const bool of_query = model.of.state.side == ScoreSide::query;
    const std::string reader = source_name(subject, head.source());
    Explained out{.title = (head.token ? reader + ": " : "What " + reader + " read from ") +
                           part_name(model, subject, opened),
                  .provenance = provenance(model, subject) + ", patterns of earlier heads, too",
                  .formula = of_query ? "scale · Σ_a part[a] k[a]" : "scale · Σ_a q[a] part[a]"};
    const auto [q, k] = model.opened->factors(opened);
    const Expression here = add_products(out, model.terms->scale(), q, k);
    if (model.contrasts())
        add_difference(out, here, model.terms->scale(), model.opened->factors(opened, true));
    if (const double whole = model.opened->whole(); whole != 0)
        out.beside("of what is opened", out.f64 / whole, percent(out.f64 / whole) + " of " + four(whole));
    if (!head.token && part.token >= 0 && !part.written.empty()) {
        const Index reads = reading_token(model);
        const Record& record = model.of.place.trace->attention(head.number).record();
        out.beside("weight of the head on it",
                   static_cast<double>(record.cell(Stage::weight, head.head, reads, part.token)), "",
                   Places{{head.number, head.head}}(Stage::weight, reads, part.token));
    }
    return out;
}

std::optional<Explained> explain_without(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.is_ready() || !model.without) return std::nullopt;
    const WithoutSource& without = *model.without;
    const auto norms = static_cast<std::size_t>(cell.at[0]);
    static constexpr std::array said{", with it", ", norms held", ", norms live"};
    static constexpr std::array notes{"This is the sum of all terms.",
                                      "The scaled score changes by exactly the term of the source.",
                                      "The norms see the stream without the source and scale what is left."};
    const std::string taken =
        "Without " + number_name(model, subject, without.side, without.source) + said[norms];
    Explained out{.title = taken + (cell.at[1] == 0 ? ": scaled score" : ": weight"),
                  .provenance = provenance(model, subject, norms != 2),
                  .note = notes[norms]};
    if (cell.at[1] == 0) {
        out.formula = "scale · Σ_a q[a] k[a]";
        const bool of_query = without.side == ScoreSide::query;
        add_products(out, without.scale, of_query ? without.vectors[norms] : without.partner,
                     of_query ? without.partner : without.vectors[norms]);
    } else {
        const std::vector<double>& row = without.rows[norms];
        const double highest = std::ranges::max(row), own = row[static_cast<std::size_t>(model.of.place.key)];
        out.formula = "exp(s − max) / Σ_j exp(s_j − max)";
        out.operands_title = "exp(s_j − max) of each key that the query sees";
        for (Index key = 0; key < std::ssize(row); ++key)
            if (const double score = row[static_cast<std::size_t>(key)]; !std::isinf(score))
                out.summand(key_name(subject, model.of.place.attention, key), std::exp(score - highest));
        const Expression sum = out.step("Σ", out.sum("exponentials"));
        out.step("weight", (std::isinf(own) ? Expression(0) : exp(Expression(own) - highest)) / sum);
    }
    return out;
}

std::optional<Explained> explain_deciding(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.row || !model.row->done() || cell.at[0] >= std::ssize(model.row->deciding()))
        return std::nullopt;
    const RowTerms& terms = model.row->terms();
    const Source& wanted = model.row->deciding()[static_cast<std::size_t>(cell.at[0])].source;
    const std::vector<double> adds =
        centred(terms.adds[static_cast<std::size_t>(same_source(terms.sources, wanted))]);
    const std::vector<double> scores = centred(terms.scores);
    Explained out{
        .title = capitalised(source_name(subject, wanted)) + ": share of what decides",
        .provenance = provenance(model, subject),
        .formula = "Σ_j (a_j − ā)(s_j − s̄) / Σ_j (s_j − s̄)²",
        .operands_title = "Each key: what the source adds · the scaled score, both less their means",
        .note =
            "s_j is the scaled score of key j, and a_j what this source adds to it. The shares of all "
            "sources add up to 1; one below 0 works against the differences."};
    for (std::size_t i = 0; i < adds.size(); ++i)
        out.term(key_name(subject, model.row->place().attention, model.row->keys()[i]), adds[i], scores[i]);
    const Expression covariance = out.step("Σ products", out.dot("adds", "scores"));
    const Expression variance =
        out.step("Σ (s − s̄)²", dot(Column{"scores", scores}, Column{"scores", scores}));
    out.step("share", covariance / variance);
    return out;
}

std::optional<Explained> explain_added(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.row || !model.row->done()) return std::nullopt;
    const auto [rank, key, unused] = cell.at;
    const ScorePlace& at = model.row->place();
    const auto& deciding = model.row->deciding();
    const bool is_all = rank == std::ssize(deciding);
    if (rank > std::ssize(deciding) || !std::ranges::binary_search(model.row->keys(), key))
        return std::nullopt;
    auto sources = with_biases_joined(vector_sources(*at.trace, Stage::k, at.attention, at.head, key));
    if (!is_all)
        std::erase_if(sources, [&](const Source& each) {
            return !each.is(deciding[static_cast<std::size_t>(rank)].source);
        });
    std::vector<double> k = total_of(sources);
    k.resize(static_cast<std::size_t>(at.record().d_k()));
    const std::string word = key_name(subject, at.attention, key);
    Explained out{
        .title = (is_all ? "All sources of " + word
                         : source_at(subject, deciding[static_cast<std::size_t>(rank)].source, word)) +
                 ": what they add to the scaled score",
        .provenance = provenance(model, subject),
        .formula = "scale · Σ_a q[a] k_t[a]"};
    const float* row = at.record().q().heads().head(at.head).row(at.query);
    add_products(out, at.record().scale(), std::vector<double>(row, row + k.size()), k);
    return out;
}

std::optional<Explained> explain_texts(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.texts || !model.texts->done() || cell.at[0] >= std::ssize(model.texts->means()))
        return std::nullopt;
    const TextSources::Mean& mean = model.texts->means()[static_cast<std::size_t>(cell.at[0])];
    Explained out{.title = capitalised(source_name(subject, mean.source)) + ": mean share of what decides",
                  .provenance = provenance(model, subject),
                  .formula = "Σ_texts share / number of texts",
                  .operands_title = "Share of the variance of the scaled scores in each text",
                  .note =
                      "In a text, the products of all rows are added up before the share is taken. Texts "
                      "whose scores do not vary are left out."};
    for (std::size_t i = 0; i < mean.of_texts.size(); ++i)
        out.summand("text " + std::to_string(model.texts->counted()[i]), mean.of_texts[i]);
    out.step("mean", out.step("Σ", out.sum("shares")) / static_cast<double>(mean.of_texts.size()));
    return out;
}

constexpr std::array<ModelNumber<Model>, 6> declared{{
    {&cells::term, explain_term},
    {&cells::opened, explain_opened},
    {&cells::without, explain_without},
    {&cells::deciding, explain_deciding},
    {&cells::added, explain_added},
    {&cells::texts, explain_texts},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!refused.empty()) return std::nullopt;
    auto why = explain_by(declared, *this, subject, cell);
    if (why) why->f32 = single(why->f64);
    return why;
}

}  // namespace attn::app::sources
