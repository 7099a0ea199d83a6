#include "analysis/row_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

namespace {

// The row's inputs, some of which may be moved.
struct Inputs {
    ConstMatrix q_rows, k_rows, v_rows;
    Index query;
    std::vector<Moved> moved{};

    Inputs(const Record& record, Index head, Index row)
        : q_rows(record.q().heads().head(head)),
          k_rows(record.k().heads().head(record.kv_head(head))),
          v_rows(record.v().heads().head(record.kv_head(head))),
          query(row) {}

    double by(Stage stage, Index row, Index col) const {
        double sum = 0;
        for (const Moved& each : moved)
            if (each.stage == stage && each.row == row && each.col == col) sum += each.by;
        return sum;
    }
    double at(const ConstMatrix& rows, Stage stage, Index row, Index col) const {
        return static_cast<double>(rows(row, col)) + by(stage, row, col);
    }
    double q(Index a) const { return at(q_rows, Stage::q, query, a); }
    double k(Index j, Index a) const { return at(k_rows, Stage::k, j, a); }
    double v(Index j, Index b) const { return at(v_rows, Stage::v, j, b); }
};

template <typename Real>
void weigh(const Record& record, Index head, const Inputs& in, RowPass<Real>& pass) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    const AttentionSpec& spec = record.spec();
    const auto n = static_cast<std::size_t>(record.keys());
    pass.allowed.resize(n);
    spec.mask.row(head, in.query, 0, pass.allowed);
    pass.scaled.resize(n), pass.masked.assign(n, -infinity), pass.weight.assign(n, Real{0});
    const auto scale = static_cast<Real>(record.scale()), cap = static_cast<Real>(spec.softcap);
    Real most = -infinity, sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
        const auto key = static_cast<Index>(j);
        Real raw = 0;
        for (Index a = 0; a < record.d_k(); ++a)
            raw += static_cast<Real>(in.q(a)) * static_cast<Real>(in.k(key, a));
        pass.scaled[j] = scale * (raw + static_cast<Real>(in.by(Stage::raw, in.query, key)));
        if (!pass.allowed[j]) continue;
        pass.masked[j] = cap != 0 ? cap * std::tanh(pass.scaled[j] / cap) : pass.scaled[j];
        if (!spec.bias.empty()) pass.masked[j] += static_cast<Real>(spec.bias.at(head, in.query, key));
        pass.masked[j] += static_cast<Real>(in.by(Stage::masked, in.query, key));
        most = std::max(most, pass.masked[j]);
    }
    if (most == -infinity) return;
    for (std::size_t j = 0; j < n; ++j)
        if (pass.allowed[j]) sum += pass.weight[j] = std::exp(pass.masked[j] - most);
    for (std::size_t j = 0; j < n; ++j)
        pass.weight[j] =
            pass.weight[j] / sum + static_cast<Real>(in.by(Stage::weight, in.query, static_cast<Index>(j)));
}

template <typename Real>
void finish_forward(const Record& record, const Inputs& in, const RowLoss& loss, RowPass<Real>& pass) {
    pass.output.assign(static_cast<std::size_t>(record.d_v()), Real{0});
    for (std::size_t b = 0; b < pass.output.size(); ++b)
        for (std::size_t j = 0; j < pass.weight.size(); ++j)
            if (pass.weight[j] != 0)
                pass.output[b] +=
                    pass.weight[j] * static_cast<Real>(in.v(static_cast<Index>(j), static_cast<Index>(b)));
    if (!loss.along.empty()) {
        for (std::size_t b = 0; b < pass.output.size(); ++b)
            pass.loss += static_cast<Real>(loss.along[b]) * pass.output[b];
        return;
    }
    if (!loss.target) {
        pass.loss = pass.output[static_cast<std::size_t>(loss.component)];
        return;
    }
    for (std::size_t b = 0; b < pass.output.size(); ++b) {
        const Real off = pass.output[b] - static_cast<Real>(in.v(*loss.target, static_cast<Index>(b)));
        pass.loss += off * off / 2;
    }
}

template <typename Real>
RowPass<Real> forward_pass(const Record& record, Index head, const Inputs& in, const RowLoss& loss) {
    RowPass<Real> pass;
    weigh(record, head, in, pass);
    finish_forward(record, in, loss, pass);
    return pass;
}

}  // namespace

template <typename Real>
RowPass<Real> row_pass(const Record& record, Index head, Index query, const RowLoss& loss) {
    const Inputs in(record, head, query);
    RowPass<Real> pass = forward_pass<Real>(record, head, in, loss);
    const std::size_t n = pass.weight.size();
    pass.d_output.assign(pass.output.size(), Real{0});
    pass.d_weight.assign(n, Real{0}), pass.d_masked = pass.d_raw = pass.d_weight;
    pass.d_q.assign(static_cast<std::size_t>(record.d_k()), Real{0});
    for (std::size_t b = 0; b < pass.output.size(); ++b) {
        const auto column = static_cast<Index>(b);
        pass.d_output[b] = !loss.along.empty() ? static_cast<Real>(loss.along[b])
                           : loss.target ? pass.output[b] - static_cast<Real>(in.v(*loss.target, column))
                                         : static_cast<Real>(column == loss.component);
    }
    // A key of weight 0 gives and takes nothing, whatever its value is.
    for (std::size_t j = 0; j < n; ++j) {
        if (!pass.allowed[j]) continue;
        for (std::size_t b = 0; b < pass.output.size(); ++b)
            pass.d_weight[j] +=
                pass.d_output[b] * static_cast<Real>(in.v(static_cast<Index>(j), static_cast<Index>(b)));
        if (pass.weight[j] != 0) pass.mean += pass.weight[j] * pass.d_weight[j];
    }
    const auto scale = static_cast<Real>(record.scale()), cap = static_cast<Real>(record.spec().softcap);
    for (std::size_t j = 0; j < n; ++j) {
        if (pass.weight[j] == 0) continue;
        pass.d_masked[j] = pass.weight[j] * (pass.d_weight[j] - pass.mean);
        const Real bent = cap != 0 ? std::tanh(pass.scaled[j] / cap) : Real{0};
        pass.d_raw[j] = scale * (1 - bent * bent) * pass.d_masked[j];
        for (std::size_t a = 0; a < pass.d_q.size(); ++a)
            pass.d_q[a] +=
                pass.d_raw[j] * static_cast<Real>(in.k(static_cast<Index>(j), static_cast<Index>(a)));
    }
    return pass;
}

template RowPass<float> row_pass<float>(const Record&, Index, Index, const RowLoss&);
template RowPass<double> row_pass<double>(const Record&, Index, Index, const RowLoss&);

double row_loss(const Record& record, Index head, Index query, const RowLoss& loss,
                std::span<const Moved> moved) {
    Inputs in(record, head, query);
    in.moved.assign(moved.begin(), moved.end());
    return forward_pass<double>(record, head, in, loss).loss;
}

double central_difference(const Record& record, Index head, Index query, const RowLoss& loss,
                          std::span<const Moved> moved, double h) {
    const auto at = [&](double times) {
        std::vector<Moved> all(moved.begin(), moved.end());
        for (Moved& each : all) each.by *= times;
        return row_loss(record, head, query, loss, all);
    };
    return (at(h) - at(-h)) / (2 * h);
}

double weight_slope(std::span<const double> weights, Index j, Index k) {
    const auto at = [&](Index i) { return weights[static_cast<std::size_t>(i)]; };
    return at(j) * ((j == k ? 1 : 0) - at(k));
}

}  // namespace attn
