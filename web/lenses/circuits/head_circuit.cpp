#include "lenses/circuits/head_circuit.hpp"

namespace attn::app {

namespace {

WeightView rows_as_tokens(const Tensor& rows) {
    return {.data = reinterpret_cast<const std::byte*>(rows.data()),
            .dtype = DType::f32,
            .in = rows.dim(1),
            .out = rows.dim(0),
            .layout = WeightView::Layout::out_in};
}

std::vector<float> factor_row(const Tensor& rows, Index row) {
    const float* first = rows.matrix().row(row);
    return {first, first + rows.dim(1)};
}

}  // namespace

CircuitRotation HeadCircuit::turn_at(Index distance) const {
    if (job_.circuit() != Circuit::qk) return {};
    return rotation_of(job_.ends().model()->network(), job_.head().layer, distance);
}

const MapPointer& HeadCircuit::map(Index distance) {
    if (job_.done() && (!map_ || distance_ != distance)) {
        map_ = circuit_map(job_.factors(), turn_at(distance));
        distance_ = distance;
    }
    return map_;
}

std::vector<float> HeadCircuit::left(Index row, Index distance) const {
    std::vector<float> values = factor_row(job_.factors()->left, row);
    turn_at(distance).apply({values.data(), 1, std::ssize(values), std::ssize(values)});
    return values;
}

std::vector<float> HeadCircuit::right(Index column) const {
    return factor_row(job_.factors()->right, column);
}

const TokenDirections* HeadCircuit::list(bool of_row, Index token, Index distance) {
    if (!job_.done()) return nullptr;
    std::optional<List>& kept = lists_[of_row];
    if (kept && kept->token == token && kept->distance == distance) return kept->found.get();
    const CircuitFactors& factors = *job_.factors();
    std::vector<float> along = of_row ? left(token, distance) : right(token);
    if (!of_row) {
        // Rotates back: (q R) · k = q · (k Rᵀ).
        CircuitRotation back = turn_at(distance);
        for (float& sine : back.sine) sine = -sine;
        back.apply({along.data(), 1, std::ssize(along), std::ssize(along)});
    }
    std::vector<double> direction;
    for (const float each : along)
        direction.push_back(static_cast<double>(each) * static_cast<double>(factors.scale));
    kept = List{token, distance,
                std::make_unique<TokenDirections>(rows_as_tokens(of_row ? factors.right : factors.left),
                                                  std::nullopt, direction, circuit_ends_listed)};
    return kept->found.get();
}

bool HeadCircuit::step() {
    if (!job_.done()) {
        job_.step();
        return true;
    }
    for (const auto& list : lists_)
        if (list && !list->found->done()) {
            list->found->step();
            return true;
        }
    return false;
}

}  // namespace attn::app
