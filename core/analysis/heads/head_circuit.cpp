#include "analysis/heads/head_circuit.hpp"

#include <algorithm>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr Index distances_measured = 64;

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

Index HeadCircuit::key_head() const {
    const ModelConfig& config = job_.ends().model()->config();
    return job_.head().head / (config.heads / config.kv_heads);
}

CircuitRotation HeadCircuit::rotation_at(Index distance) const {
    if (job_.circuit() != Circuit::qk) return {};
    return rotation_of(network(), job_.head().layer, distance);
}

const MapPointer& HeadCircuit::map(Index distance) {
    if (job_.done() && (!map_ || distance_ != distance)) {
        map_ = circuit_map(job_.factors(), rotation_at(distance));
        distance_ = distance;
    }
    return map_;
}

std::vector<float> HeadCircuit::left(Index row, Index distance) const {
    std::vector<float> values = factor_row(job_.factors()->left, row);
    rotation_at(distance).apply({values.data(), 1, std::ssize(values), std::ssize(values)});
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
        CircuitRotation back = rotation_at(distance);
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

std::vector<Term> HeadCircuit::explain_cell(Index row, Index column, Index distance) const {
    return terms_between(left(row, distance), right(column));
}

VectorComponent HeadCircuit::explain_left(Index row, Index component, Index distance) const {
    const HeadIndex head = job_.head();
    const Model& model = *job_.ends().model();
    const Tensor read = job_.read({row, row + 1});
    const auto unturned = [&](Stage stage, Index of_head, Index which) {
        return explain_unturned(model, stage, head.layer, of_head, read.values(), which);
    };
    if (job_.circuit() == Circuit::ov) {
        VectorComponent value = unturned(Stage::v, key_head(), component);
        value.own.bias = 0;
        return value;
    }
    VectorComponent query = unturned(Stage::q, head.head, component);
    const Rotary* rotary = job_.circuit() == Circuit::qk ? network().rotary_of(head.layer) : nullptr;
    const RotaryPair pair = pair_of(rotary, component);
    if (pair.partner < 0) return query;
    query.frequency = rotary->frequencies[static_cast<std::size_t>(pair.pair)];
    turn(query, unturned(Stage::q, head.head, pair.partner), pair,
         static_cast<double>(distance) * query.frequency, rotary->magnitude * rotary->magnitude);
    return query;
}

VectorComponent HeadCircuit::explain_key(Index column, Index component) const {
    const Tensor read = job_.read({column, column + 1});
    return explain_unturned(*job_.ends().model(), Stage::k, job_.head().layer, key_head(), read.values(),
                            component);
}

std::vector<Term> HeadCircuit::explain_written(Index column, Index component) const {
    const Tensor u = job_.ends().unembedding({column, column + 1});
    return terms_between(row_of(job_.written(), component), u.values());
}

const std::vector<double>* HeadCircuit::by_distance() {
    if (!by_distance_ && job_.done()) {
        const Index context = job_.ends().model()->config().context;
        by_distance_ =
            mean_score_by_distance(*job_.factors(), network(), job_.head().layer,
                                   context > 0 ? std::min(context, distances_measured) : distances_measured);
    }
    return by_distance_ ? &*by_distance_ : nullptr;
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

}  // namespace attn
