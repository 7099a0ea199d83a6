// Explains the numbers of lens Knock-out.
#include <array>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::knockout {

namespace {

CellPlace weight_at(const Model& model, Index query, Index key) {
    return Places{model.head}(Stage::weight, query, key);
}

// Explains a difference of the target between two runs, by which it falls in the other one or moves.
Explained explain_runs(const Model& model, Subject& subject, std::string title, const char* other,
                       double value, double moved, bool falls) {
    Explained out{
        .title = std::move(title),
        .recomputed = false,
        .formula = falls ? std::string("run as it is − ") + other : std::string(other) + " − run as it is"};
    const std::string target = model.target_name(subject);
    const Expression here = out.step(target, value, "in the run as it is"),
                     there = out.step(target, value + moved, other);
    out.step(falls ? "falls by" : "moves by", falls ? here - there : there - here);
    out.f32 = single(out.f64);
    return out;
}

// Says whether heads are shown, and this is one of a layer's parts: its heads, and then the MLP.
bool is_part(const Model& model, const HeadIndex& part, Index parts) {
    return model.state.part == Part::heads && part.layer < model.removals()->attentions() &&
           part.head < parts;
}

std::optional<Explained> explain_head(Model& model, Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    if (!is_part(model, head, model.heads())) return std::nullopt;
    const auto fall = model.removals()->logit_drop(head);
    if (!fall) return std::nullopt;
    static constexpr std::array notes{
        "Its output is set to 0 for every token, and the model goes on from there.",
        "Its output is set to its mean over all tokens, and the model goes on from there.",
        "Its output is set to its mean over the tokens of many texts, and the model goes on from there.",
        "Its output is that of the second text, token by token, and the model goes on from there."};
    Explained out =
        explain_runs(model, subject, "Without " + head_text(head, subject.attention()->numbering()),
                     "run without the head", model.removals()->value(), -*fall, true);
    out.note = notes[static_cast<std::size_t>(model.state.removal)];
    out.part = RunPart{Site::head_output, head.layer, head.head};
    return out;
}

std::optional<Explained> explain_direct(Model& model, Subject& subject, const LensCell& cell) {
    const HeadIndex part{cell.at[0], cell.at[1]};
    if (!is_part(model, part, model.heads() + 1)) return std::nullopt;
    const auto adds = model.removals()->direct(part);
    if (!adds) return std::nullopt;
    const bool of_mlp = part.head == model.heads();
    const Layers numbering = subject.attention()->numbering();
    Explained out{
        .title = "What " +
                 (of_mlp ? "the MLP of " + numbering.name(part.layer) : head_text(part, numbering)) +
                 " adds directly",
        .f32 = single(*adds),
        .recomputed = false,
        .formula = model.target->loss.over ? "Σ_b written[b] · (u[b] − u′[b])" : "Σ_b written[b] · u[b]",
        .part = of_mlp ? RunPart{.site = Site::mlp_output, .attention = part.layer}
                       : RunPart{Site::head_output, part.layer, part.head},
        .note =
            "u is the token’s column of W_head, brought back through every norm on the way, each held at "
            "what it had. What later heads and MLPs make of it is not in it."};
    out.step("adds to " + model.target_name(subject), *adds);
    if (model.target->trace->network().logit_cap > 0) out.note += " The logit is taken before its cap.";
    return out;
}

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    if (!is_part(model, head, model.heads())) return std::nullopt;
    const auto look = model.look(head);
    return look ? subject.explain_at(Places{head}(Stage::weight, model.query, look->key)) : std::nullopt;
}

std::optional<Explained> explain_cut(Model& model, Subject& subject, const LensCell& cell) {
    if (model.state.part != Part::edges) return std::nullopt;
    const Index query = model.query, key = cell.at[0];
    const auto fall = model.cuts()->logit_drop(key);
    if (!fall) return std::nullopt;
    const Attention& attention = *subject.attention();
    Explained out = explain_runs(
        model, subject,
        "If " + query_in_words(attention, query) + " does not see " + key_in_words(attention, key),
        "run without the edge", model.cuts()->value(), -*fall, true);
    const CellPlace place = weight_at(model, query, key);
    if (const auto why = subject.explain_at(place)) out.beside("weight of the edge", why->f64, "", place);
    out.note = "The key is hidden from this query in this head alone; the other keys share its weight.";
    out.part = RunPart{Site::mask, model.head.layer, model.head.head, query, key};
    return out;
}

