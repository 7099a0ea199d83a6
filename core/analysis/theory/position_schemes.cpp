#include "analysis/theory/position_schemes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "attention/explain.hpp"
#include "model/block.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

std::vector<double> normal_numbers(std::uint64_t seed, Index count) {
    Random random(seed);
    std::vector<double> numbers;
    for (Index i = 0; i < count; ++i) numbers.push_back(random.normal());
    return numbers;
}

std::vector<double> in_double(const float* row, Index width) { return {row, row + width}; }

// What is added to a component of q or k.
double position_added(const PositionRule& rule, const std::vector<double>& table_row, Index position,
                      Index component, Index width) {
    if (rule.scheme == PositionScheme::learned) return table_row[static_cast<std::size_t>(component)];
    return sinusoid(position, component, width);
}

bool adds(const PositionRule& rule) {
    return rule.scheme == PositionScheme::learned || rule.scheme == PositionScheme::sinusoidal;
}

std::vector<double> table_row_of(const PositionRule& rule, Index position, Index width) {
    return rule.scheme == PositionScheme::learned ? drawn_table_row(rule.seed, position, width)
                                                  : std::vector<double>();
}

}  // namespace

std::vector<double> drawn_table_row(std::uint64_t seed, Index position, Index width) {
    return normal_numbers(mixed(seed, 0, static_cast<std::uint64_t>(position)), width);
}
std::vector<double> drawn_bucket_biases(std::uint64_t seed, Index count) {
    return normal_numbers(mixed(seed, 1), count);
}

PairPlace pair_place(const PositionRule& rule, Index pair) {
    return rule.interleaved ? PairPlace{2 * pair, 2 * pair + 1}
                            : PairPlace{pair, pair + std::ssize(rule.frequencies)};
}

void place(const Kernels& kernels, const PositionRule& rule, std::span<const Index> positions,
           MatrixView<float> rows) {
    if (rule.scheme == PositionScheme::rotary) {
        const Index pairs = std::ssize(rule.frequencies);
        if (pairs == 0) return;
        Tensor cosine({rows.rows, pairs}), sine({rows.rows, pairs});
        for (Index row = 0; row < rows.rows; ++row)
            fill_rotary(rule.frequencies, positions[static_cast<std::size_t>(row)],
                        attn::rows(cosine.matrix(), {row, row + 1}),
                        attn::rows(sine.matrix(), {row, row + 1}));
        for (Tensor* table : {&cosine, &sine})
            for (float& each : table->values()) each *= static_cast<float>(rule.magnitude);
        kernels.rope(rows, cosine.matrix(), sine.matrix(), rule.interleaved);
    } else if (adds(rule)) {
        for (Index row = 0; row < rows.rows; ++row) {
            const Index position = positions[static_cast<std::size_t>(row)];
            const std::vector<double> table = table_row_of(rule, position, rows.cols);
            for (Index a = 0; a < rows.cols; ++a)
                rows(row, a) += static_cast<float>(position_added(rule, table, position, a, rows.cols));
        }
    }
}

std::vector<double> placed(const PositionRule& rule, std::span<const double> row, Index position) {
    std::vector<double> out(row.begin(), row.end());
    if (rule.scheme == PositionScheme::rotary) {
        for (Index pair = 0; pair < std::ssize(rule.frequencies); ++pair) {
            const auto [first, second] = pair_place(rule, pair);
            const double angle =
                static_cast<double>(position) * rule.frequencies[static_cast<std::size_t>(pair)];
            const double c = rule.magnitude * std::cos(angle), s = rule.magnitude * std::sin(angle);
            const double x = row[static_cast<std::size_t>(first)], y = row[static_cast<std::size_t>(second)];
            out[static_cast<std::size_t>(first)] = x * c - y * s;
            out[static_cast<std::size_t>(second)] = x * s + y * c;
        }
    } else if (adds(rule)) {
        const Index width = std::ssize(row);
        const std::vector<double> table = table_row_of(rule, position, width);
        for (Index a = 0; a < width; ++a)
            out[static_cast<std::size_t>(a)] += position_added(rule, table, position, a, width);
    }
    return out;
}

