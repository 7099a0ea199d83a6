#include "io/weight_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace attn {

namespace {

constexpr Index cells_a_step = Index{1} << 18;

struct RowSums {
    double sum = 0;
    float least = 0;  // the least number below zero; 0: there is none
    bool all_zero = true;
};

// Keeps four sums side by side, so that additions need not wait for each other.
RowSums sums_of(std::span<const float> row) {
    std::array<double, 4> sums{};
    std::array<float, 4> least{};
    std::array<float, 4> most{};
    std::size_t i = 0;
    const auto add = [&](std::size_t lane, float w) {
        sums[lane] += static_cast<double>(w);
        least[lane] = w < least[lane] ? w : least[lane];
        most[lane] = w > most[lane] ? w : most[lane];
    };
    for (; i + 4 <= row.size(); i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) add(lane, row[i + lane]);
    for (; i < row.size(); ++i) add(0, row[i]);
    const float low = std::min({least[0], least[1], least[2], least[3]});
    const float high = std::max({most[0], most[1], most[2], most[3]});
    return {(sums[0] + sums[1]) + (sums[2] + sums[3]), low, low == 0 && high == 0};
}

std::string with_commas(std::int64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
    return text;
}

std::string short_number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", value);
    return text.data();
}

}  // namespace

double row_sum_tolerance(DType dtype) {
    if (dtype == DType::f16) return 1e-3;
    if (dtype == DType::bf16) return 5e-3;
    return 1e-4;
}

ValueChecking::ValueChecking(std::vector<ArrayView> arrays, Kind kind)
    : arrays_(std::move(arrays)), kind_(kind) {
    const Shape& shape = arrays_.front().shape;
    tolerance_ = row_sum_tolerance(arrays_.front().dtype);
    rows_ = std::int64_t{std::ssize(arrays_)} * shape[0] * shape[1] * shape[2];
    values_.resize(static_cast<std::size_t>(shape[3]));
    findings_.layers = shape[0] * std::ssize(arrays_);
    findings_.heads = shape[1];
}

bool ValueChecking::step() {
    const Shape& shape = arrays_.front().shape;
    const std::int64_t end =
        std::min(rows_, next_ + std::max(cells_a_step / std::max(shape[3], Index{1}), Index{1}));
    for (; next_ < end; ++next_) {
        std::int64_t rest = next_;
        const auto below = [&](Index size) {
            return static_cast<Index>(std::exchange(rest, rest / size) % size);
        };
        const Index row = below(shape[2]), head = below(shape[1]), layer = below(shape[0]);
        check(arrays_[static_cast<std::size_t>(rest)], layer, head, row);
    }
    return next_ < rows_;
}

float ValueChecking::progress() const {
    return rows_ == 0 ? 1 : static_cast<float>(next_) / static_cast<float>(rows_);
}

void ValueChecking::check(const ArrayView& array, Index layer, Index head, Index row) {
    read(array, array.offset(std::array{layer, head, row}), array.strides[3], values_);
    ++findings_.rows;
    findings_.cells += std::ssize(values_);
    const Index shown_layer = layer + (&array - arrays_.data());  // several arrays are one layer each
    const auto note = [&](Oddity& oddity, Index column, double value) {
        if (oddity.count++ == 0) oddity = {oddity.count, shown_layer, head, row, column, value};
    };
    const RowSums sums = sums_of(values_);
    const bool finite = std::isfinite(sums.sum);
    if (!finite || (sums.least < 0 && kind_ == Kind::weights)) {
        for (std::size_t j = 0; j < values_.size(); ++j) {
            const float w = values_[j];
            const auto column = static_cast<Index>(j);
            if (std::isnan(w))
                note(findings_.nan, column, w);
            else if (std::isinf(w))
                note(findings_.infinite, column, w);
            else if (w < 0 && kind_ == Kind::weights && finite)
                note(findings_.negative, column, w);
        }
    }
    if (kind_ == Kind::values || !finite) return;
    if (sums.all_zero)
        note(findings_.zero, 0, 0);
    else if (std::abs(sums.sum - 1) > tolerance_)
        note(findings_.unlike_one, 0, sums.sum);
}

std::vector<OddityTold> told(const Findings& findings, std::string_view what) {
    std::vector<OddityTold> out;
    // A sentence reads "run.npz: 3 of 1,024 rows are zero, the first at head 2, row 5."
    const auto add = [&](const Oddity& o, bool cell, std::string_view one, std::string_view several,
                         const std::string& end) {
        if (o.count == 0) return;
        std::string text = std::string(what) + ": " + with_commas(o.count) + " of " +
                           with_commas(cell ? findings.cells : findings.rows) +
                           (cell ? " numbers " : " rows ") + std::string(o.count == 1 ? one : several) +
                           ", the first at ";
        if (findings.layers > 1) text += "layer " + std::to_string(o.layer) + ", ";
        if (findings.heads > 1) text += "head " + std::to_string(o.head) + ", ";
        text += "row " + std::to_string(o.row);
        if (cell) text += ", column " + std::to_string(o.column);
        out.push_back({text + end + ".", o, cell});
    };
    add(findings.nan, true, "is NaN", "are NaN", "; shown as NaN");
    add(findings.infinite, true, "is infinite", "are infinite", "");
    add(findings.negative, true, "is below zero, which no weight is", "are below zero, which no weight is",
        ": " + short_number(findings.negative.value));
    add(findings.unlike_one, false, "does not sum to 1, as attention weights do",
        "do not sum to 1, as attention weights do",
        ", which sums to " + short_number(findings.unlike_one.value) + "; shown as they are");
    add(findings.zero, false, "is zero: a query that looks at nothing",
        "are zero: a query that looks at nothing", "");
    return out;
}

}  // namespace attn
