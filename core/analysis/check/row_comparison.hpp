// How far what a program returned is from an implementation, row by row.
#pragma once

#include <vector>

#include "analysis/check/implementation.hpp"
#include "analysis/check/rounding_levels.hpp"

namespace attn {

// A row of the output, whose head is 0, or of the returned weights.
struct ComparedRow {
    bool of_weights = false;
    Index batch = 0, head = 0, query = 0;
};

std::vector<double> row_of(ImplementationRun& run, const AttentionCase& given, const ComparedRow& row);
std::span<const double> theirs_of(const AttentionCase& given, const ComparedRow& row);

struct RowDifference {
    double square = 0;  // mean square of the differences where both are numbers
    double largest = 0;
    double scale = 0;       // mean square of the second row's numbers
    Index not_numbers = 0;  // cells where one is NaN or infinite and the other is not the same
};
RowDifference difference(std::span<const double> theirs, std::span<const double> ours);

// How well a precision explains the differences: the root of the mean, the largest and the median of each
// row's difference over the error that the precision gives there. The median is of the first kind of rows:
// returned weights may have been spared from rounding.
struct Fit {
    double mean = 0, worst = 0, median = 0;
    double worst_cell = 0;        // likewise of a single cell
    bool within_storage = false;  // no row is further off than storing the result in its format explains
    double from_emulated = 1;     // distance from the emulated result over that from the exact one
    bool explains(const RoundingLevel& level) const {
        constexpr double limit = 4;
        // Other causes hide among the errors of coarse factors, but these errors can be repeated.
        if (is_8_bits(level)) return from_emulated < 0.6 && mean <= limit;
        if (level.has_coarse_factors_alone() && from_emulated > 0.8) return false;
        // Rounding spares no row: where most are far better than the precision, a few worse ones are wrong.
        return within_storage ||
               (mean <= limit && worst <= 4 * limit && worst_cell <= 5 * limit && median >= 0.02 * worst);
    }
};
Fit fit(const AttentionCase& given, const Implementation& how, ImplementationRun& exact,
        const RoundingLevel& level, std::span<const ComparedRow> rows);

}  // namespace attn
