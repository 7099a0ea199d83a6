#include "analysis/check/implementation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/check/rounded_sums.hpp"

namespace attn {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool broadcasts(const Array4& to, Index batch, Index heads, Index rows, Index cols) {
    const auto fits = [](Index have, Index want) { return have == 1 || have == want; };
    return fits(to.batch, batch) && fits(to.heads, heads) && fits(to.rows, rows) && fits(to.cols, cols);
}

// Weights times values: Σ_j w_j row(j), each component summed in order.
template <class Row>
std::vector<double> weighted_sum(std::span<const double> weights, Index width, const Precision& precision,
                                 Row row) {
    std::vector<double> sum(static_cast<std::size_t>(width));
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0) continue;
        const double w = rounded(precision.weight, weights[j]);
        const std::span<const double> value = row(static_cast<Index>(j));
        for (std::size_t c = 0; c < sum.size(); ++c) sum[c] = rounded(precision.sum, sum[c] + w * value[c]);
    }
    return sum;
}

}  // namespace

Implementation right_implementation(const AttentionCase& given) {
    Implementation right;
    right.scale = given.scale;
    right.softcap = given.softcap;
    right.causal = given.mask.causal;
    right.window = given.mask.window;
    right.inputs.rope = given.rope;
    if (given.rope) right.inputs.first_query = static_cast<double>(given.mask.offset);
    return right;
}

ImplementationRun::ImplementationRun(const AttentionCase& given, Implementation implementation,
                                     Precision precision, std::shared_ptr<const ReadInputs> inputs)
    : given_(given),
      how_(std::move(implementation)),
      precision_(precision),
      in_(std::move(inputs)),
      rows_(static_cast<std::size_t>(in_->q.batch * in_->q.heads * in_->q.rows)) {}

ImplementationRun::ImplementationRun(const AttentionCase& given, Implementation implementation,
                                     Precision precision)
    : ImplementationRun(
          given, implementation, precision,
          std::make_shared<const ReadInputs>(read_inputs(given, implementation.inputs, precision))) {}

bool ImplementationRun::allows(Index batch, Index head, Index query, Index key) const {
    const CaseMask& mask = given_.mask;
    const Array4 &q = in_->q, &k = in_->k;
    bool painted = true;
    if (how_.painted && !mask.painted.empty() && broadcasts(mask.painted, q.batch, q.heads, q.rows, k.rows))
        painted = (mask.painted.broadcast(batch, head, query, key) != 0) != how_.inverts_painted;
    if (how_.padding && !mask.padding.empty() && broadcasts(mask.padding, q.batch, q.heads, q.rows, k.rows))
        painted = painted && (mask.padding.broadcast(batch, head, query, key) != 0) != how_.inverts_painted;
    const bool causal = !how_.causal || key <= query + *how_.causal;
    const Index at = query + mask.offset;
    const bool near = !how_.window || (key >= at - how_.window->before && key <= at + how_.window->after);
    return (painted && causal && near) != how_.inverts_all;
}

bool ImplementationRun::is_empty(Index batch, Index head, Index query) const {
    for (Index j = 0; j < in_->k.rows; ++j)
        if (allows(batch, head, query, j)) return false;
    return true;
}

std::vector<double> ImplementationRun::key_column(Index batch, Index head, Index key) const {
    const Array4& k = in_->k;
    const Index kv = kv_head(head);
    const auto row = k.row(batch, kv, key);
    std::vector<double> column(row.begin(), row.end());
    if (how_.keys == Implementation::Keys::transposed) return column;
    // q times a matrix [d, n] whose element (a, j) stands at a · n + j of the memory of K.
    for (std::size_t a = 0; a < column.size(); ++a)
        column[a] = k.values[k.at(batch, kv, 0) + a * static_cast<std::size_t>(k.rows) +
                             static_cast<std::size_t>(key)];
    return column;
}

std::vector<double> ImplementationRun::score_row(Index batch, Index head, Index query) const {
    const Array4& k = in_->k;
    const auto q = in_->q.row(batch, head, query);
    std::vector<double> scores(static_cast<std::size_t>(k.rows)), column;
    for (Index j = 0; j < k.rows; ++j) {
        std::span<const double> key = k.row(batch, kv_head(head), j);
        if (how_.keys != Implementation::Keys::transposed) {
            column = key_column(batch, head, j);
            key = column;
        }
        double s = how_.scale * rounded_dot(precision_.sum, q, key);
        if (how_.softcap != 0 && !how_.cap_after_mask && !how_.cap_after_bias)
            s = how_.softcap * std::tanh(s / how_.softcap);
        if (how_.adds_bias && !given_.bias.empty() &&
            broadcasts(given_.bias, in_->q.batch, in_->q.heads, in_->q.rows, k.rows))
            s += given_.bias.broadcast(batch, head, query, j);
        if (how_.softcap != 0 && how_.cap_after_bias && !how_.cap_after_mask)
            s = how_.softcap * std::tanh(s / how_.softcap);
        scores[static_cast<std::size_t>(j)] = rounded(precision_.score, s);
    }
    return scores;
}

