// Explains the numbers of lens Examples from the run of their text, computed once more.
#include "analysis/attribution/direct_attribution.hpp"
#include "app/format.hpp"
#include "attention/explain.hpp"
#include "lenses/examples/examples.hpp"
#include "model/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::examples {

namespace {

// The weight in double, as steps.
Expression weight_of(Explained& out, const CellExplanation& chain) {
    if (chain.weight_before) return out.step("weight", chain.weight, "as the run’s changes leave it");
    const Expression score = out.step("score", chain.masked, std::string("scaled, with mask and bias")),
                     most = out.step("max", chain.row_max, std::string("of the row")),
                     sum = out.step("Σ", chain.row_sum, std::string("exp(score − max) over the keys"));
    return out.step("weight", exp(score - most) / sum);
}

void explain_written(Explained& out, const LayerAttention& at, Index head, Index key,
                     const CellExplanation& chain) {
    out.formula = "Weights · √Σ_c (v W_O)[c]²";
    out.operands_title = "v W_O, squared";
    std::size_t c = 0;
    for (const double each : value_out(at, head, key)) out.term(std::to_string(c++), each, each);
    const Expression length = out.step("length", sqrt(out.dot("written", "again")));
    out.step("written", weight_of(out, chain) * length);
}

struct EffectPlace {
    Index query, key;
    std::int32_t target;
};
// Returns false if the logit cannot be attributed.
bool explain_effect(Explained& out, const std::shared_ptr<const Trace>& run, const HeadIndex& head,
                    const EffectPlace& pair, const CellExplanation& chain) {
    auto direct = DirectAttribution::start(run, pair.query, pair.target);
    if (!direct) return false;
    while (direct->step()) continue;
    const auto share = std::ranges::find_if(direct->shares(), [&](const LogitShare& each) {
        return each.part == LogitPart::head && each.number == head.layer && each.head == head.head;
    });
    const std::vector<double> direction = direct->exact_direction(*share);
    const Record& record = run->attention(head.layer).record();
    const float* v = record.v().heads().head(record.kv_head(head.head)).row(pair.key);
    out.formula = "Weights · Σ_b v[b] · u[b]";
    out.operands_title = "v · the direction of the logit";
    for (Index b = 0; b < record.d_v(); ++b)
        out.term(std::to_string(b), static_cast<double>(v[b]), direction[static_cast<std::size_t>(b)]);
    const Expression adds = out.step("v · u", out.dot("v", "direction"), "for a weight of 1");
    out.step("effect", weight_of(out, chain) * adds);
    out.note =
        "The direction of the logit goes back through the last norm, held as it is in this text, and W_O.";
    return true;
}

// The number as the search computed it, if the pair is in a list.
std::optional<double> listed_value(const Model& model, const LensCell& cell) {
    for (const List which : {List::strongest, List::deciles, List::random})
        for (const HeadExample& each : model.list(which))
            if (each.text == cell.at[0] && each.query == cell.at[1] && each.key == cell.at[2])
                return static_cast<double>(each.value(model.of.state.by));
    return std::nullopt;
}

std::optional<Explained> explain_pair(Model& model, Subject& subject, const LensCell& cell) {
    const auto& [number, query, key] = cell.at;
    if (number >= std::ssize(model.search->texts())) return std::nullopt;
    const auto run = model.run_of(number);
    const HeadIndex& head = model.of.head;
    if (!run || query >= run->tokens() || key >= run->tokens()) return std::nullopt;
    const LayerAttention at = run->attention(head.layer);
    if (!at.record().spec().mask.allows(head.head, query, key)) return std::nullopt;
    const CellExplanation chain = row_chain(at.record(), head.head, query).at(key);
    const SplitText& text = model.search->texts()[static_cast<std::size_t>(number)];
    const std::string words = parts::word_of(text, query) + " on " + parts::word_of(text, key);
    Explained out{.provenance = head_text(head, subject.attention()->numbering(), ", ") + " · text " +
                                std::to_string(number + 1) + ": " + text.text};
    switch (model.of.state.by) {
        case ExampleMeasure::weight:
            out.title = "Weight of " + words;
            out.formula = "exp(score − max) / Σ";
            weight_of(out, chain);
            break;
        case ExampleMeasure::written:
            out.title = "What " + words + " writes";
            explain_written(out, at, head.head, key, chain);
            break;
        case ExampleMeasure::effect: {
            const std::int32_t target = example_target(*run, query);
            const auto names = subject.token_texts(std::array{target});
            out.title = "Effect of " + words + " on the logit of " +
                        (names.empty() ? std::to_string(target) : curly_quoted(names.front()));
            if (!explain_effect(out, run, head, {query, key, target}, chain)) return std::nullopt;
        }
    }
    out.f32 = listed_value(model, cell).value_or(single(out.f64));
    return out;
}

constexpr std::array<ModelNumber<Model>, 1> declared{{{&cells::pair, explain_pair}}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return pairs.kept() ? explain_by(declared, *this, subject, cell) : std::nullopt;
}

}  // namespace attn::app::examples
