// Explains the numbers of lens Properties: what a check compared, and what its bound is made of.
#include <algorithm>
#include <cmath>

#include "analysis/properties/paired_runs.hpp"
#include "app/format.hpp"
#include "lenses/properties/properties.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::properties {

namespace {

Explained begun(Subject& subject, Property property, const CheckedCell& cell, const char* what) {
    const bool of_layer = property == Property::heads;
    const Layers numbering = subject.attention()->numbering();
    return {
        .title = std::string(name_of(property)) + ": " + what + " at " + place_name(subject, property, cell),
        .provenance = of_layer ? numbering.name(cell.layer) : head_text({cell.layer, cell.head}, numbering)};
}

std::string key_name(Subject& subject, const CheckedCell& cell, Index key) {
    return in_quotes(label_at(subject.attention_of(cell.layer)->key_names(), key));
}

std::shared_ptr<const Record> record_at(Subject& subject, const CheckedCell& cell) {
    return subject.attention_of(cell.layer)->record(cell.layer);
}

// |here − there|. What is not finite has no difference.
void add_difference(Explained& out, const Expression& here, const Expression& there, double error) {
    if (std::isfinite(here.value()) && std::isfinite(there.value()))
        out.step("error", max(here - there, there - here));
    else
        out.step("error", error, std::string("one of them is not a number"));
}

// ---- Errors -----------------------------------------------------------------------------------------------

void explain_row(Explained& out, Subject& subject, const CheckedCell& cell) {
    if (cell.at >= 0) {
        out.formula = "−Weights, where they are below 0";
        out.step("error",
                 Expression(0) - out.step("weight", cell.here, place_of(subject, Property::rows, cell)));
        return;
    }
    out.formula = "|Σ_j Weights[j] − 1|";
    out.operands_title = "Weights of the row, in f32";
    const auto record = record_at(subject, cell);
    const auto weights = record ? record->weights(cell.head, cell.query) : [&] {
        const MapPointer map = subject.attention()->maps({})(cell.layer, cell.head);
        return cells_of(*map, {{cell.query, cell.query + 1}, {0, map->keys()}});
    }();
    const Places places{{cell.layer, cell.head}};
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0 || std::isinf(weights[j])) continue;
        const auto key = static_cast<Index>(j);
        out.summand(key_name(subject, cell, key), static_cast<double>(weights[j]),
                    places(Stage::weight, cell.query, key));
    }
    add_difference(out, out.step("Σ, in double", out.sum("weights")), 1, cell.error);
}

void explain_rounding(Explained& out, Subject& subject, const CheckedCell& cell) {
    out.formula = "|Output in f32 − Σ_j Weights[j] V[j] in double|";
    out.operands_title = "Weights in double · values";
    const auto record = record_at(subject, cell);
    const RowBounds row(*record, cell.head, cell.query);
    const ConstMatrix v = record->v().heads().head(record->kv_head(cell.head));
    const Places places{{cell.layer, cell.head}};
    for (Index key = 0; key < record->keys(); ++key)
        if (const double w = row.weights()[static_cast<std::size_t>(key)]; w != 0)
            out.term(key_name(subject, cell, key), w, static_cast<double>(v(key, cell.at)),
                     places(Stage::weight, cell.query, key), places(Stage::v, key, cell.at));
    const Expression exact = out.step("in double", out.dot("weights", "values"));
    const Expression here = out.step("in f32", cell.here, place_of(subject, Property::rounding, cell));
    add_difference(out, here, exact, cell.error);
}

void explain_heads(Explained& out, Subject& subject, const CheckedCell& cell) {
    out.formula = "|Σ_h head h + b_O − Attention|";
    out.operands_title = "What each head adds, and the bias";
    const auto added = head_summands(*subject.attention()->trace(), cell.layer, cell.query, cell.at);
    const Layers numbering = subject.attention()->numbering();
    for (std::size_t h = 0; h < added.size(); ++h)
        out.summand(h + 1 == added.size()
                        ? "bias"
                        : "head " + numbering.short_head({cell.layer, static_cast<Index>(h)}),
                    added[h]);
    const Expression sum = out.step("sum", out.sum("added")),
                     whole = out.step("attention", cell.there, place_of(subject, Property::heads, cell));
    add_difference(out, whole, sum, cell.error);
}