std::vector<double> ImplementationRun::masked_row(Index batch, Index head, Index query) const {
    std::vector<double> scores = score_row(batch, head, query);
    for (Index j = 0; j < in_->k.rows; ++j) {
        const bool allowed = allows(batch, head, query, j);
        double& s = scores[static_cast<std::size_t>(j)];
        switch (how_.masking) {
            case Implementation::Masking::minus_infinity: s = allowed ? s : -infinite; break;
            case Implementation::Masking::added: s += allowed ? 1 : 0; break;
            case Implementation::Masking::added_hidden: s += allowed ? 0 : 1; break;
            case Implementation::Masking::multiplied: s = allowed ? s : 0; break;
            case Implementation::Masking::finite:
                s = allowed ? s : rounded(how_.mask_format, s + how_.mask_value);
                break;
            case Implementation::Masking::after_softmax: break;
        }
        if (how_.softcap != 0 && how_.cap_after_mask) s = how_.softcap * std::tanh(s / how_.softcap);
    }
    return scores;
}

double ImplementationRun::exponential(double x) const {
    const double e = how_.exponential_base == 0 ? std::exp(x) : std::pow(how_.exponential_base, x);
    return precision_.sum == NumberFormat::f64 ? e : static_cast<double>(static_cast<float>(e));
}

std::vector<double> ImplementationRun::weighed_over_keys(Index batch, Index head, Index query) const {
    std::vector<double> row = masked_row(batch, head, query);
    const Index keys = std::ssize(row);
    const Index left = how_.tile > 0 ? keys % how_.tile : 0;
    if (how_.remainder == Implementation::Remainder::dropped)
        std::fill(row.end() - left, row.end(), -infinite);
    double max = -infinite, sum = 0;
    bool broken = false;
    for (const double s : row) {
        max = std::max(max, s);
        broken = broken || std::isnan(s);
    }
    if (how_.remainder == Implementation::Remainder::zeros && left > 0) max = std::max(max, 0.0);
    if (max == -infinite && !broken) {
        const double w = how_.empty_row == Implementation::EmptyRow::nan       ? not_a_number
                         : how_.empty_row == Implementation::EmptyRow::uniform ? 1 / static_cast<double>(keys)
                                                                               : 0;
        std::ranges::fill(row, w);
        return row;
    }
    for (double& s : row) {
        s = exponential(s - max);
        sum += s;
    }
    if (how_.remainder == Implementation::Remainder::zeros && left > 0)
        sum += static_cast<double>(how_.tile - left) * exponential(-max);
    for (double& s : row) s /= sum;
    return row;
}

std::vector<double> ImplementationRun::weighed_over_heads(Index batch, Index head, Index query) const {
    const Index heads = in_->q.heads;
    std::vector<std::vector<double>> rows;
    for (Index h = 0; h < heads; ++h) rows.push_back(masked_row(batch, h, query));
    std::vector<double> out(rows.front().size());
    for (std::size_t j = 0; j < out.size(); ++j) {
        double max = -infinite, sum = 0;
        for (const auto& row : rows) max = std::max(max, row[j]);
        if (max == -infinite) {
            out[j] = how_.empty_row == Implementation::EmptyRow::nan ? not_a_number : 0;
            continue;
        }
        for (const auto& row : rows) sum += exponential(row[j] - max);
        out[j] = exponential(rows[static_cast<std::size_t>(head)][j] - max) / sum;
    }
    return out;
}

const ImplementationRun::ColumnSums& ImplementationRun::sums_over_queries(Index batch, Index head) {
    for (const ColumnSums& known : column_sums_)
        if (known.batch == batch && known.head == head) return known;
    const auto keys = static_cast<std::size_t>(in_->k.rows);
    ColumnSums sums{batch, head, std::vector<double>(keys, -infinite), std::vector<double>(keys)};
    std::vector<std::vector<double>> rows;
    for (Index i = 0; i < in_->q.rows; ++i) rows.push_back(masked_row(batch, head, i));
    for (const auto& row : rows)
        for (std::size_t j = 0; j < keys; ++j) sums.max[j] = std::max(sums.max[j], row[j]);
    for (const auto& row : rows)
        for (std::size_t j = 0; j < keys; ++j)
            if (sums.max[j] != -infinite) sums.sum[j] += exponential(row[j] - sums.max[j]);
    column_sums_.push_back(std::move(sums));
    return column_sums_.back();
}

