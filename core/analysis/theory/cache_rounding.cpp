#include "analysis/theory/cache_rounding.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/dtype.hpp"

namespace attn {

namespace {

float as_f16(float value) { return f16_to_f32(f32_to_f16(value)); }

std::vector<float> column_of(ConstMatrix rows, Index channel) {
    std::vector<float> numbers;
    for (Index r = 0; r < rows.rows; ++r) numbers.push_back(rows(r, channel));
    return numbers;
}

// The channels of a token whose values are in a group with this one.
Range channels_with(const CacheRounding& rounding, Index head_dim, Index channel) {
    const Index begin = channel / rounding.group * rounding.group;
    return {begin, std::min(begin + rounding.group, head_dim)};
}

std::span<const float> part_of(const float* row, Range channels) {
    return {row + channels.begin, static_cast<std::size_t>(channels.size())};
}

}  // namespace

RoundedGroup RoundedGroup::of(std::span<const float> numbers, Index bits) {
    const auto [least, most] = std::ranges::minmax(numbers);
    const auto codes = static_cast<float>((Index{1} << bits) - 1);
    return {as_f16(least), as_f16((most - least) / codes)};
}

Index RoundedGroup::code(float number, Index bits) const {
    const Index most = (Index{1} << bits) - 1;
    if (!(step > 0)) return 0;
    return std::clamp(static_cast<Index>(std::lround((number - least) / step)), Index{0}, most);
}

void round_keys(const CacheRounding& rounding, MatrixView<float> rows) {
    if (rounding.bits == 16) return round_values(rounding, rows);
    for (Index channel = 0; channel < rows.cols; ++channel) {
        const RoundedGroup group = RoundedGroup::of(column_of(rows, channel), rounding.bits);
        for (Index r = 0; r < rows.rows; ++r)
            rows(r, channel) = group.read(group.code(rows(r, channel), rounding.bits));
    }
}

void round_values(const CacheRounding& rounding, MatrixView<float> rows) {
    for (Index r = 0; r < rows.rows; ++r) {
        const std::span<float> row{rows.row(r), static_cast<std::size_t>(rows.cols)};
        if (rounding.bits == 16) {
            round_to(DType::f16, row);
            continue;
        }
        for (Index begin = 0; begin < rows.cols; begin += rounding.group) {
            const Range channels = channels_with(rounding, rows.cols, begin);
            const RoundedGroup group = RoundedGroup::of(part_of(row.data(), channels), rounding.bits);
            for (Index c = channels.begin; c < channels.end; ++c)
                rows(r, c) = group.read(group.code(rows(r, c), rounding.bits));
        }
    }
}

RoundedGroup group_of_key(const CacheRounding& rounding, ConstMatrix keys, Index token, Index channel) {
    const Index begin = token / rounding.group * rounding.group;
    return RoundedGroup::of(
        column_of(rows(keys, {begin, std::min(begin + rounding.group, keys.rows)}), channel), rounding.bits);
}

RoundedGroup group_of_value(const CacheRounding& rounding, ConstMatrix values, Index token, Index channel) {
    return RoundedGroup::of(part_of(values.row(token), channels_with(rounding, values.cols, channel)),
                            rounding.bits);
}

}  // namespace attn
