#include "analysis/properties/record_checks.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/properties/paired_runs.hpp"
#include "analysis/properties/rounding_bounds.hpp"

namespace attn {

namespace {

constexpr double most_copied = 6.4e7;  // numbers of K and V, for all checked queries together
constexpr Index least_poisoned = 8;

// ---- On the numbers of the run ----------------------------------------------------------------------------

// Each weight below 0 is a cell of its own, and so is the row's sum.
std::vector<CheckedCell> row_cells(std::span<const float> weights, double bound, CheckedCell at) {
    std::vector<CheckedCell> cells;
    double sum = 0;
    bool has_weight = false;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        const double w = static_cast<double>(weights[j]);
        if (std::isinf(weights[j]) && w < 0) continue;  // masked in a map
        sum += w;
        has_weight = has_weight || w != 0;
        if (!(w < 0)) continue;
        CheckedCell cell = at;
        cell.error = -w;
        cell.here = w;
        cell.at = static_cast<Index>(j);
        cells.push_back(cell);
    }
    at.here = sum;
    at.there = 1;
    at.error = difference(sum, 1);
    at.bound = bound;
    if (has_weight) cells.push_back(at);
    return cells;
}

struct RowSums : RowCheck {
    const CheckedHeads& of;
    explicit RowSums(const CheckedHeads& heads) : of(heads) {}
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        const CheckedCell at{.layer = of.layer, .head = head, .query = query};
        if (of.record)
            return row_cells(of.record->weights(head, query), RowBounds(*of.record, head, query).row_sum(),
                             at);
        const Map& map = *of.maps[static_cast<std::size_t>(head - of.heads.begin)];
        return row_cells(cells_of(map, {{query, query + 1}, {0, map.keys()}}), finished_row_bound, at);
    }
};

struct WithinValues : RowCheck {
    const CheckedHeads& of;
    explicit WithinValues(const CheckedHeads& heads) : of(heads) {}
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        const Record& record = *of.record;
        const RowBounds bounds(record, head, query);
        const std::vector<float> weights = record.weights(head, query);
        const ConstMatrix v = record.v().heads().head(record.kv_head(head));
        std::vector<CheckedCell> cells;
        for (Index b = 0; b < record.d_v(); ++b) {
            double low = HUGE_VAL, high = -HUGE_VAL;
            for (Index j = 0; j < record.keys(); ++j) {
                if (weights[static_cast<std::size_t>(j)] == 0) continue;
                low = std::min(low, static_cast<double>(v(j, b)));
                high = std::max(high, static_cast<double>(v(j, b)));
            }
            if (low > high) continue;
            const double here = static_cast<double>(record.output().heads().head(head)(query, b));
            const double nearest = std::isnan(here) ? low : std::clamp(here, low, high);
            cells.push_back(
                {difference(here, nearest), bounds.output(b).hull, here, nearest, of.layer, head, query, b});
        }
        return cells;
    }
};

struct BesideDouble : RowCheck {
    const CheckedHeads& of;
    explicit BesideDouble(const CheckedHeads& heads) : of(heads) {}
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        const RowBounds bounds(*of.record, head, query);
        std::vector<CheckedCell> cells;
        for (Index b = 0; b < of.record->d_v(); ++b) {
            const RowBounds::Output exact = bounds.output(b);
            const double here = static_cast<double>(of.record->output().heads().head(head)(query, b));
            cells.push_back(
                {difference(here, exact.value), exact.bound, here, exact.value, of.layer, head, query, b});
        }
        return cells;
    }
};

// Finished weights: whether those behind each query are 0.
struct ZeroBehind : RowCheck {
    const CheckedHeads& of;
    explicit ZeroBehind(const CheckedHeads& heads) : of(heads) {}
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        const Map& map = *of.maps[static_cast<std::size_t>(head - of.heads.begin)];
        const Index first = query + 1 + std::max<Index>(0, map.keys() - map.queries());
        std::vector<CheckedCell> cells;
        if (first >= map.keys()) return cells;
        const auto row = cells_of(map, {{query, query + 1}, {first, map.keys()}});
        for (std::size_t j = 0; j < row.size(); ++j) {
            const double w = std::isinf(row[j]) ? 0 : static_cast<double>(row[j]);
            cells.push_back(
                {difference(w, 0), 0, w, 0, of.layer, head, query, first + static_cast<Index>(j)});
        }
        return cells;
    }
};