double position_bias(const PositionRule& rule, Index query, Index key) {
    if (rule.scheme == PositionScheme::alibi) return -rule.slope * static_cast<double>(std::abs(query - key));
    if (has_buckets(rule.scheme))
        return rule.bucket_biases[static_cast<std::size_t>(relative_bucket(rule.buckets, query, key))];
    return 0;
}

PairRotation pair_rotation(const PositionRule& rule, Index pair, std::span<const double> q, Index q_position,
                           std::span<const double> k, Index k_position) {
    const auto [first, second] = pair_place(rule, pair);
    const double frequency = rule.frequencies[static_cast<std::size_t>(pair)];
    const auto at = [&](std::span<const double> row, Index position, double& length, double& angle) {
        const double x = row[static_cast<std::size_t>(first)], y = row[static_cast<std::size_t>(second)];
        length = rule.magnitude * std::hypot(x, y);
        angle = std::atan2(y, x) + static_cast<double>(position) * frequency;
    };
    PairRotation rotation;
    at(q, q_position, rotation.q_length, rotation.q_angle);
    at(k, k_position, rotation.k_length, rotation.k_angle);
    rotation.product = rotation.q_length * rotation.k_length * std::cos(rotation.q_angle - rotation.k_angle);
    return rotation;
}

HeadRows HeadRows::taken(std::span<const Index> queries, std::span<const Index> keys) const {
    const auto of = [&](const Tensor& from, std::span<const Index> order) {
        Tensor to({1, std::ssize(order), from.dim(2)});
        for (Index s = 0; s < std::ssize(order); ++s)
            std::copy_n(from.heads().head(0).row(order[static_cast<std::size_t>(s)]), from.dim(2),
                        to.heads().head(0).row(s));
        return to;
    };
    return {of(q, queries), of(k, keys), of(v, keys)};
}

Result<PlacedRun> run_placed(const Kernels& kernels, const PositionRule& rule, const HeadRows& rows,
                             std::span<const Index> query_positions, std::span<const Index> key_positions,
                             AttentionSpec spec) {
    const Index n_q = rows.q.dim(1), n_k = rows.k.dim(1), d_k = rows.q.dim(2), d_v = rows.v.dim(2);
    const auto query_at = [&](Index i) { return query_positions[static_cast<std::size_t>(i)]; };
    const auto key_at = [&](Index j) { return key_positions[static_cast<std::size_t>(j)]; };
    const bool biased = rule.scheme == PositionScheme::alibi || has_buckets(rule.scheme);
    if (biased) {
        Tensor bias({1, n_q, n_k});
        for (Index i = 0; i < n_q; ++i)
            for (Index j = 0; j < n_k; ++j)
                bias.heads().head(0)(i, j) = static_cast<float>(position_bias(rule, query_at(i), key_at(j)));
        spec.bias.values = std::make_shared<const Tensor>(std::move(bias));
    }
    Tensor q = rows.q, k = rows.k;
    place(kernels, rule, query_positions, q.heads().head(0));
    place(kernels, rule, key_positions, k.heads().head(0));
    auto record = Record::run(std::move(q), std::move(k), rows.v, std::move(spec), kernels);
    if (!record) return record.error();
    PlacedRun run{*std::move(record), {}, {}, {}};

    std::vector<std::vector<double>> queries, keys;
    for (Index i = 0; i < n_q; ++i)
        queries.push_back(placed(rule, in_double(rows.q.heads().head(0).row(i), d_k), query_at(i)));
    for (Index j = 0; j < n_k; ++j)
        keys.push_back(placed(rule, in_double(rows.k.heads().head(0).row(j), d_k), key_at(j)));
    for (Index i = 0; i < n_q; ++i) {
        ScoreRow row;
        row.scale = run.record.scale();
        row.softcap = run.record.spec().softcap;
        row.allowed.resize(static_cast<std::size_t>(n_k));
        run.record.spec().mask.row(0, i, 0, row.allowed);
        for (Index j = 0; j < n_k; ++j) {
            double dot = 0;
            for (std::size_t a = 0; a < static_cast<std::size_t>(d_k); ++a)
                dot += queries[static_cast<std::size_t>(i)][a] * keys[static_cast<std::size_t>(j)][a];
            row.raw.push_back(dot);
            row.bias.push_back(position_bias(rule, query_at(i), key_at(j)));
        }
        const RowChain chain(row);
        const std::size_t first = run.weights.size();
        for (Index j = 0; j < n_k; ++j) {
            const CellExplanation cell = chain.at(j);
            run.scores.push_back(cell.capped + cell.bias);
            run.weights.push_back(cell.weight);
        }
        for (Index b = 0; b < d_v; ++b) {
            double sum = 0;
            for (Index j = 0; j < n_k; ++j)
                sum += run.weights[first + static_cast<std::size_t>(j)] *
                       static_cast<double>(rows.v.heads().head(0)(j, b));
            run.outputs.push_back(sum);
        }
    }
    return run;
}

