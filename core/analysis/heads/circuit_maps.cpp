#include "analysis/heads/circuit_maps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/block.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

constexpr double circuit_products_a_step = 4e6;  // about a millisecond

class CircuitMap final : public Map {
  public:
    CircuitMap(std::shared_ptr<const CircuitFactors> factors, CircuitRotation rotation)
        : Map(factors->left.dim(0), factors->right.dim(0), true),
          factors_(std::move(factors)),
          rotation_(std::move(rotation)) {}

    Coverage coverage(Range, Range) const override { return Coverage::all; }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double>) const override {
        const Kernels& kernels = default_kernels();
        const ConstMatrix left = factors_->left.matrix(), right = factors_->right.matrix();
        Tensor queries({window.rows(), left.cols});
        for (Index row = 0; row < window.rows(); ++row)
            std::copy_n(left.row(window.query(row)), left.cols, queries.matrix().row(row));
        rotation_.apply(queries.matrix());
        for (float& each : queries.values()) each *= static_cast<float>(factors_->scale);
        kernels.dot_products(queries.matrix(), rows(right, window.keys), out);
        if (factors_->softcap == 0) return;
        for (Index row = 0; row < out.rows; ++row)
            kernels.soft_cap({out.row(row), static_cast<std::size_t>(out.cols)},
                             static_cast<float>(factors_->softcap));
    }

  private:
    std::shared_ptr<const CircuitFactors> factors_;
    CircuitRotation rotation_;
};

Tensor position_inputs(const CircuitEnds& ends, Index attention, Range positions) {
    const Network& network = ends.model()->network();
    std::vector<std::int32_t> ids;
    for (Index i = positions.begin; i < positions.end; ++i)
        ids.push_back(static_cast<std::int32_t>(network.first_position + i));
    Tensor rows({positions.size(), network.position_embedding->in});
    look_up(*network.position_embedding, ids, rows.matrix());
    if (network.embedding_norm)
        normalise(ends.kernels(), *network.embedding_norm, rows.matrix(), rows.matrix());
    if (const Norm* norm = ends.input_norm(attention))
        normalise(ends.kernels(), *norm, rows.matrix(), rows.matrix());
    return rows;
}

}  // namespace

Index embedded_positions(const Network& network) {
    return network.position_embedding ? network.position_embedding->out - network.first_position : 0;
}

void CircuitRotation::apply(MatrixView<float> rows) const {
    if (cosine.empty()) return;
    const auto pairs = std::ssize(cosine);
    default_kernels().rope(rows, {cosine.data(), rows.rows, pairs, 0}, {sine.data(), rows.rows, pairs, 0},
                           interleaved);
}

CircuitRotation rotation_of(const Network& network, Index attention, Index distance) {
    const Rotary* rotary = network.rotary_of(attention);
    if (!rotary) return {};
    CircuitRotation rotation{.cosine = {}, .sine = {}, .interleaved = rotary->interleaved};
    const double magnitude = rotary->magnitude * rotary->magnitude;
    for (const double frequency : rotary->frequencies) {
        const double angle = static_cast<double>(distance) * frequency;
        rotation.cosine.push_back(static_cast<float>(magnitude * std::cos(angle)));
        rotation.sine.push_back(static_cast<float>(magnitude * std::sin(angle)));
    }
    return rotation;
}

MapPointer circuit_map(std::shared_ptr<const CircuitFactors> factors, CircuitRotation rotation) {
    return std::make_shared<CircuitMap>(std::move(factors), std::move(rotation));
}

Result<CircuitJob> CircuitJob::start(std::shared_ptr<const Model> model, Circuit circuit, HeadIndex head,
                                     const Kernels& kernels) {
    const auto ends = CircuitEnds::of(std::move(model), kernels);
    if (!ends) return ends.error();
    if (circuit == Circuit::positions && embedded_positions(ends->model()->network()) <= 0)
        return Error{"This model adds no rows for positions to its embedding."};
    return CircuitJob(*ends, circuit, head);
}