// ---- What can be checked ------------------------------------------------------------------------------

// A mask that lets a query see a key behind the cut.
bool sees_behind(const CheckedHeads& heads, Index queries) {
    const Record& record = *heads.record;
    const Index first = keys_with(record, queries);
    for (Index head = heads.heads.begin; head < heads.heads.end; ++head)
        for (Index query = 0; query < queries; ++query) {
            std::vector<std::uint8_t> allowed(static_cast<std::size_t>(record.keys() - first));
            record.spec().mask.row(head, query, first, allowed);
            if (std::ranges::count(allowed, 0) != std::ssize(allowed)) return true;
        }
    return false;
}

bool masks_something(const CheckedHeads& heads, std::span<const Index> rows) {
    const Record& record = *heads.record;
    std::vector<std::uint8_t> seen(static_cast<std::size_t>(record.keys()));
    for (Index head = heads.heads.begin; head < heads.heads.end; ++head)
        for (const Index query : rows) {
            record.spec().mask.row(head, query, 0, seen);
            if (std::ranges::count(seen, 0) > 0) return true;
        }
    return false;
}

Lacking lacking_on(Property property, const CheckedHeads& heads, std::span<const Index> rows) {
    if (!heads.record)
        return property == Property::rows || property == Property::past ? Lacking::nothing : Lacking::scores;
    if (property == Property::rows) return Lacking::nothing;
    if (property == Property::masked)
        return masks_something(heads, rows) ? Lacking::nothing : Lacking::masked_keys;
    if (heads.record->d_v() == 0) return Lacking::values;
    const bool needs_text = property == Property::past || property == Property::lengths;
    return needs_text && heads.queries() < 2 ? Lacking::tokens : Lacking::nothing;
}

std::unique_ptr<RowCheck> check_of(Property property, const CheckedHeads& heads, std::span<const Index> rows,
                                   const CheckOptions& options) {
    switch (property) {
        case Property::rows: return std::make_unique<RowSums>(heads);
        case Property::hull: return std::make_unique<WithinValues>(heads);
        case Property::rounding: return std::make_unique<BesideDouble>(heads);
        case Property::past:
            if (!heads.record) return std::make_unique<ZeroBehind>(heads);
            return paired_runs(property, heads, rows, options);
        default: return paired_runs(property, heads, rows, options);
    }
}

}  // namespace

RecordCheck::RecordCheck(Property property, CheckedHeads heads, const CheckOptions& options)
    : heads_(std::move(heads)) {
    const bool is_cut = property == Property::past || property == Property::lengths;
    const Index queries = is_cut && heads_.record ? half_of(heads_.queries()) : heads_.queries();
    Index most = most_checked_queries;
    if (property == Property::masked && heads_.record)
        most =
            std::clamp(static_cast<Index>(most_copied / static_cast<double>(heads_.record->k().size() +
                                                                            heads_.record->v().size() + 1)),
                       least_poisoned, most);
    rows_ = even_rows(queries, most);
    lacking_ = lacking_on(property, heads_, rows_);
    if (lacking_ != Lacking::nothing) return;
    if (property == Property::parallel) std::ranges::reverse(rows_);
    is_meant_ = !(is_cut && heads_.record && sees_behind(heads_, queries));
    check_ = check_of(property, heads_, rows_, options);
}

bool RecordCheck::step(PropertyResult& into) {
    if (lacking_ != Lacking::nothing || next_ == rows_.size()) return false;
    const Index query = rows_[next_++];
    check_->compute(query);
    for (Index head = heads_.heads.begin; head < heads_.heads.end; ++head)
        into.add(check_->cells(head, query));
    return next_ < rows_.size();
}

float RecordCheck::progress() const {
    return lacking_ != Lacking::nothing ? 1 : static_cast<float>(next_) / static_cast<float>(rows_.size());
}

}  // namespace attn
