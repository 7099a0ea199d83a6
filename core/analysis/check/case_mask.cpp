#include "analysis/check/case_mask.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

bool allowed(const Array4& mask, Index b, Index h, Index i, Index j) {
    return mask.broadcast(b, h, i, j) != 0;
}

// Says whether a mask is causal with this offset, apart from keys that are hidden from everyone and queries
// that see no key.
bool is_causal(const Array4& mask, Index offset, const Array4& columns, const Array4& rows) {
    for (Index b = 0; b < mask.batch; ++b)
        for (Index h = 0; h < mask.heads; ++h)
            for (Index i = 0; i < mask.rows; ++i)
                for (Index j = 0; j < mask.cols; ++j) {
                    const bool seen = (columns.empty() || columns.broadcast(b, 0, 0, j) != 0) &&
                                      rows.broadcast(b, h, i, 0) != 0;
                    if (allowed(mask, b, h, i, j) != (seen && j <= i + offset)) return false;
                }
    return true;
}

// Finds w such that a query sees the keys i + offset − w + 1 … i + offset, in a mask of one head and batch.
std::optional<Index> causal_window(const Array4& mask, Index offset) {
    if (mask.batch != 1 || mask.heads != 1 || mask.rows < 2) return std::nullopt;
    for (Index w = 1; w < mask.cols; ++w) {
        bool fits = true;
        for (Index i = 0; i < mask.rows && fits; ++i)
            for (Index j = 0; j < mask.cols && fits; ++j)
                fits = allowed(mask, 0, 0, i, j) == (j <= i + offset && j > i + offset - w);
        if (fits) return w;
    }
    return std::nullopt;
}

// [batch, 1, 1, n_k], 1 where some query of some head sees the key.
Array4 seen_columns(const Array4& mask) {
    Array4 columns(mask.batch, 1, 1, mask.cols);
    for (Index b = 0; b < mask.batch; ++b)
        for (Index h = 0; h < mask.heads; ++h)
            for (Index i = 0; i < mask.rows; ++i)
                for (Index j = 0; j < mask.cols; ++j)
                    if (allowed(mask, b, h, i, j)) columns.row(b, 0, 0)[static_cast<std::size_t>(j)] = 1;
    return columns;
}

// [batch, heads, n_q, 1], 1 where the query sees some key.
Array4 seeing_rows(const Array4& mask) {
    Array4 rows(mask.batch, mask.heads, mask.rows, 1);
    for (Index b = 0; b < mask.batch; ++b)
        for (Index h = 0; h < mask.heads; ++h)
            for (Index i = 0; i < mask.rows; ++i)
                rows.row(b, h, i)[0] =
                    std::ranges::any_of(mask.row(b, h, i), [](double x) { return x != 0; });
    return rows;
}

bool all_ones(const Array4& mask) {
    return std::ranges::all_of(mask.values, [](double x) { return x != 0; });
}

void add_padding(CaseMask& mask, const Array4& columns) {
    if (all_ones(columns)) return;
    if (mask.padding.empty()) {
        mask.padding = columns;
        return;
    }
    Array4 both(std::max(mask.padding.batch, columns.batch), 1, 1, columns.cols);
    for (Index b = 0; b < both.batch; ++b)
        for (Index j = 0; j < both.cols; ++j)
            both.row(b, 0, 0)[static_cast<std::size_t>(j)] =
                allowed(mask.padding, b, 0, 0, j) && allowed(columns, b, 0, 0, j);
    mask.padding = std::move(both);
}

}  // namespace