void explain_pair(Explained& out, Subject& subject, Property property, const CheckedCell& cell) {
    static constexpr std::array<std::pair<Property, const char*>, 8> others{{
        {Property::hull, "nearest value in the box"},
        {Property::permutation, "in the permuted order"},
        {Property::shift, "with the constant added"},
        {Property::past, "with another future"},
        {Property::bits, "the second time"},
        {Property::lengths, "in the text cut short"},
        {Property::parallel, "computed alone"},
        {Property::positions, "in the permuted text"},
    }};
    const auto* other = std::ranges::find(others, property, &std::pair<Property, const char*>::first);
    out.formula = property == Property::hull ? "how far the output is outside of [min_j V[j], max_j V[j]]"
                                             : "|output − output of the other run|";
    const Expression here = out.step("in the run", cell.here, place_of(subject, property, cell)),
                     there = out.step(other->second, cell.there);
    add_difference(out, here, there, cell.error);
}

void explain_masked(Explained& out, Subject& subject, const CheckedCell& cell) {
    out.formula = "max(|weight|, what NaN and ∞ in masked keys and values change)";
    const Expression weight =
        max(out.step("weight", cell.here, place_of(subject, Property::masked, cell)), -cell.here);
    const double changed = cell.error == std::abs(cell.here) ? 0 : cell.error;
    if (std::isfinite(cell.error))
        out.step("error", max(weight, out.step("changed by NaN and ∞", changed)));
    else
        out.step("error", cell.error, std::string("the row became NaN, so it read what is masked"));
}

Explained explain_error(Subject& subject, Property property, const CheckedCell& cell) {
    Explained out = begun(subject, property, cell, "error");
    switch (property) {
        case Property::rows: explain_row(out, subject, cell); break;
        case Property::masked: explain_masked(out, subject, cell); break;
        case Property::heads: explain_heads(out, subject, cell); break;
        case Property::rounding: explain_rounding(out, subject, cell); break;
        default:
            if (property == Property::past && subject.attention()->finished()) {
                out.formula = "Weights on a key behind the query";
                add_difference(out, out.step("weight", cell.here, place_of(subject, property, cell)), 0,
                               cell.error);
            } else {
                explain_pair(out, subject, property, cell);
            }
    }
    out.f32 = single(cell.error);
    out.note = way_of(property);
    return out;
}

// ---- Bounds -----------------------------------------------------------------------------------------------

constexpr const char* higham =
    " Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1: u = 2⁻²⁴, and a sum "
    "of "
    "n numbers is off by γ_n = n u / (1 − n u) of their magnitudes.";

// The bound of one run's output: Σ w |v| (e^t − 1).
Expression output_bound(Explained& out, Subject& subject, const CheckedCell& cell, const Record& record,
                        const RowBounds& row) {
    out.operands_title = "Weight · |value|, and how far its exponential may be off";
    const ConstMatrix v = record.v().heads().head(record.kv_head(cell.head));
    for (Index key = 0; key < record.keys(); ++key) {
        const auto j = static_cast<std::size_t>(key);
        if (row.weights()[j] == 0) continue;
        out.term(key_name(subject, cell, key),
                 std::abs(row.weights()[j] * static_cast<double>(v(key, cell.at))),
                 std::expm1(row.exponents()[j]));
    }
    return out.step("bound of a run", out.dot("magnitudes", "factors"));
}

void explain_row_bound(Explained& out, const RowBounds& row) {
    out.formula = "e^(2R + 2g + l) − 1";
    const Expression r = out.step("R", row.of_row(), std::string("scores and exponentials")),
                     g = out.step("g", row.sums(), std::string("sums")),
                     l = out.step("l", row.of_logarithm(), std::string("the logarithm of the row’s sum"));
    out.step("bound", exp(2 * r + 2 * g + l) - 1);
}