std::vector<double> ImplementationRun::weighed(Index batch, Index head, Index query) {
    std::vector<double> row;
    switch (how_.axis) {
        case Implementation::Axis::keys: row = weighed_over_keys(batch, head, query); break;
        case Implementation::Axis::heads: row = weighed_over_heads(batch, head, query); break;
        case Implementation::Axis::queries: {
            const ColumnSums& sums = sums_over_queries(batch, head);
            row = masked_row(batch, head, query);
            for (std::size_t j = 0; j < row.size(); ++j)
                row[j] = sums.max[j] != -infinite ? exponential(row[j] - sums.max[j]) / sums.sum[j]
                         : how_.empty_row == Implementation::EmptyRow::nan ? not_a_number
                                                                           : 0;
            break;
        }
    }
    if (how_.masking == Implementation::Masking::after_softmax)
        for (Index j = 0; j < in_->k.rows; ++j)
            if (!allows(batch, head, query, j)) row[static_cast<std::size_t>(j)] = 0;
    return row;
}

std::vector<double> ImplementationRun::mean_of_heads(auto row) const {
    std::vector<double> mean(static_cast<std::size_t>(in_->k.rows));
    for (Index h = 0; h < in_->q.heads; ++h) {
        const std::vector<double> each = row(h);
        for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += each[j] / static_cast<double>(in_->q.heads);
    }
    return mean;
}

std::vector<double> ImplementationRun::used_weights(Index batch, Index head, Index query) {
    if (!how_.averages_heads) return weighed(batch, head, query);
    return mean_of_heads([&](Index h) { return weighed(batch, h, query); });
}

const std::vector<double>& ImplementationRun::head_row(Index batch, Index head, Index query) {
    const Array4& v = in_->v;
    auto& kept = rows_[static_cast<std::size_t>((batch * in_->q.heads + head) * in_->q.rows + query)];
    if (!kept) {
        const Index kv = kv_head(head);
        const std::vector<double> weights = used_weights(batch, head, query);
        kept = weighted_sum(weights, v.cols, precision_, [&](Index j) { return v.row(batch, kv, j); });
        round_all(precision_.output, *kept);
    }
    return *kept;
}

std::pair<Index, Index> ImplementationRun::merged_from(Index head, Index query) const {
    if (how_.merge_transposed) return {head, query};
    // Without a transpose, row i of [n, heads · d_v] is pieces heads · i … of the list of [heads, n, d_v].
    const Index piece = query * in_->q.heads + head;
    return {piece / in_->q.rows, piece % in_->q.rows};
}

std::span<const double> ImplementationRun::merged_part(Index batch, Index head, Index query) {
    const auto [from_head, from_query] = merged_from(head, query);
    return head_row(batch, from_head, from_query);
}

std::vector<double> ImplementationRun::merged_row(Index batch, Index query) {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(in_->q.heads * in_->v.cols));
    for (Index h = 0; h < in_->q.heads; ++h) {
        const auto part = merged_part(batch, h, query);
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

std::vector<double> ImplementationRun::output_row(Index batch, Index query) {
    const Index token = batch * given_.queries() + query;
    switch (how_.inputs.swap) {
        case InputReading::Swap::none: break;
        case InputReading::Swap::transposed: std::swap(batch, query); break;
        case InputReading::Swap::viewed:
            batch = token / given_.batch();
            query = token % given_.batch();
            break;
    }
    std::vector<double> row = merged_row(batch, query);
    if (given_.w_o.empty()) return row;
    std::vector<double> out(static_cast<std::size_t>(given_.w_o.cols)), column(row.size());
    for (std::size_t c = 0; c < out.size(); ++c) {
        for (std::size_t a = 0; a < row.size(); ++a)
            column[a] = rounded(precision_.input,
                                given_.w_o.broadcast(0, 0, static_cast<Index>(a), static_cast<Index>(c)));
        double sum = rounded_dot(precision_.sum, row, column);
        if (how_.output_bias && !given_.b_o.empty())
            sum = rounded(precision_.sum, sum + given_.b_o.broadcast(0, 0, 0, static_cast<Index>(c)));
        out[c] = rounded(precision_.output, sum);
    }
    return out;
}

std::vector<double> ImplementationRun::weights_row(Index batch, Index head, Index query) {
    if (how_.inputs.swap != InputReading::Swap::none) return {};
    if (how_.reports_own) return weighed(batch, head, query);
    if (!how_.reports_mean) return used_weights(batch, head, query);
    return mean_of_heads([&](Index h) { return used_weights(batch, h, query); });
}

std::vector<double> ImplementationRun::mean_weights_row(Index batch, Index query) {
    if (how_.inputs.swap != InputReading::Swap::none) return {};
    return mean_of_heads([&](Index h) { return weights_row(batch, h, query); });
}

}  // namespace attn