double CarriedError::most_f32() const { return f32.empty() ? 0 : std::ranges::max(f32); }
double CarriedError::most_f64() const { return f64.empty() ? 0 : std::ranges::max(f64); }

CarriedError carried_error(const PlacedRun& before, const PlacedRun& after, std::span<const Index> order) {
    const Index d_v = before.record.d_v();
    CarriedError error{std::vector<double>(order.size()), std::vector<double>(order.size())};
    const ConstMatrix was = before.record.output().heads().head(0),
                      is = after.record.output().heads().head(0);
    for (Index s = 0; s < std::ssize(order); ++s) {
        const Index token = order[static_cast<std::size_t>(s)];
        double &f32 = error.f32[static_cast<std::size_t>(token)],
               &f64 = error.f64[static_cast<std::size_t>(token)];
        for (Index b = 0; b < d_v; ++b) {
            f32 = std::max(f32, std::abs(static_cast<double>(is(s, b)) - static_cast<double>(was(token, b))));
            f64 = std::max(f64, std::abs(after.outputs[static_cast<std::size_t>(s * d_v + b)] -
                                         before.outputs[static_cast<std::size_t>(token * d_v + b)]));
        }
    }
    return error;
}

double reorder_rounding(const PlacedRun& run) {
    double most_score = 0, most_value = 0;
    for (const double score : run.scores) most_score = std::max(most_score, std::abs(score));
    for (const float value : run.record.v().values())
        most_value = std::max(most_value, std::abs(static_cast<double>(value)));
    return std::exp2(-23) * most_value * (static_cast<double>(run.keys()) + 2 * most_score + 4);
}

std::vector<float> scores_of(const PlacedRun& run) {
    const Index n_q = run.queries(), n_k = run.keys();
    std::vector<float> scores(static_cast<std::size_t>(n_q * n_k));
    run.record.stage(Stage::capped, 0, {0, n_q}, {0, n_k}, scores);
    const Bias& bias = run.record.spec().bias;
    if (!bias.empty())
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += bias.values->values()[i];
    return scores;
}

ScoreChange score_change(const PlacedRun& a, const PlacedRun& b) {
    const std::vector<float> before = scores_of(a), after = scores_of(b);
    ScoreChange change{.all = std::ssize(before)};
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (std::bit_cast<std::uint32_t>(before[i]) == std::bit_cast<std::uint32_t>(after[i])) ++change.equal;
        const double f32 = std::abs(static_cast<double>(after[i]) - static_cast<double>(before[i])),
                     f64 = std::abs(b.scores[i] - a.scores[i]);
        if (f32 > change.f32) change.f32 = f32, change.f32_cell = static_cast<Index>(i);
        if (f64 > change.f64) change.f64 = f64, change.f64_cell = static_cast<Index>(i);
    }
    return change;
}

}  // namespace attn