Explained explain_bound(Model& model, Subject& subject, Property property, const CheckedCell& cell) {
    Explained out = begun(subject, property, cell, "bound");
    auto record = record_at(subject, cell);
    const bool of_two_runs = property == Property::shift || property == Property::permutation;
    // These run without the changes of single scores and weights, which have places of their own.
    if (record && record->spec().edits && of_two_runs) {
        AttentionSpec spec = record->spec();
        spec.edits = {};
        record = std::make_shared<const Record>(*record->prepare_under(spec));
    }
    const bool is_rounded = property == Property::rounding || property == Property::hull || of_two_runs;
    const auto row = record && (is_rounded || (property == Property::rows && cell.at < 0))
                         ? std::optional<RowBounds>(std::in_place, *record, cell.head, cell.query)
                         : std::nullopt;
    if (!row && property == Property::heads) {
        const double n = static_cast<double>(record->heads() * record->d_v() + 5),
                     d = static_cast<double>(record->d_v() + 4);
        const double roundings = rounding_of_sum(n) + rounding_of_sum(d);
        out.formula = "(γ_n + γ_d) (Σ |output| |W_O| + |b_O|)";
        const Expression magnitude = out.step("Σ |output| |W_O| + |b|", cell.bound / roundings);
        out.step("bound", out.step("γ_n + γ_d", roundings) * magnitude);
    } else if (!row) {
        out.formula = record || cell.at >= 0 ? "0" : "softmax in f32 or f16, and its rows added up";
        out.step("bound", cell.bound);
    } else if (property == Property::rows) {
        explain_row_bound(out, *row);
    } else {
        const RowBounds::Output exact = row->output(cell.at);
        out.formula = "Σ_j Weights[j] |V[j]| (e^(r_j + R + 2g) − 1)";
        if (property == Property::hull) {
            out.formula = "Σ_j Weights[j] |V[j]| · (e^(2g) − 1)";
            const Expression size = out.step("Σ w |v|", exact.magnitude);
            out.step("bound", size * (exp(2 * out.step("g", row->sums())) - 1));
        } else {
            const Expression one = output_bound(out, subject, cell, *record, *row);
            const double largest = property == Property::shift
                                       ? largest_shifted(*record, *row, model.checks->options().constant)
                                       : 0;
            if (of_two_runs) {
                const Expression size = out.step("Σ w |v|", exact.magnitude),
                                 shifted = out.step("rounded once more", 2 * f32_roundoff * largest);
                out.step("bound of both runs", one + exp(shifted) * (one + size) - size);
            }
        }
    }
    out.note = cell.bound == 0 ? "Not a bit may differ."
               : record        ? std::string("The bound is known before anything is rounded.") + higham
                               : "The file may hold f16, whose weights are off by up to 2⁻¹¹ each.";
    out.f32 = single(cell.bound);
    return out;
}

// ---- Which cell -------------------------------------------------------------------------------------------

const PropertyResult* result_of(const Model& model, const LensCell& cell) {
    const PropertyResult& result = model.result(static_cast<Property>(cell.at[0]));
    return result.cells > 0 ? &result : nullptr;
}
const CheckedCell* at_query(const PropertyResult& result, Index query) {
    const auto at = std::ranges::lower_bound(result.queries, query, {}, &CheckedCell::query);
    return at != result.queries.end() && at->query == query ? &*at : nullptr;
}

template <bool of_bound>
std::optional<Explained> explain_worst(Model& model, Subject& subject, const LensCell& cell) {
    const PropertyResult* result = result_of(model, cell);
    if (!result) return std::nullopt;
    const auto property = static_cast<Property>(cell.at[0]);
    return of_bound ? explain_bound(model, subject, property, result->worst)
                    : explain_error(subject, property, result->worst);
}

template <bool of_bound>
std::optional<Explained> explain_query(Model& model, Subject& subject, const LensCell& cell) {
    const PropertyResult* result = result_of(model, cell);
    const CheckedCell* found = result ? at_query(*result, cell.at[1]) : nullptr;
    if (!found) return std::nullopt;
    const auto property = static_cast<Property>(cell.at[0]);
    return of_bound ? explain_bound(model, subject, property, *found)
                    : explain_error(subject, property, *found);
}

std::optional<Explained> explain_head(Model& model, Subject& subject, const LensCell& cell) {
    const PropertyResult* result = result_of(model, cell);
    if (!result) return std::nullopt;
    const auto found = std::ranges::find_if(result->heads, [&](const CheckedCell& each) {
        return each.layer == cell.at[1] && each.head == cell.at[2];
    });
    if (found == result->heads.end()) return std::nullopt;
    return explain_error(subject, static_cast<Property>(cell.at[0]), *found);
}

std::optional<Explained> explain_count(Model& model, Subject& subject, const LensCell& cell) {
    const PropertyResult* result = result_of(model, cell);
    if (!result) return std::nullopt;
    const auto property = static_cast<Property>(cell.at[0]);
    Explained out{.title = std::string(name_of(property)) + ": cells checked",
                  .provenance = "computed in this page",
                  .formula = "cells that hold + cells that do not"};
    const Expression held = out.step("hold", static_cast<double>(result->cells - result->broken)),
                     broken = out.step("do not hold", static_cast<double>(result->broken));
    out.step("cells", held + broken);
    const auto rows = std::ssize(result->queries);
    out.note = many(rows, "row") + " of " + many(subject.attention()->queries(), "query") + " and " +
               many(std::ssize(result->heads), "head") + ". " + way_of(property);
    out.f32 = single(out.f64);
    return out;
}

constexpr std::array<ModelNumber<Model>, 6> declared{{
    {&cells::error, explain_worst<false>},
    {&cells::bound, explain_worst<true>},
    {&cells::count, explain_count},
    {&cells::query, explain_query<false>},
    {&cells::limit, explain_query<true>},
    {&cells::head, explain_head},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return checks ? explain_by(declared, *this, subject, cell) : std::nullopt;
}

}  // namespace attn::app::properties