std::optional<Explained> explain_strongest(Model& model, Subject& subject, const LensCell& cell) {
    const auto place = static_cast<std::size_t>(cell.at[0]);
    if (model.state.part != Part::edges || !model.head_cuts() || place >= model.head_cuts()->exact().size())
        return std::nullopt;
    const EdgeEstimates::Edge& edge = model.head_cuts()->estimates().strongest()[place];
    const double exact = model.head_cuts()->exact()[place];
    const Attention& attention = *subject.attention();
    Explained out = explain_runs(
        model, subject,
        "If " + query_in_words(attention, edge.query) + " does not see " + key_in_words(attention, edge.key),
        "run without the edge", model.cuts()->value(), exact, true);
    out.beside("estimate", -edge.effect, "to first order",
               CellPlace{model.head, cells::edge_estimate(edge.query, edge.key)});
    out.beside("off by", -edge.effect + exact);
    return out;
}

std::optional<Explained> explain_estimate(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0], key = cell.at[1];
    const Attention& attention = *subject.attention();
    const HeadCuts* cuts = model.head_cuts();
    if (model.state.part != Part::edges || !cuts || !cuts->estimates().at_head() ||
        query >= attention.queries() || key >= attention.keys())
        return std::nullopt;
    const auto known = cuts->row(query);
    const EdgeTerms terms = (known ? *known : cuts->estimates().row(query))[static_cast<std::size_t>(key)];
    if (!terms.seen) return std::nullopt;
    Explained out{
        .title = "Estimate: if " + query_in_words(attention, query) + " does not see " +
                 key_in_words(attention, key),
        .f32 = single(-terms.effect()),
        .formula = "A · (∂L/∂O · V − mean of the other keys’)",
        .note =
            "What the cut does to the head’s output is exact; what the model makes of that is taken by "
            "its slope. L is " +
            model.target_name(subject) + "."};
    const Expression weight = out.step("weight A", terms.weight, weight_at(model, query, key)),
                     worth = out.step("∂L/∂O · V of the key", terms.worth),
                     others = out.step("the same of the others", terms.others, "by their shares");
    out.step("falls by about", weight * (worth - others));
    return out;
}

std::optional<Explained> explain_patch(Model& model, Subject& subject, const LensCell& cell) {
    if (model.state.part != Part::patching) return std::nullopt;
    const Index attention = cell.at[0], token = cell.at[1];
    const Patches& all = *model.patches();
    if (!all.attentions().holds(attention) || !all.tokens().holds(token)) return std::nullopt;
    const auto moved = all.moved(attention, token);
    if (!moved) return std::nullopt;
    Explained out = explain_runs(model, subject,
                                 capitalised(std::string(info(model.state.site).name)) + " of " +
                                     subject.attention()->numbering().name(attention) + " at " +
                                     query_in_words(model.patched(subject), token),
                                 "run with the other text’s vector", all.value(), *moved, false);
    out.beside("in the other text", all.other());
    out.note = model.state.back ? "The second text runs with this one vector of the first."
                                : "The first text runs with this one vector of the second.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 7> declared{{
    {&cells::head_ablation, explain_head},
    {&cells::direct_effect, explain_direct},
    {&cells::max_weight, explain_weight},
    {&cells::patching, explain_patch},
    {&cells::edge_ablation, explain_cut},
    {&cells::strongest_edge, explain_strongest},
    {&cells::edge_estimate, explain_estimate},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!refused.empty()) return std::nullopt;
    auto out = explain_by(declared, *this, subject, cell);
    if (out && out->provenance.empty()) out->provenance = "computed by " + subject.attention()->title();
    return out;
}

}  // namespace attn::app::knockout
