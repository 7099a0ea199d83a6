#include "attention/explain.hpp"

#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One query against all keys, in double from the inputs as they are.
class Row {
  public:
    Row(const Record& record, Index head, Index query)
        : record_(record),
          head_(head),
          query_(query),
          q_(record.q().heads().head(head)),
          k_(record.k().heads().head(record.kv_head(head))),
          v_(record.v().heads().head(record.kv_head(head))) {
        for (Index j = 0; j < record.keys(); ++j) {
            const double m = chain(j).masked;
            if (m > max_) max_ = m;
        }
        for (Index j = 0; j < record.keys(); ++j) sum_ += exponential(chain(j));
    }

    // Everything up to the masked score.
    CellExplanation chain(Index key) const {
        const AttentionSpec& spec = record_.spec();
        CellExplanation cell;
        cell.allowed = spec.mask.allows(head_, query_, key);
        for (Index a = 0; a < q_.cols; ++a)
            cell.raw += static_cast<double>(q_(query_, a)) * static_cast<double>(k_(key, a));
        cell.scale = static_cast<double>(record_.scale());
        cell.scaled = cell.scale * cell.raw;
        const double cap = static_cast<double>(spec.softcap);
        cell.capped = cap != 0 ? cap * std::tanh(cell.scaled / cap) : cell.scaled;
        cell.bias = spec.bias.empty() ? 0 : static_cast<double>(spec.bias.at(head_, query_, key));
        cell.masked = cell.allowed ? cell.capped + cell.bias : -infinity;
        return cell;
    }

    CellExplanation whole_chain(Index key) const {
        CellExplanation cell = chain(key);
        cell.row_max = max_;
        cell.row_sum = sum_;
        cell.exponential = exponential(cell);
        cell.weight = !cell.allowed || sum_ == 0 ? 0 : cell.exponential / sum_;
        return cell;
    }

    double value(Index key, Index component) const { return static_cast<double>(v_(key, component)); }

    // Left times right, where a weight of 0 takes nothing even from an infinite value.
    Term term(Index index, double weight, Index key, Index component) const {
        const double v = value(key, component);
        return {index, weight, weight == 0 && !std::isfinite(v) ? 0 : v};
    }

    double max() const { return max_; }
    double sum() const { return sum_; }

  private:
    double exponential(const CellExplanation& cell) const {
        if (!cell.allowed) return 0;
        if (std::isinf(max_) && !std::isnan(cell.masked)) return max_ > 0 && cell.masked == max_ ? 1 : 0;
        return std::exp(cell.masked - max_);
    }

    const Record& record_;
    Index head_, query_;
    ConstMatrix q_, k_, v_;
    double max_ = -infinity;
    double sum_ = 0;
};

}  // namespace

CellExplanation explain(const Record& record, Stage stage, Index head, Index query, Index key) {
    const Row row(record, head, query);
    CellExplanation cell = row.whole_chain(key);
    cell.f32 = record.cell(stage, head, query, key);
    switch (stage) {
        case Stage::raw: {
            const ConstMatrix q = record.q().heads().head(head);
            const ConstMatrix k = record.k().heads().head(record.kv_head(head));
            for (Index a = 0; a < record.d_k(); ++a)
                cell.terms.push_back({a, static_cast<double>(q(query, a)), static_cast<double>(k(key, a))});
            cell.f64 = cell.raw;
            break;
        }
        case Stage::scaled: cell.f64 = cell.scaled; break;
        case Stage::capped: cell.f64 = cell.capped; break;
        case Stage::masked: cell.f64 = cell.masked; break;
        case Stage::weight: cell.f64 = cell.weight; break;
        case Stage::contribution: {
            double squares = 0;
            for (Index b = 0; b < record.d_v(); ++b) {
                cell.terms.push_back(row.term(b, cell.weight, key, b));
                squares += cell.terms.back().product() * cell.terms.back().product();
            }
            cell.f64 = std::sqrt(squares);
            break;
        }
    }
    return cell;
}

CellExplanation explain_output(const Record& record, Index head, Index query, Index component) {
    const Row row(record, head, query);
    CellExplanation cell;
    cell.f32 = record.output().data()[(head * record.queries() + query) * record.d_v() + component];
    cell.scale = static_cast<double>(record.scale());
    cell.row_max = row.max();
    cell.row_sum = row.sum();
    for (Index j = 0; j < record.keys(); ++j) {
        cell.terms.push_back(row.term(j, row.whole_chain(j).weight, j, component));
        cell.f64 += cell.terms.back().product();
    }
    return cell;
}

}  // namespace attn
