// Explains the numbers of lens Knock-out.
#include <cmath>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

void note_step(Explained& out, std::string name, std::string arithmetic, double value, bool current = false,
               std::optional<CellPlace> at = {}) {
    out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, at});
}

CellPlace weight_at(const HeadIndex& head, Index query, Index key) {
    return {head, {.stage = Stage::weight, .row = query, .col = key}};
}

}  // namespace

std::optional<Explained> KnockoutLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || missing(subject)) return std::nullopt;
    update(subject);
    if (!refused().empty()) return std::nullopt;
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<KnockoutLens>, 7> KnockoutLens::declared{{
    {&knockout_cells::head_ablation, &KnockoutLens::explain_head},
    {&knockout_cells::direct_effect, &KnockoutLens::explain_direct},
    {&knockout_cells::max_weight, &KnockoutLens::explain_weight},
    {&knockout_cells::patching, &KnockoutLens::explain_patch},
    {&knockout_cells::edge_ablation, &KnockoutLens::explain_cut},
    {&knockout_cells::strongest_edge, &KnockoutLens::explain_strongest},
    {&knockout_cells::edge_estimate, &KnockoutLens::explain_estimate},
}};

CellKinds knockout_numbers() { return kinds_of(KnockoutLens::declared); }

std::optional<CellRef> packed_knockout_cell(Index row, Index col) {
    using namespace knockout_cells;
    if (row >= 10'000) return edge_estimate(row - 10'000, col);
    if (row > 4001) return std::nullopt;
    if (row == 4001) return strongest_edge(col);
    if (row == 4000) return edge_ablation(col);
    if (row >= 3000) return patching(row - 3000, col);
    if (row >= 2000) return max_weight(row - 2000, col);
    return row >= 1000 ? direct_effect(row - 1000, col) : head_ablation(row, col);
}

Explained KnockoutLens::begin(Subject& subject, std::string title) const {
    Explained out;
    out.title = std::move(title);
    out.provenance = "computed by " + subject.attention()->title();
    return out;
}

Explained KnockoutLens::explain_runs(Subject& subject, std::string title, const char* other, double value,
                                     double moved, bool falls) const {
    Explained out = begin(subject, std::move(title));
    const double with = value + moved;
    out.recomputed = false;
    out.f64 = falls ? value - with : with - value;
    out.f32 = single(out.f64);
    out.formula = falls ? std::string("run as it is − ") + other : std::string(other) + " − run as it is";
    note_step(out, target_name(subject), "in the run as it is", value);
    note_step(out, target_name(subject), other, with);
    note_step(out, falls ? "falls by" : "moves by", "", out.f64, true);
    const Expression here = value, there = with;
    out.line(falls ? "fall" : "move", falls ? here - there : there - here);
    return out;
}

std::optional<Explained> KnockoutLens::explain_head(Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    if (now().part != KnockoutPart::heads || head.layer >= removals()->attentions() ||
        head.head >= removals()->heads())
        return std::nullopt;
    const auto fall = removals()->logit_drop(head);
    if (!fall) return std::nullopt;
    static constexpr std::array notes{
        "Its output is set to 0 for every token, and the model goes on from there.",
        "Its output is set to its mean over all tokens, and the model goes on from there.",
        "Its output is set to its mean over the tokens of many texts, and the model goes on from there.",
        "Its output is that of the second text, token by token, and the model goes on from there."};
    Explained out = explain_runs(subject, "Without " + head_text(head, subject.attention()->numbering()),
                                 "run without the head", removals()->value(), -*fall, true);
    out.note = notes[static_cast<std::size_t>(now().removal)];
    out.part = RunPart{Site::head_output, head.layer, head.head};
    return out;
}

std::optional<Explained> KnockoutLens::explain_direct(Subject& subject, const LensCell& cell) {
    const Index attention = cell.at[0], column = cell.at[1];
    if (now().part != KnockoutPart::heads || attention >= removals()->attentions() ||
        column > removals()->heads())
        return std::nullopt;
    const bool of_mlp = column == removals()->heads();
    const auto adds = of_mlp ? removals()->direct_of_mlp(attention) : removals()->direct({attention, column});
    if (!adds) return std::nullopt;
    const Layers numbering = subject.attention()->numbering();
    Explained out = begin(subject, "What " +
                                       (of_mlp ? "the MLP of " + numbering.name(attention)
                                               : head_text({attention, column}, numbering)) +
                                       " adds directly");
    out.recomputed = false;
    out.f64 = *adds;
    out.f32 = single(*adds);
    out.formula = target_->loss.over ? "Σ_b written[b] · (u[b] − u′[b])" : "Σ_b written[b] · u[b]";
    note_step(out, "adds to " + target_name(subject), "", out.f64, true);
    out.line("direct", out.f64);
    out.note =
        "u is the token’s column of W_head, brought back through every norm on the way, each held at what it "
        "had. "
        "What later heads and MLPs make of it is not in it.";
    out.part = of_mlp ? RunPart{.site = Site::mlp_output, .attention = attention}
                      : RunPart{Site::head_output, attention, column};
    if (target_->trace->network().logit_cap > 0) out.note += " The logit is taken before its cap.";
    return out;
}

