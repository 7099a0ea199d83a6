// Explains a weight between words by the tokens' weights, which are summed and averaged.
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

}  // namespace

void explain_words(Explained& out, const WordPair& pair, const Places& places, const TokenWeights& weight) {
    const auto rows = static_cast<double>(pair.query.size());
    const auto piece = [](std::span<const std::string> pieces, Index token) {
        const std::string& text = pieces[static_cast<std::size_t>(token)];
        return text.substr(std::min(text.find_first_not_of(' '), text.size()));
    };
    const bool several_rows = pair.query.size() > 1, several_keys = pair.key.size() > 1;
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
            sums += (sums.empty() ? "" : " + ") + four(w.f64);
            const std::string name = several_rows && several_keys ? shortened(piece(pair.query_pieces, i)) +
                                                                        "→" + piece(pair.key_pieces, j)
                                     : several_rows ? piece(pair.query_pieces, i)
                                                    : piece(pair.key_pieces, j);
            out.operands.push_back({name, w.f64, 1 / rows, w.f64 / rows, places(Stage::weight, i, j)});
        }
        if (several_rows && several_keys)
            out.steps.push_back({"Σ from " + piece(pair.query_pieces, i), sums, four(row), false});
        means += (means.empty() ? "" : " + ") + (several_rows ? four(row) : sums);
        sum_f64 += row;
    }
    out.f32 = static_cast<double>(static_cast<float>(sum_f32 / rows));
    out.f64 = sum_f64 / rows;
    if (several_rows) means = "(" + means + ") / " + std::to_string(pair.query.size());
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
    out.operands_title = std::string("Weights of their tokens") +
                         (several_rows ? " · 1/" + std::to_string(pair.query.size()) : "");
    out.note =
        "Between words: from a word the mean over its tokens, to a word the sum over its tokens, so a row "
        "keeps its sum (Clark et al. 2019, arXiv 1906.04341).";
}

TokenWeights token_weights(const Record& record, Index head) {
    return [&record, head, row = std::optional<RowChain>(), row_query = Index{-1}](Index query,
                                                                                   Index key) mutable {
        if (std::exchange(row_query, query) != query) row = row_chain(record, head, query);
        const CellExplanation why = row->at(key);
        const float f32 = record.cell(Stage::weight, head, query, key);
        return TokenWeight{why.allowed, static_cast<double>(f32), why.weight};
    };
}

void leave_out_first_key(Explained& out, const CellRef& cell, const TokenWeight& first, const CellPlace& at) {
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

void leave_out_first_word(Explained& out, const CellRef& cell, const WordPair& first, const Places& places,
                          const TokenWeights& weight) {
    if (cell.sink == Sink::shown) return;
    Explained of_first;
    explain_words(of_first, first, places, weight);
    CellPlace at = places(Stage::weight, cell.row, 0);
    at.cell.words = true;
    leave_out_first_key(out, cell, {!of_first.masked, of_first.f32, of_first.f64}, at);
}

}  // namespace attn::app
