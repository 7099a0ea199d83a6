#include "subjects/worked/axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/format.hpp"
#include "subjects/worked/worked_run.hpp"

namespace attn::app {

namespace {

void resize_rows(Matrix& m, Index rows) {
    m.values.resize(static_cast<std::size_t>(rows * m.cols), 0.0);
    m.rows = rows;
}

void resize_cols(Matrix& m, Index cols) {
    Matrix out(m.rows, cols);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < std::min(cols, m.cols); ++c) out.at(r, c) = m.at(r, c);
    m = std::move(out);
}

void erase_row(Matrix& m, Index row) {
    const auto at = m.values.begin() + row * m.cols;
    m.values.erase(at, at + m.cols);
    --m.rows;
}

void erase_col(Matrix& m, Index col) {
    Matrix out(m.rows, m.cols - 1);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0, to = 0; c < m.cols; ++c)
            if (c != col) out.at(r, to++) = m.at(r, c);
    m = std::move(out);
}

bool same_axis(const WorkedState& w, Axis a, Axis b) {
    const auto is_token = [](Axis axis) { return axis == Axis::queries || axis == Axis::keys; };
    return a == b || (w.source == Source::projections && is_token(a) && is_token(b));
}

// One side of an input matrix.
struct Edge {
    Stage stage;
    bool rows;
    Index size;
};

std::vector<Edge> edges(const WorkedState& w, Axis axis) {
    std::vector<Edge> found;
    for (const Stage id : inputs_of(w.source)) {
        const Matrix* m = w.input(id);
        if (!m) continue;
        const auto [rows, cols] = axes_of(id);
        if (same_axis(w, rows, axis)) found.push_back({id, true, m->rows});
        if (same_axis(w, cols, axis)) found.push_back({id, false, m->cols});
    }
    return found;
}

// Painted cells that remain keep their bits; new ones are allowed.
void repaint(WorkedMask& mask, Index old_queries, Index old_keys, Index queries, Index keys) {
    if (mask.kind != WorkedMask::Kind::painted) return;
    std::vector<std::uint8_t> painted(static_cast<std::size_t>(queries * keys), 1);
    for (Index i = 0; i < std::min(queries, old_queries); ++i)
        for (Index j = 0; j < std::min(keys, old_keys); ++j)
            painted[static_cast<std::size_t>(i * keys + j)] =
                mask.painted[static_cast<std::size_t>(i * old_keys + j)];
    mask.painted = std::move(painted);
}

void erase_painted(WorkedMask& mask, Index queries, Index keys, std::optional<Index> query,
                   std::optional<Index> key) {
    if (mask.kind != WorkedMask::Kind::painted) return;
    std::vector<std::uint8_t> painted;
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j)
            if (i != query && j != key)
                painted.push_back(mask.painted[static_cast<std::size_t>(i * keys + j)]);
    mask.painted = std::move(painted);
}

std::string with_shape(Stage id, const Matrix& m) {
    return std::string(symbol(id)) + " (" + std::to_string(m.rows) + "×" + std::to_string(m.cols) + ")";
}

}  // namespace

std::pair<Axis, Axis> axes_of(Stage input) {
    switch (input) {
        case Stage::x: return {Axis::queries, Axis::d_model};
        case Stage::w_q:
        case Stage::w_k: return {Axis::d_model, Axis::d_k};
        case Stage::w_v: return {Axis::d_model, Axis::d_v};
        case Stage::q: return {Axis::queries, Axis::d_k};
        case Stage::k: return {Axis::keys, Axis::d_k};
        case Stage::v: return {Axis::keys, Axis::d_v};
        default: return {Axis::queries, Axis::keys};
    }
}

Index size_of(const WorkedState& worked, Axis axis) {
    const auto moved = edges(worked, axis);
    return moved.empty() ? 0 : moved[0].size;
}

void resize_labels(std::vector<std::string>& labels, Index size) {
    while (std::ssize(labels) < size) labels.push_back("t" + std::to_string(labels.size()));
    labels.resize(static_cast<std::size_t>(size));
}

void resize(WorkedState& worked, Axis axis, Index size) {
    const Index old_queries = worked.queries(), old_keys = worked.keys();
    for (const Edge& e : edges(worked, axis)) {
        Matrix& m = *worked.input(e.stage);
        e.rows ? resize_rows(m, size) : resize_cols(m, size);
    }
    resize_labels(worked.query_labels, worked.queries());
    resize_labels(worked.key_labels, worked.keys());
    repaint(worked.mask, old_queries, old_keys, worked.queries(), worked.keys());
}

void remove_at(WorkedState& worked, Axis axis, Index index) {
    const bool query = same_axis(worked, axis, Axis::queries), key = same_axis(worked, axis, Axis::keys);
    erase_painted(worked.mask, worked.queries(), worked.keys(), query ? std::optional(index) : std::nullopt,
                  key ? std::optional(index) : std::nullopt);
    for (const Edge& e : edges(worked, axis)) {
        Matrix& m = *worked.input(e.stage);
        e.rows ? erase_row(m, index) : erase_col(m, index);
    }
    if (query) worked.query_labels.erase(worked.query_labels.begin() + index);
    if (key) worked.key_labels.erase(worked.key_labels.begin() + index);
}

bool may_hold(Stage input, double value) {
    if (std::isinf(value)) return input == Stage::raw;
    return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
}

Status check_inputs(const WorkedState& worked) {
    const auto ids = inputs_of(worked.source);
    for (const Stage id : ids) {
        const Matrix* m = worked.input(id);
        if (!m) {
            if (worked.source == Source::scores && id == Stage::v) continue;
            return Error{std::string(symbol(id)) + " is missing."};
        }
        if (m->rows < 1 || m->rows > matrix_size_limit || m->cols < 1 || m->cols > matrix_size_limit ||
            std::ssize(m->values) != m->rows * m->cols)
            return Error{with_shape(id, *m) + " is outside 1×1 to 64×64."};
        for (const double value : m->values)
            if (!may_hold(id, value))
                return Error{std::string(symbol(id)) + " cannot hold " + shortest(value) + "."};
    }
    for (const Axis axis : {Axis::queries, Axis::keys, Axis::d_k, Axis::d_v, Axis::d_model}) {
        const auto sides = edges(worked, axis);
        for (const Edge& e : sides)
            if (e.size != sides[0].size)
                return Error{with_shape(sides[0].stage, *worked.input(sides[0].stage)) + " and " +
                             with_shape(e.stage, *worked.input(e.stage)) + " do not fit together."};
    }
    return ok();
}

}  // namespace attn::app