CircuitJob::CircuitJob(const CircuitEnds& ends, Circuit circuit, HeadIndex head)
    : ends_(ends), circuit_(circuit), head_(head), made_(std::make_shared<CircuitFactors>()) {
    factors_ = made_;
    const Network& network = ends.model()->network();
    const Index width = ends.model()->config().head_dim;
    rows_ = circuit == Circuit::positions ? embedded_positions(network) : ends.tokens();
    made_->left = made_->right = Tensor({rows_, width});
    const double each = 2 * static_cast<double>(ends.d_model()) * static_cast<double>(width);
    rows_a_step_ = std::max<Index>(static_cast<Index>(circuit_products_a_step / each), 16);
    if (circuit == Circuit::ov) {
        written_ = ends.written(head.layer, head.head);
        return;
    }
    const AttentionSublayer& half = network.attention(head.layer);
    made_->scale = half.scale;
    made_->softcap = half.softcap;
}

Tensor CircuitJob::read(Range rows) const {
    return circuit_ == Circuit::positions ? position_inputs(ends_, head_.layer, rows)
                                          : ends_.read(head_.layer, rows);
}

std::optional<CircuitJob::StoredRow> CircuitJob::stored_row(Index row) const {
    const Network& network = ends_.model()->network();
    if (network.embedding_norm) return std::nullopt;
    if (circuit_ == Circuit::positions)
        return StoredRow{*network.position_embedding, network.first_position + row, 1};
    if (network.project_in) return std::nullopt;
    return StoredRow{network.token_embedding, row, network.embedding_scale};
}

bool CircuitJob::step() {
    if (done()) return false;
    const Model& model = *ends_.model();
    const Kernels& kernels = ends_.kernels();
    const Range part{next_, std::min(next_ + rows_a_step_, rows_)};
    const Tensor inputs = read(part);
    const MatrixView<float> left = rows(made_->left.matrix(), part),
                            right = rows(made_->right.matrix(), part);
    const Index kv_head = head_.head / (model.config().heads / model.config().kv_heads);
    if (circuit_ == Circuit::ov) {
        const HeadProjection projection = head_projection(model, head_.layer, head_.head);
        apply(kernels, {projection.v.view().weight, {}}, inputs.matrix(), left);
        const Tensor unembedding = ends_.unembedding(part);
        kernels.dot_products(unembedding.matrix(), std::as_const(written_).matrix(), right);
    } else {
        const auto put = [&](Stage stage, Index head, MatrixView<float> to) {
            const Tensor made = rows_pre_rope(kernels, model, stage, head_.layer, head, inputs.matrix());
            copy(made.heads().head(0), to);
        };
        put(Stage::q, head_.head, left);
        put(Stage::k, kv_head, right);
    }
    next_ = part.end;
    return !done();
}

std::vector<double> mean_score_by_distance(const CircuitFactors& factors, const Network& network,
                                           Index attention, Index distances) {
    const auto mean = [](const Tensor& rows) {
        std::vector<double> sum(static_cast<std::size_t>(rows.dim(1)));
        for (Index row = 0; row < rows.dim(0); ++row)
            for (std::size_t a = 0; a < sum.size(); ++a)
                sum[a] += static_cast<double>(rows.matrix()(row, static_cast<Index>(a)));
        for (double& each : sum) each /= static_cast<double>(rows.dim(0));
        return sum;
    };
    const std::vector<double> q = mean(factors.left), k = mean(factors.right);
    const Rotary* rotary = network.rotary_of(attention);
    std::vector<double> scores;
    for (Index distance = 0; distance < distances; ++distance) {
        double score = 0;
        for (Index a = 0; a < std::ssize(q); ++a) {
            const RotaryPair pair = pair_of(rotary, a);
            const auto own = static_cast<std::size_t>(a);
            double turned = q[own];
            if (pair.partner >= 0) {
                const double angle =
                    static_cast<double>(distance) * rotary->frequencies[static_cast<std::size_t>(pair.pair)];
                const double partner = q[static_cast<std::size_t>(pair.partner)];
                turned = rotary->magnitude * rotary->magnitude *
                         (turned * std::cos(angle) + (pair.first ? -partner : partner) * std::sin(angle));
            }
            score += turned * k[own];
        }
        scores.push_back(score * factors.scale);
    }
    return scores;
}

}  // namespace attn
