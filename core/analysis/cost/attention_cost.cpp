#include "analysis/cost/attention_cost.hpp"

namespace attn {

namespace {

double product(Index a, Index b) { return static_cast<double>(a) * static_cast<double>(b); }

// Q, K and V, and the output, in bytes.
struct Inputs {
    double read, written;
    explicit Inputs(const AttentionShape& s)
        : read(s.bytes * static_cast<double>(s.batch) *
               (product(s.heads * s.n_q, s.d_k) + product(s.kv_heads * s.n_k, s.d_k + s.d_v))),
          written(s.bytes * product(s.batch * s.heads * s.n_q, s.d_v)) {}
};

double all_cells(const AttentionShape& s) {
    return static_cast<double>(s.batch * s.heads) * product(s.n_q, s.n_k);
}
double operations_of(const AttentionShape& s, double cells) {
    return 2 * cells * static_cast<double>(s.d_k + s.d_v);
}

}  // namespace

double cells_seen(const AttentionShape& shape) {
    if (!shape.causal) return all_cells(shape);
    // Queries before the first key see nothing.
    const Index rows = std::min(shape.n_q, shape.n_k);
    return static_cast<double>(shape.batch * shape.heads) *
           (product(rows, shape.n_k) - product(rows, rows - 1) / 2);
}

AttentionCost naive_cost(const AttentionShape& shape) {
    const Inputs inputs(shape);
    const double cells = all_cells(shape), map = shape.bytes * cells;
    return {operations_of(shape, cells), inputs.read + 2 * map, inputs.written + 2 * map, map};
}

AttentionCost fused_cost(const AttentionShape& shape) {
    const Inputs inputs(shape);
    return {
        operations_of(shape, cells_seen(shape)), inputs.read, inputs.written,
        2 * shape.bytes * static_cast<double>(shape.batch * shape.heads) * static_cast<double>(shape.n_q)};
}

}  // namespace attn