Result<Array4> placed_mask(const CaseArray& array, const MaskShape& want, bool by_key) {
    Shape shape = array.shape;
    const auto fits = [](Index have, Index wanted) { return have == 1 || have == wanted; };
    const auto placed = [&](Index b, Index h, Index i, Index j) -> Result<Array4> {
        Array4 mask(b, h, i, j);
        mask.values = array.values;
        return mask;
    };
    const Index rank = std::ssize(shape), last = rank > 0 ? shape.back() : 0;
    if (rank == 1 && last == want.keys) return placed(1, 1, 1, last);
    if (rank == 2 && last == want.keys) {
        const Index rows = shape[0];
        if (by_key && fits(rows, want.batch)) return placed(rows, 1, 1, last);
        if (fits(rows, want.queries)) return placed(1, 1, rows, last);
        if (rows == want.batch) return placed(rows, 1, 1, last);
    }
    if (rank == 3 && fits(last, want.keys) && fits(shape[1], want.queries)) {
        if (shape[0] == want.batch * want.heads) return placed(want.batch, want.heads, shape[1], last);
        if (shape[0] == want.heads && want.batch == 1) return placed(1, shape[0], shape[1], last);
        if (fits(shape[0], want.batch)) return placed(shape[0], 1, shape[1], last);
        if (shape[0] == want.heads) return placed(1, shape[0], shape[1], last);
    }
    if (rank == 4 && fits(shape[0], want.batch) && fits(shape[1], want.heads) &&
        fits(shape[2], want.queries) && fits(last, want.keys))
        return placed(shape[0], shape[1], shape[2], last);
    return Error{"'" + array.name + "' is " + to_string(shape) +
                 ", which fits neither n_q × n_k = " + to_string({want.queries, want.keys}) +
                 " nor batch × n_k = " + to_string({want.batch, want.keys}) +
                 "; save it in one of these shapes, with batch and heads in front if they differ"};
}

bool is_zero_one(const CaseArray& array) {
    if (array.dtype == DType::boolean) return true;
    return std::ranges::all_of(array.values, [](double x) { return x == 0 || x == 1; }) &&
           std::ranges::any_of(array.values, [](double x) { return x == 1; });
}

bool hides_by_numbers(const CaseArray& array) {
    return std::ranges::all_of(array.values, [](double x) { return x == 0 || x <= -1e4; }) &&
           std::ranges::any_of(array.values, [](double x) { return x != 0; });
}

void add_painted(CaseMask& mask, Array4 painted, const MaskShape& shape) {
    if (all_ones(painted)) return;
    if (painted.cols == 1 && shape.keys > 1) {
        mask.painted = std::move(painted);
        return;
    }
    if (painted.rows == 1) {
        if (painted.heads == 1)
            add_padding(mask, painted);
        else
            mask.painted = std::move(painted);
        return;
    }
    const Index past = shape.keys - shape.queries;
    const Array4 columns = seen_columns(painted), rows = seeing_rows(painted);
    const auto add_rows = [&](Index offset) {
        // A query that the causal mask leaves without keys needs no further mask.
        Array4 further = rows;
        for (Index b = 0; b < rows.batch; ++b)
            for (Index h = 0; h < rows.heads; ++h)
                for (Index i = 0; i < rows.rows && i + offset < 0; ++i) further.row(b, h, i)[0] = 1;
        if (!all_ones(further)) mask.painted = std::move(further);
    };
    for (const Array4& keys : {Array4{}, columns})
        for (const Index offset : {past, Index{0}}) {
            // A mask may repeat what the case says to be causal; padding with only one query is padding.
            if (!is_causal(painted, offset, keys, rows)) continue;
            mask.causal = mask.causal ? std::min(*mask.causal, offset) : offset;
            mask.offset = *mask.causal;
            if (!keys.empty()) add_padding(mask, keys);
            add_rows(offset);
            return;
        }
    for (const Index offset : {past, Index{0}})
        if (const auto w = causal_window(painted, offset); w && !mask.window) {
            mask.causal = offset;
            mask.offset = offset;
            mask.window = CaseWindow{*w - 1, 0};
            return;
        }
    bool rows_alike = painted.heads == 1;
    for (Index b = 0; b < painted.batch && rows_alike; ++b)
        for (Index i = 0; i < painted.rows && rows_alike; ++i)
            for (Index j = 0; j < painted.cols && rows_alike; ++j)
                rows_alike = allowed(painted, b, 0, i, j) ==
                             (allowed(columns, b, 0, 0, j) && allowed(rows, b, 0, i, 0));
    if (!rows_alike) {
        mask.painted = std::move(painted);
        return;
    }
    add_padding(mask, columns);
    if (!all_ones(rows)) mask.painted = rows;
}

}  // namespace attn