std::optional<Explained> KnockoutLens::explain_weight(Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    if (now().part != KnockoutPart::heads || head.layer >= removals()->attentions() ||
        head.head >= removals()->heads())
        return std::nullopt;
    const auto looks = look(head);
    return looks ? subject.explain_at(weight_at(head, looks_of_->query, looks->key)) : std::nullopt;
}

std::optional<Explained> KnockoutLens::explain_cut(Subject& subject, const LensCell& cell) {
    if (now().part != KnockoutPart::edges) return std::nullopt;
    const Index key = cell.at[0];
    const auto fall = cuts()->logit_drop(key);
    if (!fall) return std::nullopt;
    const Attention& attention = *subject.attention();
    const Index query = chosen_query(subject);
    Explained out = explain_runs(
        subject, "If " + query_in_words(attention, query) + " does not see " + key_in_words(attention, key),
        "run without the edge", cuts()->value(), -*fall, true);
    const auto why = subject.explain_at(weight_at(subject.chosen_head(), query, key));
    if (why)
        note_step(out, "weight of the edge", "", why->f64, false,
                  weight_at(subject.chosen_head(), query, key));
    out.note = "The key is hidden from this query in this head alone; the other keys share its weight.";
    out.part = RunPart{Site::mask, subject.chosen_head().layer, subject.chosen_head().head, query, key};
    return out;
}

std::optional<Explained> KnockoutLens::explain_strongest(Subject& subject, const LensCell& cell) {
    const auto place = static_cast<std::size_t>(cell.at[0]);
    if (now().part != KnockoutPart::edges || !head_cuts() || place >= head_cuts()->exact().size())
        return std::nullopt;
    const EdgeEstimates::Edge& edge = head_cuts()->estimates().strongest()[place];
    const Attention& attention = *subject.attention();
    const double exact = head_cuts()->exact()[place];
    Explained out = explain_runs(
        subject,
        "If " + query_in_words(attention, edge.query) + " does not see " + key_in_words(attention, edge.key),
        "run without the edge", cuts()->value(), exact, true);
    const CellPlace estimate{subject.chosen_head(), knockout_cells::edge_estimate(edge.query, edge.key)};
    note_step(out, "estimate", "to first order", -edge.effect, false, estimate);
    note_step(out, "off by", "", -edge.effect + exact);
    return out;
}

std::optional<Explained> KnockoutLens::explain_estimate(Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0], key = cell.at[1];
    const Attention& attention = *subject.attention();
    if (now().part != KnockoutPart::edges || !head_cuts() || !head_cuts()->estimates().at_head() ||
        query >= attention.queries() || key >= attention.keys())
        return std::nullopt;
    const auto known = head_cuts()->row(query);
    const EdgeTerms terms =
        (known ? *known : head_cuts()->estimates().row(query))[static_cast<std::size_t>(key)];
    if (!terms.seen) return std::nullopt;
    Explained out = begin(subject, "Estimate: if " + query_in_words(attention, query) + " does not see " +
                                       key_in_words(attention, key));
    out.f64 = terms.weight * (terms.worth - terms.others);
    out.f32 = single(-terms.effect());
    out.formula = "A · (∂L/∂O · V − mean of the other keys’)";
    note_step(out, "weight A", "", terms.weight, false, weight_at(subject.chosen_head(), query, key));
    note_step(out, "∂L/∂O · V of the key", "", terms.worth);
    note_step(out, "the same of the others", "by their shares", terms.others);
    note_step(out, "falls by about", "", out.f64, true);
    out.line("fall", terms.weight * (Expression(terms.worth) - terms.others));
    out.note =
        "What the cut does to the head’s output is exact; what the model makes of that is taken by its "
        "slope. L is " +
        target_name(subject) + ".";
    return out;
}

std::optional<Explained> KnockoutLens::explain_patch(Subject& subject, const LensCell& cell) {
    if (now().part != KnockoutPart::patching) return std::nullopt;
    const Index attention = cell.at[0], token = cell.at[1];
    const Patches& all = *patches();
    if (!all.attentions().holds(attention) || !all.tokens().holds(token)) return std::nullopt;
    const auto moved = all.moved(attention, token);
    if (!moved) return std::nullopt;
    const bool back = now().back;
    const Attention& text = *subject.attention();
    Explained out = explain_runs(subject,
                                 capitalised(std::string(info(now().site).name)) + " of " +
                                     text.numbering().name(attention) + " at " +
                                     query_in_words(back ? *subject.second() : text, token),
                                 "run with the other text’s vector", all.value(), *moved, false);
    note_step(out, "in the other text", "", all.other());
    out.note = back ? "The second text runs with this one vector of the first."
                    : "The first text runs with this one vector of the second.";
    return out;
}

}  // namespace attn::app
