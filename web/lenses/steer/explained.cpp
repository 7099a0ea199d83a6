// Explains the numbers of lens Steer.
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/steer/steer.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::steer {

namespace {

std::string run_told(double dial) {
    return dial == 0 ? "in the run without the direction" : "in the run with the dial at " + shortest(dial);
}

std::string probability_of(const Model& model, Subject& subject, std::int32_t id) {
    return "Probability of " + model.vocabulary.name(subject, id) + " " + at_temperature;
}

// A probability, as the softmax of the row's logits.
void add_probability(Explained& out, double logit, double log_sum, double dial) {
    out.formula = "exp(z − ln Σ exp z′), over the vocabulary";
    const Expression z = out.step("logit z", logit, run_told(dial)), all = out.step("ln Σ exp z′", log_sum);
    out.step("probability", exp(z - all));
    out.f32 = single(out.f64);
    out.f64_is = "this step, from the run’s f32 numbers";
}

std::optional<Explained> explain_length(Model& model, Subject& subject, const LensCell& cell) {
    const SteeringVector& vector = model.run->vector;
    const std::string place = model.place_name(subject);
    Explained out;
    if (cell.at[0] == 1) {
        out.title = "Length of " + model.direction_name(subject);
        out.formula = "√Σ_i d[i]²";
        out.operands_title = "Components of the direction";
        for (std::size_t i = 0; i < vector.direction.size(); ++i)
            out.term(std::to_string(i), vector.direction[i], vector.direction[i]);
        out.step("length", sqrt(out.step("Σ d²", out.dot("direction", "direction_again"))));
        out.note = "The dial stretches it to the stream’s length, so only its direction counts.";
    } else {
        const ConstMatrix rows =
            numbers_at(*model.run->unchanged, model.steering.attention, model.steering.site).head(0);
        out.title =
            cell.at[0] == 0 ? "Mean length of the stream " + place : "Length of what is added " + place;
        out.formula = cell.at[0] == 0 ? "(1/n) Σ_t ‖x_t‖" : "|dial| · (1/n) Σ_t ‖x_t‖";
        out.operands_title = "Length of each token’s residual, before any change";
        const auto& names = subject.attention()->query_names();
        for (Index row = 0; row < rows.rows; ++row) {
            double squares = 0;
            for (Index i = 0; i < rows.cols; ++i)
                squares += static_cast<double>(rows(row, i)) * static_cast<double>(rows(row, i));
            out.summand(
                rows.rows == std::ssize(names) ? in_quotes(label_at(names, row)) : std::to_string(row),
                std::sqrt(squares));
        }
        const Expression mean = out.step("mean length", out.sum("lengths") / static_cast<double>(rows.rows));
        if (cell.at[0] == 2) out.step("added", std::abs(model.steering.dial) * mean);
    }
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_next(Model& model, Subject& subject, const LensCell& cell) {
    const auto which = static_cast<Side>(cell.at[0]);
    const NextToken& next = model.next(which);
    if (cell.at[1] >= std::ssize(next.logits)) return std::nullopt;
    const auto id = static_cast<std::int32_t>(cell.at[1]);
    Explained out{.title = probability_of(model, subject, id) + " " +
                           prediction_in_words(*subject.attention()) +
                           (which == Side::before ? ", before" : ", after")};
    add_probability(out, next.logit(id), next.log_sum, which == Side::before ? 0 : model.dial_shown);
    out.note = which == Side::before ? "With all other changes of the run." : "";
    return out;
}

std::optional<Explained> explain_dial(Model& model, Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<Measure>(cell.at[0]);
    const auto all = model.sweep->logits();
    if (cell.at[1] >= std::ssize(all)) return std::nullopt;
    const auto point = static_cast<std::size_t>(cell.at[1]);
    if (cell.at[2] >= std::ssize(all[point])) return std::nullopt;
    const auto id = static_cast<std::int32_t>(cell.at[2]);
    const double dial = dial_at(cell.at[1]), before = model.next(Side::before).logit(id);
    const NextToken next(all[point]);
    Explained out{.title = (measure == Measure::logit ? "Logit of " + model.vocabulary.name(subject, id)
                                                      : probability_of(model, subject, id)) +
                           ", dial at " + shortest(dial)};
    if (measure == Measure::probability) {
        add_probability(out, next.logit(id), next.log_sum, dial);
        return out;
    }
    out.formula = "run with the direction, as far as the dial says";
    out.recomputed = false;
    const Expression here = out.step("without it", before, run_told(0));
    out.step("moved by", next.logit(id) - here);
    out.step("logit", next.logit(id), run_told(dial));
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_written(Model& model, Subject& subject, const LensCell& cell) {
    const auto which = static_cast<Side>(cell.at[0]);
    const auto written = model.side(which)->written();
    if (cell.at[1] >= std::ssize(written)) return std::nullopt;
    const auto& at = written[static_cast<std::size_t>(cell.at[1])];
    Explained out{.title = probability_of(model, subject, at.id) + ", token " + std::to_string(cell.at[1]) +
                           " of the continuation " + (which == Side::before ? "before" : "after")};
    add_probability(out, at.logit, at.log_sum, which == Side::before ? 0 : model.dial_shown);
    out.note = "It is the likeliest token there, so it is written.";
    if (which == Side::after)
        out.note += model.steering.row ? " The direction is added to one token of the text alone."
                                       : " The direction is added to every token written, too.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 4> declared{{
    {&cells::length, explain_length},
    {&cells::next, explain_next},
    {&cells::dial, explain_dial},
    {&cells::written, explain_written},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!is_ready()) return std::nullopt;
    auto out = explain_by(declared, *this, subject, cell);
    if (out) out->provenance = "computed by " + subject.attention()->title();
    return out;
}

}  // namespace attn::app::steer
