// Explains numbers of a text's run through a model.
#include <cmath>
#include <cstdlib>

#include "app/format.hpp"
#include "model/block.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// Says which bias of T5 a score gets, and where it is stored.
void add_bias(Explained& out, const TextRun& run, HeadIndex at, const RunCell& cell) {
    const auto bucket = bias_bucket(*run.run, at.layer, cell.row, cell.col);
    if (!bucket) return;
    const RelativeBias& bias = *run.run->attention(at.layer).queries.network().relative_bias;
    const StoredAt stored = stored_at(*run.run->model(), bias.table, at.head, *bucket);
    const Index offset = cell.col - cell.row;
    const std::string far = offset == 0 ? "at the query itself"
                                        : many(std::abs(offset), "token") +
                                              (offset < 0 ? " before the query" : " after the query");
    for (auto& step : out.steps)
        if (step.name == "bias") step.arithmetic = "of bucket " + std::to_string(*bucket) + ": " + far;
    out.note = "Bias: the key is " + far + ", which is bucket " + std::to_string(*bucket) + " of " +
               std::to_string(bias.buckets.count) + "; its number for this head is " +
               fixed(element(bias.table, at.head, *bucket), 6) + ", " + bias.name + ".weight[" +
               std::to_string(*bucket) + ", " + std::to_string(at.head) + "]" +
               (stored.weight ? ", " + place_in_file(stored) : "") + ".";
}

// Says whether the model's own mask applies. A mask that the user has put in its place, or changed, has other
// rules.
bool has_own_mask(const TextRun& run, Index attention) {
    const Mask& mask = run.record_at(attention).spec().mask;
    return !mask.is_everything() && mask == mask_of(run.run->attention(attention).half);
}

std::string mask_rule(const AttentionSublayer& half, const RunCell& cell) {
    if (half.causal && cell.col > cell.row) return "after the query";
    if (half.window == 0) return "not after the query";
    return (std::abs(cell.row - cell.col) < half.window ? "inside" : "outside") +
           (" the window of " + many(half.window, "key")) + (half.causal ? "" : " on either side");
}

void add_window(Explained& out, const TextRun& run, Index attention, const RunCell& cell,
                const CellNames& names) {
    const AttentionSublayer& half = run.run->attention(attention).half;
    const Index window = half.window;
    if (window == 0) return;
    if (!half.causal) {
        out.note = "Window: a query of this layer sees itself and " + many(window - 1, "key") +
                   " on either side." + (out.note.empty() ? "" : " " + out.note);
        return;
    }
    const Index first = std::max<Index>(cell.row - window + 1, 0);
    out.note = "Window: a query of this layer sees " + many(window, "key") + ", itself included. That of " +
               names.query + " reaches back to " + names.key_at(first) + " at position " +
               std::to_string(first) + (cell.col < first ? ", behind this key." : ".") +
               (out.note.empty() ? "" : " " + out.note);
}

std::optional<Explained> explain_step(const TextRun& run, HeadIndex at, const RunCell& cell,
                                      std::span<const TokenSpan> spans) {
    const auto [layer, head] = at;
    const Places places{at, cell.second};
    if (is_of_model(cell.stage)) {
        auto out = explain_model_cell(run, places, cell);
        if (out) add_changes(*out, *run.run, at, cell);
        return out;
    }
    const Record& record = run.record_at(layer);
    const auto key_name = [&](Index i) { return in_quotes(label_at(run.key_names(), i)); };
    Explained out;
    if (cell.unit != Unit::tokens) return explain_units(run, spans, at, cell, token_weights(record, head));
    const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    const bool own_mask = is_of_pairs(cell.stage) && has_own_mask(run, layer);
    const CellNames names{in_quotes(label_at(run.query_names(), cell.row)),
                          key_name(of_keys ? cell.row : cell.col), key_name,
                          own_mask ? mask_rule(run.run->attention(layer).half, cell) : ""};
    const auto projected = [&](Index key) {
        const LayerAttention attention = run.run->attention(layer);
        const WeightView& w_o = attention.half.attention_out.weight;
        return ProjectedValue{
            value_out(attention, head, key),
            static_cast<double>(projected_value_norms(record, head, w_o, {key, key + 1}).front())};
    };
    if (!explain_cell(out, record, places, cell, names, projected)) return std::nullopt;
    if (is_of_pairs(cell.stage))
        leave_out_first_key(out, cell, token_weights(record, head)(cell.row, 0),
                            places(Stage::weight, cell.row, 0));
    if (cell.stage == Stage::q || of_keys) explain_projection(out, run, places, cell);
    if (is_of_pairs(cell.stage) || cell.stage == Stage::exponential) add_bias(out, run, at, cell);
    if (own_mask) add_window(out, run, layer, cell, names);
    const bool encoded = of_keys && run.kind == AttentionKind::cross;
    if (cell.stage == Stage::v)
        out.note = encoded ? "A value vector: what the encoder made of this token times W_V."
                           : "A value vector: the normalised residual of this token times W_V.";
    if (cell.stage == Stage::q || cell.stage == Stage::k) {
        // If only some components are rotated, the others are the same at every position.
        const Rotary* rotary = run.run->model()->network().rotary_of(layer);
        const bool turns = pair_of(rotary, cell.col).partner >= 0;
        out.note = "Component " + std::to_string(cell.col) + " of the " + (of_keys ? "key" : "query") +
                   " that enters the score" +
                   (turns    ? ", after its rotary position."
                    : rotary ? ". In this model, rotary positions turn only the first " +
                                   many(2 * rotary->pairs(), "component") + " of a head, and not this one."
                             : ".");
    }
    add_changes(out, *run.run, at, cell);
    return out;
}

// A weight between larger units is the mean over the query's tokens of the sum over the key's tokens.
std::optional<double> exact_of(const DoubleRun& whole, const TextRun& run, HeadIndex at, const RunCell& cell,
                               std::span<const TokenSpan> spans) {
    if (cell.unit == Unit::tokens) return whole.value(at.layer, cell.stage, at.head, cell.row, cell.col);
    const Range queries = run.query_text().axis(cell.unit, spans).of(cell.row),
                keys = run.key_text().axis(cell.unit, spans).of(cell.col);
    double sum = 0;
    for (Index query = queries.begin; query < queries.end; ++query)
        for (Index key = keys.begin; key < keys.end; ++key)
            sum += whole.value(at.layer, Stage::weight, at.head, query, key).value_or(NAN);
    return sum / static_cast<double>(queries.size());
}

}  // namespace

void add_double(Explained& out, const TextRun& run,
                const std::function<std::optional<double>(const DoubleRun&)>& value) {
    const DoubleRun* whole = run.in_double();
    if (!whole) return;
    if (whole->done())
        out.in_double = value(*whole);
    else
        out.in_double_progress = whole->progress();
}

std::optional<Explained> explain_run_cell(const TextRun& run, HeadIndex at, const RunCell& cell,
                                          std::span<const TokenSpan> spans) {
    auto out = explain_step(run, at, cell, spans);
    if (out && !out->masked && cell.sink == Sink::shown && DoubleRun::has(cell.stage))
        add_double(*out, run, [&](const DoubleRun& whole) { return exact_of(whole, run, at, cell, spans); });
    return out;
}

}  // namespace attn::app
