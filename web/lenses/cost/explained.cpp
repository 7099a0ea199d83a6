// Explains the numbers of lens Cost: measured times, what is fitted to them, and what is counted.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cost/cost.hpp"
#include "runs/model_amounts_explained.hpp"
#include "subjects/explain.hpp"

namespace attn::app::cost {

namespace {

constexpr const char* measured_here = "measured in this tab";
constexpr const char* counted = "counted from the shape";

std::string size_text(const CostCase& what) {
    return what.work == CostWork::product
               ? with_commas(what.n) + " × " + with_commas(what.d) + " by " + with_commas(what.out)
               : with_commas(what.n) + (what.n == 1 ? " query, " : " queries, ") + with_commas(what.n_k()) +
                     " keys, " + with_commas(what.d) + " numbers each";
}

// ---- Measured ---------------------------------------------------------------------------------------------

// The operands of a measured time: each round's, of which the least counts.
Expression add_rounds(Explained& out, const CostMeasuring::Timed& timed) {
    out.recomputed = false;
    out.provenance = std::string(measured_here) + ", kernels: " + std::string(kernels_name(timed.what.means));
    out.operands_title = "Milliseconds of a call, in each round";
    for (std::size_t i = 0; i < timed.ms.size(); ++i)
        out.summand("round " + std::to_string(i + 1), timed.ms[i]);
    out.beside("calls a round", static_cast<double>(timed.calls), std::to_string(timed.calls));
    out.beside("median, in ms", timed.median());
    return out.step("least, in ms", timed.least());
}
Expression add_rate(Explained& out, const CostMeasuring::Timed& timed) {
    out.unit = "operations a second";
    out.formula = "operations / time";
    const Expression ms = add_rounds(out, timed);
    return out.step("a second", Expression(timed.what.operations()) / ms * 1000);
}

const CostSeries* series_at(const Model& model, const LensCell& cell) {
    return model.series_of(static_cast<CostWork>(cell.at[0]), static_cast<CostMeans>(cell.at[1]));
}

std::optional<Explained> explain_time(const Model& model, const LensCell& cell, CostAxis axis) {
    const CostSeries* series = series_at(model, cell);
    if (!series) return std::nullopt;
    const CostSeries::Over& over = series->by(axis);
    const auto found = std::ranges::find(over.x, static_cast<double>(cell.at[2]));
    if (found == over.x.end()) return std::nullopt;
    const CostMeasuring::Timed& timed = *over.timed[static_cast<std::size_t>(found - over.x.begin())];
    Explained out{.title = "Attention, " + series->name() + ": " + size_text(timed.what),
                  .unit = "ms",
                  .formula = "min over rounds of time / calls",
                  .note = "4 n² d = " + operations_text(timed.what.operations()) +
                          ". The least time counts: whatever disturbs the page only adds to it."};
    add_rounds(out, timed);
    return out;
}

void explain_exponent(Explained& out, const FittedPoints& points, bool doubled) {
    out.formula = doubled ? "2^exponent" : "Σ (ln x − mean)(ln t − mean) / Σ (ln x − mean)²";
    const Expression products = out.step("Σ products", out.dot("log_size", "log_time"));
    const Column sizes{"log_size", points.x};
    const Expression exponent = out.step("exponent", products / out.step("Σ squares", dot(sizes, sizes)));
    if (doubled) out.step("factor", exp(exponent * log(Expression(2))));
}

void explain_error(Explained& out, const FittedPoints& points, bool of_exponent) {
    out.formula = of_exponent ? "√(Σ r² / (points − 2) / Σ (ln x − mean)²)" : "√(Σ r² / (points − 2))";
    const Expression squares = out.step("Σ r²", out.dot("residual", "residual_again")),
                     scatter = out.step("scatter", sqrt(squares / static_cast<double>(points.x.size() - 2)));
    if (!of_exponent) return;
    const Column sizes{"log_size", points.x};
    out.step("standard error", scatter / sqrt(out.step("Σ squares", dot(sizes, sizes))));
}

std::optional<Explained> explain_fit(const Model& model, const LensCell& cell, CostAxis axis) {
    const CostSeries* series = series_at(model, cell);
    if (!series) return std::nullopt;
    const CostSeries::Over& over = series->by(axis);
    Explained out{.provenance = measured_here};
    if (cell.at[2] == 4) {
        if (over.timed.empty()) return std::nullopt;
        add_rate(out, *over.timed.back());
        out.title = "Speed, " + series->name() + ": " + size_text(over.timed.back()->what);
        return out;
    }
    if (!over.fit) return std::nullopt;
    static constexpr std::array titles{"Exponent of ", "Standard error of the exponent of ",
                                       "Scatter around the fit over ", "What twice as much costs, by "};
    const std::string name = axis == CostAxis::n ? "n" : "d";
    out.title = titles[static_cast<std::size_t>(cell.at[2])] + name + ", " + series->name();
    const FittedPoints points = fitted_points(over.x, over.ms, *over.fit);
    const Index left_out = over.fit->points.begin;
    const bool of_slope = cell.at[2] == 0 || cell.at[2] == 3;
    out.operands_title =
        of_slope ? "ln " + name + " · ln time, both less their means" : "How far ln time lies off the fit";
    for (std::size_t i = 0; i < points.x.size(); ++i)
        out.term(name + " = " + shortest(over.x[static_cast<std::size_t>(left_out) + i]),
                 of_slope ? points.x[i] : points.residuals[i], of_slope ? points.y[i] : points.residuals[i]);
    if (of_slope)
        explain_exponent(out, points, cell.at[2] == 3);
    else
        explain_error(out, points, cell.at[2] == 1);
    out.note = left_out == 0 ? "All measured points are fitted."
                             : "The smallest " + many(left_out, "point") + " left out: there, less than " +
                                   percent(dominant_share) + " of the time grows with the leading power.";
    return out;
}

std::optional<Explained> explain_memory(Model&, Subject&, const LensCell& cell) {
    const Index n = cell.at[1];
    if (n < 1 || n > most_tokens) return std::nullopt;
    const bool naive = cell.at[0] == 0;
    Explained out{.title = std::string(naive ? "Naive" : "Fused") + " attention of " + with_commas(n) +
                           " tokens: working memory",
                  .provenance = "allocated by the form, for one head",
                  .unit = "bytes",
                  .formula = naive ? "4 n²" : "4 · 2 n",
                  .note = naive
                              ? "All scores are stored, and turned into weights in place."
                              : "Each row keeps its maximum and the logarithm of its sum. A tile of scores, "
                                "as large for every n, is not counted."};
    const Expression tokens = out.step("n", static_cast<double>(n));
    out.step("bytes", naive ? tokens * tokens * 4 : tokens * 2 * 4);
    return out;
}

// ---- The roofline -----------------------------------------------------------------------------------------

std::optional<Explained> explain_roof(Model& model, Subject&, const LensCell& cell) {
    const auto roof = model.roofline();
    if (!roof) return std::nullopt;
    Explained out{.provenance = measured_here};
    if (cell.at[0] == 2) {
        out.title = "Operations a byte at the ridge";
        out.formula = "peak / bandwidth";
        out.step("ridge", Expression(roof->peak) / roof->bandwidth);
        out.note = "With fewer operations a byte, a kernel waits for memory.";
        return out;
    }
    const auto all = model.measured->roof()->timed();
    const auto is_reading = [](const auto& each) { return each.what.work == CostWork::reading; };
    if (cell.at[0] == 0) {
        const auto fastest = std::ranges::max_element(
            all, {}, [&](const auto& each) { return is_reading(each) ? 0 : rate_of(each); });
        add_rate(out, *fastest);
        out.title = "The most operations a second: " + size_text(fastest->what);
        out.note = "The fastest of all kernels measured for the roofline.";
        return out;
    }
    const auto reading = std::ranges::find_if(all, is_reading);
    const double bytes = 4 * static_cast<double>(reading->what.n);
    out.title = "Bytes a second, read once from memory";
    out.unit = "bytes a second";
    out.formula = "bytes / time";
    out.note = bytes_text(bytes) + " are read from end to end, more than most caches hold.";
    const Expression ms = add_rounds(out, *reading);
    out.step("bytes a second", Expression(bytes) / ms * 1000);
    return out;
}

std::optional<Explained> explain_reached(Model& model, Subject&, const LensCell& cell) {
    const auto roof = model.roofline();
    const auto* timed = model.measured->timed(static_cast<CostOperation>(cell.at[0]));
    if (!roof || !timed) return std::nullopt;
    const CostCase& what = timed->what;
    Explained out{
        .title = capitalised(operation_names[static_cast<std::size_t>(cell.at[0])]) + ": " + size_text(what),
        .provenance = counted};
    out.note = "A piece of the model’s operation, as large as a moment of the page allows.";
    if (what.pool > 0)
        out.note += " Each call takes the next of " + bytes_text(4 * static_cast<double>(what.pool)) +
                    ", as a token goes through the whole model; what the caches hold of it comes faster than "
                    "from memory.";
    const auto counted_bytes = [&] {
        const double bytes = std::round(what.operations() / intensity_of(what));
        return out.step("a byte", out.step("operations", what.operations()) / out.step("bytes", bytes));
    };
    const auto limit = [&] {
        const Expression memory = out.step("by memory", counted_bytes() * roof->bandwidth);
        // min(a, b) = −max(−a, −b)
        return out.step("roof", 0 - max(0 - memory, Expression(-roof->peak)));
    };
    if (cell.at[1] == 0) {
        counted_bytes();
        out.formula = "operations / bytes, each operand once";
    } else if (cell.at[1] == 1) {
        add_rate(out, *timed);
    } else if (cell.at[1] == 2) {
        limit();
        out.formula = "min(peak, bandwidth · operations a byte)";
        out.unit = "operations a second";
    } else {
        const Expression rate = add_rate(out, *timed);
        out.step("share", rate / limit());
        out.formula = "measured / roof";
        out.unit = "";
    }
    return out;
}

// ---- Models -----------------------------------------------------------------------------------------------

std::optional<Explained> explain_model(Model& model, Subject&, const LensCell& cell) {
    const auto which = static_cast<std::size_t>(cell.at[0]);
    const auto amount = static_cast<Amount>(cell.at[1]);
    if (!model.shape(which)) return std::nullopt;
    const ModelUse use = model.use(which);
    if (!use.amount(amount)) return std::nullopt;
    Explained out{.title = capitalised(model.shape_name(which)) + ", " + with_commas(use.tokens) +
                           " tokens: " + amount_names[static_cast<std::size_t>(amount)],
                  .provenance = counted};
    explain_amount(out, use, amount);
    return out;
}

std::optional<Explained> explain_reading(Model& model, Subject&, const LensCell& cell) {
    const Index n = cell.at[1];
    if (n < 1 || n > 100 * most_tokens) return std::nullopt;
    const StepCost cost = model.use(model.in_view(), n).step(true).operations;
    const bool attends = cell.at[0] == 1;
    Explained out{
        .title =
            std::string(attends ? "Attention" : "Matrices") + " of reading " + with_commas(n) + " tokens",
        .provenance = counted,
        .unit = "operations",
        .formula = attends ? "4 · heads · head_dim · keys seen, over all layers" : "2 · tokens · weights"};
    const Expression tokens = out.step("tokens", static_cast<double>(n));
    const double each = (attends ? cost.attention : cost.matrices) / static_cast<double>(n);
    out.step("operations", tokens * out.step("a token, in the mean", each));
    return out;
}

constexpr std::array<ModelNumber<Model>, 9> declared{{
    {&cells::time, [](Model& m, Subject&, const LensCell& c) { return explain_time(m, c, CostAxis::n); }},
    {&cells::width, [](Model& m, Subject&, const LensCell& c) { return explain_time(m, c, CostAxis::d); }},
    {&cells::over_n, [](Model& m, Subject&, const LensCell& c) { return explain_fit(m, c, CostAxis::n); }},
    {&cells::over_d, [](Model& m, Subject&, const LensCell& c) { return explain_fit(m, c, CostAxis::d); }},
    {&cells::memory, explain_memory},
    {&cells::roof, explain_roof},
    {&cells::reached, explain_reached},
    {&cells::model, explain_model},
    {&cells::reading, explain_reading},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    auto out = explain_by(declared, *this, subject, cell);
    if (out) out->f32 = single(out->f64);
    return out;
}

}  // namespace attn::app::cost
