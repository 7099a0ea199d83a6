#include "analysis/check/row_comparison.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

std::vector<double> row_of(ImplementationRun& run, const AttentionCase& given, const ComparedRow& row) {
    if (!row.of_weights) return run.output_row(row.batch, row.query);
    if (given.weights.heads == given.heads()) return run.weights_row(row.batch, row.head, row.query);
    // One map for all heads can only be their mean.
    return run.mean_weights_row(row.batch, row.query);
}

std::span<const double> theirs_of(const AttentionCase& given, const ComparedRow& row) {
    return (row.of_weights ? given.weights : given.output).row(row.batch, row.head, row.query);
}

RowDifference difference(std::span<const double> theirs, std::span<const double> ours) {
    RowDifference out;
    if (ours.size() != theirs.size()) {
        out.not_numbers = std::ssize(theirs);
        return out;
    }
    Index numbers = 0;
    for (std::size_t c = 0; c < theirs.size(); ++c) {
        const double x = theirs[c], y = ours[c];
        if (!std::isfinite(x) || !std::isfinite(y)) {
            out.not_numbers += !(x == y || (std::isnan(x) && std::isnan(y)));
            continue;
        }
        ++numbers;
        out.square += (x - y) * (x - y);
        out.scale += y * y;
        out.largest = std::max(out.largest, std::abs(x - y));
    }
    if (numbers > 0) {
        out.square /= static_cast<double>(numbers);
        out.scale /= static_cast<double>(numbers);
    }
    return out;
}

Fit fit(const AttentionCase& given, const Implementation& how, ImplementationRun& exact,
        const RoundingLevel& level, std::span<const ComparedRow> rows) {
    ImplementationRun emulated(given, how, level.precision);
    // An emulated row may happen to come out too well: its error is at least that of rounding its numbers.
    const double least = unit_roundoff(level.precision.weight) / 2;
    // An output that is stored in 16 bits is explained by a precision that rounds it so.
    const double stored = info(given.output_format).bits > 16 ? unit_roundoff(given.output_format) : 0;
    Fit out;
    const double in_storage = 2 * unit_roundoff(given.output_format);
    double sum = 0, from_exact = 0, from_emulated = 0;
    std::vector<double> ratios;
    out.within_storage =
        level.precision.output == given.output_format || &level == &rounding_levels()[exact_level];
    for (const ComparedRow& row : rows) {
        const std::vector<double> right = row_of(exact, given, row);
        const RowDifference off = difference(theirs_of(given, row), right);
        const std::vector<double> in_level = row_of(emulated, given, row);
        const RowDifference error = difference(in_level, right),
                            same = difference(theirs_of(given, row), in_level);
        from_exact += off.square;
        from_emulated += same.square;
        if (off.square > in_storage * in_storage * off.scale) out.within_storage = false;
        // Overflow in the emulated precision explains an overflow.
        if (off.not_numbers > 0 && same.not_numbers > 0)
            return {.mean = HUGE_VAL, .worst = HUGE_VAL, .median = HUGE_VAL};
        const double floor = (least * least + stored * stored) * off.scale;
        const double ratio = off.square / (error.square + floor + 1e-300);
        if (row.of_weights == rows.front().of_weights && error.square > 0) ratios.push_back(std::sqrt(ratio));
        if (!(off.square > 0)) continue;
        sum += ratio;
        out.worst = std::max(out.worst, std::sqrt(ratio));
        out.worst_cell = std::max(out.worst_cell, off.largest / std::sqrt(error.square + floor + 1e-300));
    }
    if (from_exact > 0) out.from_emulated = std::sqrt(from_emulated / from_exact);
    out.median = out.worst;
    if (ratios.size() > 3) {
        const auto middle = ratios.begin() + std::ssize(ratios) / 2;
        std::ranges::nth_element(ratios, middle);
        out.median = *middle;
    }
    out.mean = rows.empty() ? 0 : std::sqrt(sum / static_cast<double>(rows.size()));
    return out;
}

}  // namespace attn
