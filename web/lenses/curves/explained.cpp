// Explains the marks on the curves and the cells of the gradient's maps.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/curves/curves.hpp"

namespace attn::app::curves {

namespace {

std::optional<Explained> explain_loss(const TrainingRun& run, Index step) {
    if (step < 1 || step > std::ssize(run.losses())) return std::nullopt;
    const auto loss = static_cast<double>(run.losses()[static_cast<std::size_t>(step - 1)]);
    return Explained{
        .title = "Loss of step " + std::to_string(step),
        .provenance = "measured while training · f32",
        .f32 = loss,
        .f64 = loss,
        .unit = "nats",
        .recomputed = false,
        .formula = "1/N · Σ −ln p(next token)",
        .steps = {{"sequences", "in the step's batch", std::to_string(run.plan().batch)},
                  {"tokens", "in each sequence", std::to_string(run.plan().context)}},
        .note =
            "The mean over the targets of the step's batch, in nats, before the step changed the network. "
            "The batch and the network of that moment are gone, so the number is kept as the step computed "
            "it."};
}

// dL/dA[i, j] = Σ_b dL/dO[i, b] · V[j, b]
std::optional<Explained> explain_gradient(const StepMaps& maps, const HeadIndex& at, const RunCell& cell) {
    if (maps.shown() != TrainingMaps::gradient || !maps.has(at)) return std::nullopt;
    const Index head = at.head, row = cell.row, col = cell.col;
    const Record& record = maps.record(at);
    if (row < 0 || row >= record.queries() || col < 0 || col >= record.keys()) return std::nullopt;
    const std::string i = std::to_string(row), j = std::to_string(col);
    const bool masked = !record.spec().mask.allows(head, row, col);
    Explained out{.title = "∂loss/∂Weights[" + i + ", " + j + "]",
                  .provenance = place_name(at) + " · nats a token, from a backward pass",
                  .masked = masked,
                  .f32 = masked ? 0 : static_cast<double>(maps.cells(at)[row * record.keys() + col]),
                  .formula = "Σ_b ∂loss/∂Output[" + i + ", b] · V[" + j + ", b]",
                  .operands_title = "∂loss/∂Output · V"};
    const ConstMatrix upstream = maps.gradient(at), v = record.v().heads().head(record.kv_head(head));
    const Places places{at};
    for (Index b = 0; b < record.d_v(); ++b)
        out.term(std::to_string(b), static_cast<double>(upstream(row, b)), static_cast<double>(v(col, b)),
                 std::nullopt, places(Stage::v, col, b));
    const Expression gradient = out.dot("upstream", "v");
    out.line("gradient", masked ? Expression(0) : gradient);
    out.beside("weight", static_cast<double>(record.cell(Stage::weight, head, row, col)), "",
               places(Stage::weight, row, col));
    out.note = masked ? "The mask forbids this cell, so that the loss does not depend on it."
                      : std::string("More weight here would ") +
                            (out.f64 < 0   ? "lower"
                             : out.f64 > 0 ? "raise"
                                           : "not change") +
                            " the mean loss of this sequence, if the other weights stayed as they are.";
    return out;
}

// The mean weight that the second copy of the repeated tokens gives to the token after its first occurrence.
std::optional<Explained> explain_induction(Model& model, HeadIndex head) {
    const auto& repeated = model.repeated.of(model.view->model, [&]() -> std::shared_ptr<const Trace> {
        const auto trace = run_forward(model.view->model, model.run->data().repeated);
        return trace ? *trace : nullptr;
    });
    if (!repeated) return std::nullopt;
    const Record& record = repeated->layers()[static_cast<std::size_t>(head.layer)].attention;
    const Index period = record.queries() / 2;
    Explained out{
        .operands_title = "Weights of the second copy · 1/" + std::to_string(period),
        .note =
            "Olsson et al. 2022, arXiv 2209.11895: attention to the token that followed the previous copy."};
    for (Index query = period; query < 2 * period; ++query) {
        const Index key = query - period + 1;
        out.term(std::to_string(query) + "→" + std::to_string(key),
                 row_chain(record, head.head, query).at(key).weight, 1 / static_cast<double>(period));
    }
    out.line("induction", out.dot("weights", "shares"));
    return out;
}

std::optional<Explained> explain_curve(Model& model, Subject& subject, const CurveScore& score, Index number,
                                       Index step) {
    const TrainingRun& run = *model.run;
    const TrainingPlan& plan = run.plan();
    const auto point = std::ranges::find(run.points(), std::int64_t{step}, &TrainingPoint::step);
    if (point == run.points().end() || number >= plan.layers * plan.heads) return std::nullopt;
    const bool of_repeat = score.value == &HeadPoint::induction,
               of_entropy = score.value == &HeadPoint::entropy;
    const HeadIndex head{number / plan.heads, number % plan.heads};
    const double value = point->heads[static_cast<std::size_t>(number)].*score.value;
    const auto recomputed = [&]() -> std::optional<Explained> {
        if (of_repeat) return explain_induction(model, head);
        if (!subject.attention()) return std::nullopt;
        return model.scores.of(*subject.attention(), head,
                               of_entropy ? HeadScore::entropy : HeadScore::previous_token, value);
    };
    // Its operands are available while this step's network is shown.
    const bool shown = model.view && model.view->step == step;
    Explained out = (shown ? recomputed() : std::nullopt).value_or(Explained());
    if (out.operands.empty()) {
        out.f64 = value;
        out.recomputed = false;
        out.note = "Drag over the curve to step " + std::to_string(step) +
                   " to see what it was computed from: its network comes back then.";
    }
    out.f32 = value;
    if (of_entropy) out.unit = "nats";
    out.formula = score.formula;
    out.title = std::string(score.name) +
                (of_repeat ? " on one random repeat, " : " on the sequence shown, ") + place_name(head) +
                ", step " + std::to_string(step);
    const std::ptrdiff_t repeated = std::ssize(run.data().repeated);
    out.provenance = of_repeat ? "measured on " + many(repeated / 2, "random token") + " that " +
                                     (repeated > 3 ? "come" : "comes") + " twice"
                               : "measured on the sequence whose maps are shown";
    return out;
}

constexpr std::array numbers_table{
    ModelNumber<Model>{
        &cells::loss,
        [](Model& model, Subject&, const LensCell& cell) { return explain_loss(*model.run, cell.at[0]); }},
    ModelNumber<Model>{&cells::score,
                       [](Model& model, Subject& subject, const LensCell& cell) {
                           return explain_curve(model, subject,
                                                curve_scores[static_cast<std::size_t>(cell.at[0])],
                                                cell.at[1], cell.at[2]);
                       }},
};

}  // namespace

CellKinds numbers() { return kinds_of(numbers_table); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return run ? explain_by(numbers_table, *this, subject, cell) : std::nullopt;
}

std::optional<Explained> CurvesLens::explain(Subject& subject, const CellPlace& place) {
    Model& now = updated(subject);
    if (const LensCell* own = place.cell.own()) return now.explain(subject, *own);
    const RunCell* cell = place.cell.run();
    const bool of_gradient = now.run && cell && cell->stage == Stage::gradient && !cell->second;
    return of_gradient ? explain_gradient(now.maps, place.head, *cell) : subject.explain_at(place);
}

}  // namespace attn::app::curves
