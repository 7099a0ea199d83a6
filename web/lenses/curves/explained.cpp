// Explains the marks on the curves and the cells of the gradient's maps.
#include <algorithm>
#include <array>

#include "app/format.hpp"
#include "lenses/curves/curves.hpp"

namespace attn::app {

std::optional<Explained> CurvesLens::explain(Subject& subject, const CellPlace& place) {
    const TrainingRun* run = subject.runs() ? subject.runs()->shown() : nullptr;
    if (!run || place.cell.second) return subject.explain_at(place);
    if (place.cell.stage == Stage::gradient) return explain_gradient(place);
    if (place.cell.stage == Stage::curve) return explain_curve(subject, *run, place.cell);
    if (place.cell.stage != Stage::loss) return subject.explain_at(place);

    const Index step = place.cell.row;
    if (step < 1 || step > std::ssize(run->losses())) return std::nullopt;
    const TrainingPlan& plan = run->plan();
    Explained out;
    out.title = "Loss of step " + std::to_string(step);
    out.unit = "nats";
    out.provenance = "measured while training · f32";
    out.f32 = static_cast<double>(run->losses()[static_cast<std::size_t>(step - 1)]);
    out.f64 = out.f32;
    out.recomputed = false;
    out.formula = "1/N · Σ −ln p(next token)";
    out.steps.push_back({"sequences", "in the step's batch", std::to_string(plan.batch), false});
    out.steps.push_back({"tokens", "in each sequence", std::to_string(plan.context), false});
    out.note =
        "The mean over the targets of the step's batch, in nats, before the step changed the network. The "
        "batch "
        "and the network of that moment are gone, so the number is kept as the step computed it.";
    return out;
}

// dL/dA[i, j] = Σ_b dL/dO[i, b] · V[j, b]
std::optional<Explained> CurvesLens::explain_gradient(const CellPlace& place) const {
    const auto [layer, head] = place.head;
    const auto [row, col] = std::pair(place.cell.row, place.cell.col);
    if (!maps_.trace() || layer >= std::ssize(maps_.gradients()) ||
        layer >= std::ssize(maps_.trace()->layers()))
        return std::nullopt;
    const Record& record = maps_.trace()->layers()[static_cast<std::size_t>(layer)].attention;
    if (head >= record.heads() || row < 0 || row >= record.queries() || col < 0 || col >= record.keys())
        return std::nullopt;
    const ConstMatrix upstream = maps_.gradients()[static_cast<std::size_t>(layer)].heads().head(head),
                      v = record.v().heads().head(record.kv_head(head));
    std::vector<Term> terms;
    Explained out;
    for (Index b = 0; b < record.d_v(); ++b) {
        terms.push_back({b, static_cast<double>(upstream(row, b)), static_cast<double>(v(col, b))});
        out.f64 += terms.back().product();
    }
    out.title = "∂loss/∂Weights[" + std::to_string(row) + ", " + std::to_string(col) + "]";
    out.provenance = "layer " + std::to_string(layer) + ", head " + std::to_string(head) +
                     " · nats a token, from a backward pass";
    out.masked = !record.spec().mask.allows(head, row, col);
    const std::size_t number = static_cast<std::size_t>(layer * record.heads() + head);
    out.f32 = out.masked ? 0 : static_cast<double>(maps_.of(number)[row * record.keys() + col]);
    out.formula = "Σ_b ∂loss/∂Output[" + std::to_string(row) + ", b] · V[" + std::to_string(col) + ", b]";
    out.operands_title = "∂loss/∂Output · V";
    const Places places{place.head};
    add_terms(out, terms, nullptr, [&](Index b) { return places(Stage::v, col, b); }, {"upstream", "v"});
    out.line("gradient", out.dot());
    out.steps.push_back({"weight", "",
                         fixed(static_cast<double>(record.cell(Stage::weight, head, row, col)), 4), false,
                         places(Stage::weight, row, col)});
    if (out.masked) {
        out.f64 = 0;
        out.calculation.clear();
        out.line("gradient", 0);
        out.note = "The mask forbids this cell, so that the loss does not depend on it.";
    } else {
        out.note = std::string("More weight here would ") +
                   (out.f64 < 0   ? "lower"
                    : out.f64 > 0 ? "raise"
                                  : "not change") +
                   " the mean loss of this sequence, if the other weights stayed as they are.";
    }
    return out;
}

std::optional<Explained> CurvesLens::explain_curve(Subject& subject, const TrainingRun& run,
                                                   const CellRef& cell) {
    static constexpr std::array<const char*, 3> names{"Induction", "Previous token", "Entropy"};
    const TrainingPlan& plan = run.plan();
    const Index heads = plan.layers * plan.heads;
    const auto point = std::ranges::find(run.points(), std::int64_t{cell.row}, &TrainingPoint::step);
    if (point == run.points().end() || cell.col / heads >= std::ssize(names)) return std::nullopt;
    const auto score = static_cast<CurveScore>(cell.col / heads);
    const HeadIndex head{cell.col % heads / plan.heads, cell.col % plan.heads};
    const HeadPoint& measured = point->heads[static_cast<std::size_t>(cell.col % heads)];
    const double value = score == CurveScore::induction        ? measured.induction
                         : score == CurveScore::previous_token ? measured.previous_token
                                                               : measured.entropy;
    Explained out;
    // Its operands are available while this step's network is shown.
    const TrainingView* view = subject.runs()->shown_view(*subject.course());
    if (view && view->step == cell.row && score == CurveScore::induction)
        out = explain_induction(run, *view, head).value_or(Explained());
    else if (view && view->step == cell.row && subject.attention())
        out = scores_
                  .of(*subject.attention(), head,
                      score == CurveScore::entropy ? HeadScore::entropy : HeadScore::previous_token, value)
                  .value_or(Explained());
    if (out.operands.empty()) {
        out.f64 = value;
        out.recomputed = false;
        out.note = "Drag over the curve to step " + std::to_string(cell.row) +
                   " to see what it was computed from: its network comes back then.";
    }
    out.f32 = value;
    if (score == CurveScore::entropy) out.unit = "nats";
    out.formula = score == CurveScore::induction ? "1/n · Σ_i A[i, i − n + 1], i in the second copy"
                  : score == CurveScore::entropy ? "1/n · Σ_i (−Σ_j A[i, j] ln A[i, j])"
                                                 : "Σ_i A[i, i−1] / Σ A";
    const bool of_repeat = score == CurveScore::induction;
    out.title = std::string(names[static_cast<std::size_t>(score)]) +
                (of_repeat ? " on one random repeat, layer " : " on the sequence shown, layer ") +
                std::to_string(head.layer) + ", head " + std::to_string(head.head) + ", step " +
                std::to_string(cell.row);
    out.provenance = of_repeat
                         ? "measured on " + many(std::ssize(run.data().repeated) / 2, "random token") +
                               " that " + (std::ssize(run.data().repeated) > 3 ? "come" : "comes") + " twice"
                         : "measured on the sequence whose maps are shown";
    return out;
}

// The mean weight that the second copy of the repeated tokens gives to the token after its first occurrence.
std::optional<Explained> CurvesLens::explain_induction(const TrainingRun& run, const TrainingView& view,
                                                       HeadIndex head) {
    if (repeated_of_ != view.model) {
        const auto trace = run_forward(view.model, run.data().repeated);
        if (!trace) return std::nullopt;
        repeated_of_ = view.model;
        repeated_ = *trace;
    }
    const Record& record = repeated_->layers()[static_cast<std::size_t>(head.layer)].attention;
    const Index period = record.queries() / 2;
    Explained out;
    const double share = 1 / static_cast<double>(period);
    for (Index query = period; query < 2 * period; ++query) {
        const double weight = row_chain(record, head.head, query).at(query - period + 1).weight;
        out.operands.push_back({std::to_string(query) + "→" + std::to_string(query - period + 1), weight,
                                share, weight * share});
        out.f64 += weight * share;
    }
    out.operands_title = "Weights of the second copy · 1/" + std::to_string(period);
    out.left_name = "weights";
    out.right_name = "shares";
    out.line("induction", out.dot());
    out.note =
        "Olsson et al. 2022, arXiv 2209.11895: attention to the token that followed the previous copy.";
    return out;
}

}  // namespace attn::app
