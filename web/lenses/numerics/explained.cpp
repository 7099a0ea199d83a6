// Explains the numbers of lens Numerics.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/numerics/numerics.hpp"
#include "subjects/explain.hpp"

namespace attn::app::numerics {

namespace {

// A number of a chain, while its explanation is written.
struct ToldNumber {
    const Model& model;
    Subject& subject;
    const RoundedChain& chain;
    ChainCell at;

    bool is_chosen() const { return &chain == model.chosen(); }
    double value(ChainStage stage, Index row, Index column) const { return chain.at({stage, row, column}); }
    double here(ChainStage stage) const { return value(stage, at.row, at.column); }
    // Only the chosen chain's numbers are on screen.
    std::optional<CellPlace> place(ChainStage stage, Index row, Index column) const {
        if (!is_chosen()) return std::nullopt;
        return CellPlace{model.head, cells::error(model.on_screen(stage), row, column)};
    }
    std::optional<CellPlace> place(ChainStage stage) const { return place(stage, at.row, at.column); }
    Expression step(Explained& out, const char* name, ChainStage stage) const {
        return out.step(name, here(stage), place(stage));
    }
    std::string key_name(Index key) const {
        return in_quotes(label_at(subject.attention()->key_names(), key));
    }
};

// The same number of the run, where the page shows it.
std::optional<CellPlace> run_place(const ToldNumber& of) {
    constexpr std::array<Stage, chain_stage_count> stages{
        Stage::q,       Stage::k,      Stage::v,      Stage::raw,    Stage::raw,
        Stage::scaled,  Stage::capped, Stage::masked, Stage::masked, Stage::exponential,
        Stage::row_sum, Stage::weight, Stage::output};
    if (of.at.stage == ChainStage::product || of.at.stage == ChainStage::shifted) return std::nullopt;
    return Places{of.model.head}(stages[number_of(of.at.stage)], of.at.row, of.at.column);
}

// The step as double takes it from operands that are rounded already; nothing for an input.
std::optional<Expression> from_operands(Explained& out, const ToldNumber& of) {
    using enum ChainStage;
    const Record& record = *of.model.window.record;
    const ChainCell& at = of.at;
    const RoundedRow& row = of.chain.row(is_of_keys(at.stage) ? of.model.window.queries.begin : at.row);
    switch (at.stage) {
        case q:
        case k:
        case v: return std::nullopt;
        case product: {
            const Index a = row.product_component(at.column);
            out.note = "Component " + std::to_string(a) + " has the product with the largest error.";
            const Expression left = out.step("q", of.value(q, at.row, a), of.place(q, at.row, a)),
                             right = out.step("k", of.value(k, at.column, a), of.place(k, at.column, a));
            return left * right;
        }
        case raw:
            out.operands_title = "Rounded q · rounded k, by component";
            for (Index a = 0; a < record.d_k(); ++a)
                out.term(std::to_string(a), of.value(q, at.row, a), of.value(k, at.column, a),
                         of.place(q, at.row, a), of.place(k, at.column, a));
            return out.dot("q", "k");
        case scaled: return of.step(out, "raw", raw) * record.scale();
        case capped: {
            const double cap = record.spec().softcap;
            return cap * tanh(of.step(out, "scaled", scaled) / cap);
        }
        case masked: {
            const double bias =
                static_cast<double>(record.spec().bias.at(of.model.head.head, at.row, at.column));
            return of.step(out, "capped", capped) + out.step("bias", bias);
        }
        case shifted: {
            const Expression score = of.step(out, "score", masked);
            return score - out.step("largest of the row", row.max(), of.place(masked, at.row, row.max_key()));
        }
        case exponential:
            return exp(of.chain.arithmetic().is_shifted() ? of.step(out, "shifted", shifted)
                                                          : of.step(out, "score", masked));
        case sum:
            out.operands_title = "Rounded exponentials";
            for (Index key = 0; key < record.keys(); ++key)
                if (row.sees(key))
                    out.summand(of.key_name(key), of.value(exponential, at.row, key),
                                of.place(exponential, at.row, key));
            return out.sum("exponentials");
        case weight: {
            const Expression above = of.step(out, "exponential", exponential);
            return above / out.step("sum", of.value(sum, at.row, 0), of.place(sum, at.row, 0));
        }
        case output: break;
    }
    out.operands_title = "Rounded weights · rounded values";
    if (of.chain.arithmetic().is_online())
        out.note = "Online, these weights are never formed: the output is rescaled key by key.";
    for (Index key = 0; key < record.keys(); ++key)
        if (row.sees(key))
            out.term(of.key_name(key), of.value(weight, at.row, key), of.value(v, key, at.column),
                     of.place(weight, at.row, key), of.place(v, key, at.column));
    return out.dot("weights", "v");
}

Explained explained_number(const ToldNumber& of, std::string title) {
    const RoundedChain& chain = of.chain;
    const std::string format(info(chain.arithmetic().format).name);
    const double value = chain.at(of.at), exact = chain.exact_at(of.at);
    const bool is_relative = of.model.state.measure == ErrorMeasure::relative && exact != 0;
    Explained out{.title = std::move(title),
                  .provenance = "emulated · " + arithmetic_text(chain.arithmetic()),
                  .formula = is_relative ? "|rounded − f64| / |f64|" : "|rounded − f64|"};
    if (const auto unrounded = from_operands(out, of)) out.step("from rounded operands", *unrounded);
    const Expression rounded = out.step("in " + format, value, std::string("each step rounded"));
    if (!std::isfinite(value)) {
        const ChainCell made = chain.traced_back(of.at).back();
        out.f32 = value;
        out.note = made == of.at ? cause_text(chain, made)
                                 : "It began with the " + std::string(stage_name(made.stage)) + " of " +
                                       place_text(of.subject, made) + ". " + cause_text(chain, made);
        return out;
    }
    const Expression in_double = out.step("in f64", exact, run_place(of));
    const Expression error = out.step("error", max(rounded - in_double, in_double - rounded),
                                      std::string("|" + format + " − f64|"));
    if (is_relative) out.step("relative error", error / max(in_double, 0 - in_double));
    out.f32 = out.f64;
    return out;
}

std::string error_title(const ToldNumber& of) {
    return "Error of " + std::string(stage_name(of.at.stage)) + ", " + place_text(of.subject, of.at) +
           ", in " + std::string(info(of.chain.arithmetic().format).name);
}

std::optional<Explained> explain_largest(Model& model, Subject& subject, const LensCell& cell) {
    const auto stage = static_cast<ChainStage>(cell.at[0]);
    const RoundedChain* chain = model.chain(model.with_format(static_cast<std::size_t>(cell.at[1])));
    const StageErrors* errors = model.errors(chain, stage);
    if (!errors || std::ranges::count(model.stages, stage) == 0) return std::nullopt;
    const auto& largest = errors->largest[static_cast<std::size_t>(model.state.measure)];
    if (errors->not_finite == 0 && largest.error < 0) return std::nullopt;
    const ToldNumber of{model, subject, *chain,
                        errors->not_finite > 0 ? *errors->first_not_finite : largest.at};
    return explained_number(
        of, (errors->not_finite > 0 ? "First failure: " : "Largest error: ") + error_title(of));
}

std::optional<Explained> explain_error(Model& model, Subject& subject, const LensCell& cell) {
    const RoundedChain* chain = model.chosen();
    const ChainCell at{static_cast<ChainStage>(cell.at[0]), cell.at[1], cell.at[2]};
    const Range rows = is_of_keys(at.stage) ? Range{0, model.window.record->keys()} : model.window.queries;
    if (!chain || !rows.holds(at.row) || at.column >= chain->columns(at.stage) ||
        std::ranges::count(model.stages, at.stage) == 0)
        return std::nullopt;
    const ToldNumber of{model, subject, *chain, at};
    if (chain->sees(at)) return explained_number(of, error_title(of));
    return Explained{
        .title = error_title(of), .masked = true, .note = "The mask hides it, so it is not computed."};
}

std::optional<Explained> explain_order(Model& model, Subject& subject, const LensCell& cell) {
    const RoundedChain* chain = model.chain(model.with_order(static_cast<std::size_t>(cell.at[0])));
    if (!chain || !model.window.queries.holds(cell.at[1])) return std::nullopt;
    const auto& largest = chain->errors_of_row(cell.at[1])[number_of(model.summed_stage())]
                              .largest[static_cast<std::size_t>(model.state.measure)];
    if (largest.error < 0) return std::nullopt;
    const ToldNumber of{model, subject, *chain, largest.at};
    return explained_number(of, "Largest error of its row: " + error_title(of));
}

std::optional<Explained> explain_range(Model& model, Subject& subject, const LensCell& cell) {
    const auto which = static_cast<std::size_t>(cell.at[0]);
    const FormatInfo& format = number_formats[static_cast<std::size_t>(cell.at[1])];
    const ExtremeAt* extreme = model.extreme(which);
    if (!extreme || !std::isfinite(extreme->log2)) return std::nullopt;
    const bool is_least = which >= static_cast<std::size_t>(Extreme::least_exponential);
    const ChainCell& at = extreme->at;
    Explained out{
        .title = "Range of " + std::string(format.name) + " that is used",
        .provenance = "f64, for " + place_text(subject, at),
        .formula = is_least ? "log₂ |x| / log₂ (least number)" : "log₂ |x| / log₂ (largest number)"};
    const Expression end =
        out.step(is_least ? "least number" : "largest number", std::exp2(log2_of_end(which, format)));
    const Expression limit = out.step("log2 of it", log(end) / std::log(2.0)),
                     size = out.step(
                         "log2 of x", extreme->log2,
                         CellPlace{model.head, cells::error(model.on_screen(at.stage), at.row, at.column)});
    out.step("range used", max(size / limit, 0));
    out.f32 = out.f64;
    if (out.f64 > 1)
        out.note = is_least ? "It is rounded to 0 or to the least number." : "It becomes infinite or NaN.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 4> declared{{
    {&cells::largest, explain_largest},
    {&cells::error, explain_error},
    {&cells::order, explain_order},
    {&cells::range, explain_range},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!refused.empty()) return std::nullopt;
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::numerics
