#include "attention/explain.hpp"

#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Sums in lanes, which the compiler turns into vectors.
double dot(const float* a, const float* b, Index count) {
    constexpr Index lanes = 4;
    double sums[lanes] = {};
    Index i = 0;
    for (; i + lanes <= count; i += lanes)
        for (Index lane = 0; lane < lanes; ++lane)
            sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

// A weight of 0 takes nothing, not even from an infinite value.
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
    const Index keys = std::ssize(row_.raw);
    for (Index j = 0; j < keys; ++j) masked_.push_back(biased(j));
    change(CellEdit::Of::score, masked_);
    for (Index j = 0; j < keys; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (!row_.allowed[at]) masked_[at] = -infinity;
        if (masked_[at] > max_) {
            max_ = masked_[at];
            max_key_ = j;
        }
    }
    for (Index j = 0; j < keys; ++j) sum_ += exponential(j);
    if (!row_.edits || !touches(*row_.edits, CellEdit::Of::weight, row_.head, row_.query)) return;
    for (Index j = 0; j < keys; ++j) weights_.push_back(weight(j));
    change(CellEdit::Of::weight, weights_);
}

void RowChain::change(CellEdit::Of of, std::vector<double>& numbers) const {
    if (!row_.edits || !touches(*row_.edits, of, row_.head, row_.query)) return;
    std::vector<std::uint8_t> seen = row_.allowed;
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j] = seen[j] && masked_[j] != -infinity;
    change_cells(*row_.edits, of, row_.head, row_.query, 0, numbers, seen);
}

double RowChain::capped(Index key) const {
    const double scaled = row_.scale * row_.raw[static_cast<std::size_t>(key)];
    return row_.softcap != 0 ? row_.softcap * std::tanh(scaled / row_.softcap) : scaled;
}

double RowChain::biased(Index key) const {
    return row_.bias.empty() ? capped(key) : capped(key) + row_.bias[static_cast<std::size_t>(key)];
}

double RowChain::exponential(Index key) const {
    const auto j = static_cast<std::size_t>(key);
    if (!row_.allowed[j]) return 0;
    const double score = masked_[j];
    if (std::isinf(max_) && !std::isnan(score)) return max_ > 0 && score == max_ ? 1 : 0;
    return std::exp(score - max_);
}

double RowChain::weight(Index key) const {
    return !row_.allowed[static_cast<std::size_t>(key)] || sum_ == 0 ? 0 : exponential(key) / sum_;
}

CellExplanation RowChain::at(Index key) const {
    const auto j = static_cast<std::size_t>(key);
    CellExplanation cell;
    cell.allowed = row_.allowed[j];
    cell.raw = row_.raw[j];
    cell.scale = row_.scale;
    cell.scaled = cell.scale * cell.raw;
    cell.capped = capped(key);
    cell.bias = row_.bias.empty() ? 0 : row_.bias[j];
    cell.masked = masked_[j];
    cell.row_max = max_;
    cell.max_key = max_key_;
    cell.row_sum = sum_;
    cell.exponential = exponential(key);
    cell.weight = weights_.empty() ? weight(key) : weights_[j];
    if (!row_.edits) return cell;
    if (cell.allowed && cell.masked != biased(key)) cell.score_before = biased(key);
    if (cell.weight != weight(key)) cell.weight_before = weight(key);
    return cell;
}

ScoreRow score_row(const Record& record, Index head, Index query) {
    const AttentionSpec& spec = record.spec();
    const ConstMatrix q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head));
    ScoreRow row;
    row.scale = record.scale();
    row.softcap = spec.softcap;
    row.edits = spec.edits;
    row.head = head;
    row.query = query;
    row.allowed.resize(static_cast<std::size_t>(record.keys()));
    spec.mask.row(head, query, 0, row.allowed);
    row.raw.reserve(row.allowed.size());
    for (Index j = 0; j < record.keys(); ++j) {
        row.raw.push_back(dot(q.row(query), k.row(j), q.cols));
        if (!spec.bias.empty()) row.bias.push_back(static_cast<double>(spec.bias.at(head, query, j)));
    }
    return row;
}

RowChain row_chain(const Record& record, Index head, Index query) {
    return RowChain(score_row(record, head, query));
}

float SoftmaxRow::exponential(float masked) const {
    if (std::isinf(max) && !std::isnan(masked)) return max > 0 && masked == max ? 1.0f : 0.0f;
    return std::exp(masked - max);
}

SoftmaxRow softmax_row(const Record& record, Index head, Index query) {
    return {record.row_max().matrix()(head, query), std::exp(record.row_log_sum().matrix()(head, query))};
}

std::vector<Term> dot_terms(const Record& record, Index head, Index query, Index key) {
    const ConstMatrix q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head));
    std::vector<Term> terms;
    for (Index a = 0; a < record.d_k(); ++a)
        terms.push_back({a, static_cast<double>(q(query, a)), static_cast<double>(k(key, a))});
    return terms;
}

CellExplanation explain(const Record& record, Stage stage, Index head, Index query, Index key) {
    CellExplanation cell = row_chain(record, head, query).at(key);
    cell.f32 = record.cell(stage, head, query, key);
    cell.f64 = cell.chain_value(stage);
    if (stage == Stage::raw) cell.terms = dot_terms(record, head, query, key);
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
    const RowChain row = row_chain(record, head, query);
    const ConstMatrix v = record.v().heads().head(record.kv_head(head));
    CellExplanation cell;
    cell.f32 = record.output().heads().head(head)(query, component);
    cell.scale = record.scale();
    cell.row_max = row.row_max();
    cell.row_sum = row.row_sum();
    for (Index j = 0; j < record.keys(); ++j) {
        cell.terms.push_back(weighted(j, row.at(j).weight, static_cast<double>(v(j, component))));
        cell.f64 += cell.terms.back().product();
    }
    return cell;
}

}  // namespace attn
