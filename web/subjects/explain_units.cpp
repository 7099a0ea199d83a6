// Explains weights that are made of others: those between larger units, by the tokens' weights, which are
// summed and averaged, and means over heads.
#include <algorithm>
#include <utility>

#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

// Shortens a name to "gran…", so that another name fits next to it.
std::string shortened(std::string_view name) {
    constexpr int most = 4;  // characters
    std::size_t length = 0;
    for (int i = 0; i < most && length < name.size(); ++i)
        length += first_code_point(name.substr(length)).bytes;
    return std::string(name.substr(0, length)) + (length < name.size() ? "…" : "");
}

struct UnitPair {
    Range query, key;                                       // token ranges
    std::string query_name, key_name;                       // in quotation marks if they are words
    std::span<const std::string> query_pieces, key_pieces;  // names of all tokens
};

constexpr Index most_operands = 256;

void explain_pair(Explained& out, const UnitPair& pair, const Places& places, const TokenWeights& weight) {
    const auto rows = static_cast<double>(pair.query.size());
    const auto piece = [](std::span<const std::string> pieces, Index token) {
        const std::string& text = pieces[static_cast<std::size_t>(token)];
        return text.substr(std::min(text.find_first_not_of(' '), text.size()));
    };
    const bool several_rows = pair.query.size() > 1, several_keys = pair.key.size() > 1,
               few = pair.query.size() * pair.key.size() <= most_operands;
    std::string means;
    double sum_f32 = 0, sum_f64 = 0;
    out.masked = true;
    for (Index i = pair.query.begin; i < pair.query.end; ++i) {
        std::string sums;
        double row = 0;
        for (Index j = pair.key.begin; j < pair.key.end; ++j) {
            const TokenWeight w = weight(i, j);
            if (w.allowed) out.masked = false;
            sum_f32 += w.f32;
            row += w.f64;
            if (!few) continue;
            sums += (sums.empty() ? "" : " + ") + four(w.f64);
            const std::string name = several_rows && several_keys ? shortened(piece(pair.query_pieces, i)) +
                                                                        "→" + piece(pair.key_pieces, j)
                                     : several_rows ? piece(pair.query_pieces, i)
                                                    : piece(pair.key_pieces, j);
            out.operands.push_back({name, w.f64, 1 / rows, w.f64 / rows, places(Stage::weight, i, j)});
        }
        sum_f64 += row;
        if (!few) {
            out.operands.push_back({"Σ from " + piece(pair.query_pieces, i), row, 1 / rows, row / rows, {}});
            continue;
        }
        if (several_rows && several_keys)
            out.steps.push_back({"Σ from " + piece(pair.query_pieces, i), sums, four(row), false});
        means += (means.empty() ? "" : " + ") + (several_rows ? four(row) : sums);
    }
    out.f32 = static_cast<double>(static_cast<float>(sum_f32 / rows));
    out.f64 = sum_f64 / rows;
    if (several_rows && few) means = "(" + means + ") / " + std::to_string(pair.query.size());
    out.steps.push_back({several_rows   ? "mean"
                         : several_keys ? "sum"
                                        : "weight",
                         means, four(out.f64), true});
    out.left_name = "weights";
    out.right_name = "shares";
    out.line("weight", out.dot());
    out.title = "Weights[" + pair.query_name + ", " + pair.key_name + "]";
    out.formula = std::string(several_rows ? "1/" + std::to_string(pair.query.size()) + " · Σ_i " : "") +
                  (several_keys ? "Σ_j " : "") + "Weights[" + (several_rows ? "i" : pair.query_name) + ", " +
                  (several_keys ? "j" : pair.key_name) + "]";
    if (several_rows) out.formula += ", i in " + pair.query_name;
    if (several_keys) out.formula += ", j in " + pair.key_name;
    out.operands_title = std::string(few ? "Weights of their tokens" : "Sums over the key’s tokens") +
                         (several_rows ? " · 1/" + std::to_string(pair.query.size()) : "");
    out.note =
        "From several tokens the mean over their rows, to several tokens the sum over their columns, so a "
        "row "
        "keeps its sum (Clark et al. 2019, arXiv 1906.04341).";
}

}  // namespace

TokenWeights token_weights(const Record& record, Index head) {
    return [&record, head, row = std::optional<RowChain>(), row_query = Index{-1}](Index query,
                                                                                   Index key) mutable {
        if (std::exchange(row_query, query) != query) row = row_chain(record, head, query);
        const CellExplanation why = row->at(key);
        const float f32 = record.cell(Stage::weight, head, query, key);
        return TokenWeight{why.allowed, static_cast<double>(f32), why.weight};
    };
}

