#include "attention/explain.hpp"

#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

ScoreRow score_row(const Record& record, Index head, Index query) {
    const AttentionSpec& spec = record.spec();
    const ConstMatrix q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head));
    ScoreRow row;
    row.scale = static_cast<double>(record.scale());
    row.softcap = static_cast<double>(spec.softcap);
    row.allowed.resize(static_cast<std::size_t>(record.keys()));
    spec.mask.row(head, query, 0, row.allowed);
    for (Index j = 0; j < record.keys(); ++j) {
        double raw = 0;
        for (Index a = 0; a < q.cols; ++a)
            raw += static_cast<double>(q(query, a)) * static_cast<double>(k(j, a));
        row.raw.push_back(raw);
        if (!spec.bias.empty()) row.bias.push_back(static_cast<double>(spec.bias.at(head, query, j)));
    }
    return row;
}

// A weight of 0 takes nothing even from an infinite value.
Term weighted(Index index, double weight, double value) {
    return {index, weight, weight == 0 && !std::isfinite(value) ? 0 : value};
}

}  // namespace

double CellExplanation::chain_value(Stage stage) const {
    switch (stage) {
        case Stage::raw: return raw;
        case Stage::scaled: return scaled;
        case Stage::capped: return capped;
        case Stage::masked: return masked;
        default: return weight;
    }
}

RowChain::RowChain(ScoreRow row) : row_(std::move(row)), max_(-infinity) {
    for (Index j = 0; j < std::ssize(row_.raw); ++j) {
        const double masked = to_masked(j).masked;
        if (masked > max_) max_ = masked;
    }
    for (Index j = 0; j < std::ssize(row_.raw); ++j) sum_ += exponential(to_masked(j));
}

CellExplanation RowChain::to_masked(Index key) const {
    const auto j = static_cast<std::size_t>(key);
    CellExplanation cell;
    cell.allowed = row_.allowed[j];
    cell.raw = row_.raw[j];
    cell.scale = row_.scale;
    cell.scaled = cell.scale * cell.raw;
    cell.capped = row_.softcap != 0 ? row_.softcap * std::tanh(cell.scaled / row_.softcap) : cell.scaled;
    cell.bias = row_.bias.empty() ? 0 : row_.bias[j];
    cell.masked = cell.allowed ? cell.capped + cell.bias : -infinity;
    return cell;
}

double RowChain::exponential(const CellExplanation& cell) const {
    if (!cell.allowed) return 0;
    if (std::isinf(max_) && !std::isnan(cell.masked)) return max_ > 0 && cell.masked == max_ ? 1 : 0;
    return std::exp(cell.masked - max_);
}

CellExplanation RowChain::at(Index key) const {
    CellExplanation cell = to_masked(key);
    cell.row_max = max_;
    cell.row_sum = sum_;
    cell.exponential = exponential(cell);
    cell.weight = !cell.allowed || sum_ == 0 ? 0 : cell.exponential / sum_;
    return cell;
}

CellExplanation explain(const Record& record, Stage stage, Index head, Index query, Index key) {
    CellExplanation cell = RowChain(score_row(record, head, query)).at(key);
    cell.f32 = record.cell(stage, head, query, key);
    cell.f64 = cell.chain_value(stage);
    if (stage == Stage::raw) {
        const ConstMatrix q = record.q().heads().head(head),
                          k = record.k().heads().head(record.kv_head(head));
        for (Index a = 0; a < record.d_k(); ++a)
            cell.terms.push_back({a, static_cast<double>(q(query, a)), static_cast<double>(k(key, a))});
    }
    if (stage == Stage::contribution) {
        const ConstMatrix v = record.v().heads().head(record.kv_head(head));
        double squares = 0;
        for (Index b = 0; b < record.d_v(); ++b) {
            cell.terms.push_back(weighted(b, cell.weight, static_cast<double>(v(key, b))));
            squares += cell.terms.back().product() * cell.terms.back().product();
        }
        cell.f64 = std::sqrt(squares);
    }
    return cell;
}

CellExplanation explain_output(const Record& record, Index head, Index query, Index component) {
    const RowChain row(score_row(record, head, query));
    const ConstMatrix v = record.v().heads().head(record.kv_head(head));
    CellExplanation cell;
    cell.f32 = record.output().heads().head(head)(query, component);
    cell.scale = static_cast<double>(record.scale());
    cell.row_max = row.row_max();
    cell.row_sum = row.row_sum();
    for (Index j = 0; j < record.keys(); ++j) {
        cell.terms.push_back(weighted(j, row.at(j).weight, static_cast<double>(v(j, component))));
        cell.f64 += cell.terms.back().product();
    }
    return cell;
}

}  // namespace attn