void leave_out_first_key(Explained& out, const RunCell& cell, const TokenWeight& first, const CellPlace& at) {
    if (cell.sink == Sink::shown) return;
    if (cell.col == 0) {
        out.masked = true;
        out.note = "The map leaves out the first key, on which many heads rest; its number is this.";
        return;
    }
    if (cell.sink == Sink::hidden) {
        out.note = "The map leaves out the first key; the other weights stay as they are.";
        return;
    }
    const double before = out.f64, left = first.allowed ? 1 - first.f64 : 1,
                 left_f32 = first.allowed ? 1 - first.f32 : 1;
    for (auto& step : out.steps) step.current = false;
    out.steps.push_back({"first key", "", four(first.f64), false, at});
    out.f64 = left > 0 ? before / left : 0;
    const Expression weight = out.calculation.empty() ? out.line("weight", before) : out.calculation.result();
    const Expression first_key = out.line("first_key", first.f64);
    out.line("renormalised", left > 0 ? weight / (1 - first_key) : Expression(0));
    out.f32 = left_f32 > 0 ? static_cast<double>(static_cast<float>(out.f32 / left_f32)) : 0;
    out.steps.push_back(
        {"renormalised", four(before) + " / (1 − " + four(first.f64) + ")", four(out.f64), true});
    out.formula = "(" + out.formula + ") / (1 − the weight of the first key)";
    out.note = "The map leaves out the first key and divides the rest of the row by what it leaves, 1 − " +
               four(first.f64) + ".";
}

std::optional<Explained> explain_units(const Attention& attention, std::span<const TokenSpan> spans,
                                       HeadIndex at, const RunCell& cell, const TokenWeights& weight) {
    const MapChoice choice{.unit = cell.unit, .spans = {spans.begin(), spans.end()}};
    if (attention.unit_of(choice) != cell.unit) return std::nullopt;
    const UnitAxis &queries = attention.query_text().axis(cell.unit, spans),
                   &keys = attention.key_text().axis(cell.unit, spans);
    if (cell.row < 0 || cell.row >= queries.count() || cell.col < 0 || cell.col >= keys.count())
        return std::nullopt;
    const auto name = [&](const std::string& unit) {
        return attention.has_tokens() ? in_quotes(unit) : unit;
    };
    const auto pair = [&](Index key) {
        return UnitPair{queries.of(cell.row),         keys.of(key),
                        name(queries.name(cell.row)), name(keys.name(key)),
                        attention.query_names(),      attention.key_names()};
    };
    const Places places{at, cell.second};
    Explained out;
    explain_pair(out, pair(cell.col), places, weight);
    if (cell.sink == Sink::shown) return out;
    Explained of_first;
    explain_pair(of_first, pair(0), places, weight);
    leave_out_first_key(out, cell, {!of_first.masked, of_first.f32, of_first.f64},
                        {at, RunCell{.row = cell.row, .col = 0, .second = cell.second, .unit = cell.unit}});
    return out;
}

std::optional<Explained> explain_mean(const Attention& attention, HeadIndex at, const RunCell& cell,
                                      const std::function<std::optional<Explained>(const CellPlace&)>& one) {
    const std::vector<HeadIndex> heads = attention.meant(cell.mean, at);
    RunCell of_head = cell;
    of_head.mean = HeadMean::one;
    const double share = 1 / static_cast<double>(heads.size());
    Explained out;
    out.masked = true;
    double f32 = 0, in_double = 0;
    bool repeated = true;
    for (const HeadIndex head : heads) {
        const CellPlace place{head, of_head};
        const auto why = one(place);
        if (!why) return std::nullopt;
        if (out.title.empty()) out.title = "Mean of " + why->title;
        out.masked &= why->masked;
        const double value = why->masked ? 0 : why->f64;
        f32 += why->masked ? 0 : static_cast<double>(static_cast<float>(why->f32));
        repeated &= why->in_double.has_value();
        in_double += why->in_double.value_or(0);
        out.operands.push_back(
            {"head " + attention.numbering().short_head(head), value, share, value * share, place});
    }
    out.f32 = static_cast<double>(static_cast<float>(f32 * share));
    if (repeated && !out.masked) out.in_double = in_double * share;
    out.left_name = "weights";
    out.right_name = "shares";
    out.operands_title = "Weights of the heads · 1/" + std::to_string(heads.size());
    out.formula = "1/" + std::to_string(heads.size()) + " · Σ_h " + std::string(symbol(cell.stage)) + "_h";
    out.f64 = out.line("mean", out.dot()).value();
    out.steps.push_back({"mean", "", four(out.f64), true});
    out.provenance = mean_text(attention, cell.mean, at) + " · " + attention.title();
    out.note = "A mean over heads is no head of the model: nothing computes with it.";
    return out;
}

}  // namespace attn::app
