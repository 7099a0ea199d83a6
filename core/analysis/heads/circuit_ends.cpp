#include "analysis/heads/circuit_ends.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/backward.hpp"
#include "model/block.hpp"
#include "model/explain.hpp"

namespace attn {

namespace {

// Rows of a table of tokens, [tokens, in].
Tensor rows_of_table(const WeightView& table, Range tokens) {
    Tensor rows({tokens.size(), table.in});
    if (table.layout == WeightView::Layout::out_in) {
        std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
        std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(tokens.begin));
        look_up(table, ids, rows.matrix());
        return rows;
    }
    for (Index token = 0; token < tokens.size(); ++token)
        for (Index i = 0; i < table.in; ++i)
            rows.matrix()(token, i) = static_cast<float>(element(table, i, tokens.begin + token));
    return rows;
}

void scale_rows(Tensor& rows, double by) {
    if (by == 1) return;
    for (float& each : rows.values()) each *= static_cast<float>(by);
}

Tensor through(const Kernels& kernels, const WeightView& weight, const Tensor& rows) {
    Tensor out({rows.dim(0), weight.out});
    apply(kernels, {weight, {}}, rows.matrix(), out.matrix());
    return out;
}

double slope_at_zero(Activation activation) {
    float zero = 0, slope = 1;
    default_backward().activate(activation, {&zero, 1}, {&slope, 1}, {&slope, 1});
    // ReLU has none at 0; the mean of its two sides is what GELU and SiLU have.
    return slope == 0 ? 0.5 : static_cast<double>(slope);
}

}  // namespace

void pass_gain(const Norm& norm, MatrixView<float> rows) {
    for (Index row = 0; row < rows.rows; ++row) {
        const std::span<float> x(rows.row(row), static_cast<std::size_t>(rows.cols));
        double mean = 0;
        if (norm.kind == Norm::Kind::layer) {
            for (const float each : x) mean += static_cast<double>(each);
            mean /= static_cast<double>(x.size());
        }
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<float>((static_cast<double>(x[i]) - mean) *
                                      static_cast<double>(norm.gain.values()[i]));
    }
}

Tensor output_rows(const Model& model, Index attention, Index head) {
    const WeightView& w_o = model.network().attention(attention).attention_out.weight;
    const Index width = model.config().head_dim;
    Tensor rows({width, w_o.out});
    for (Index a = 0; a < width; ++a)
        for (Index i = 0; i < w_o.out; ++i)
            rows.matrix()(a, i) = static_cast<float>(element(w_o, head * width + a, i));
    return rows;
}

Result<CircuitEnds> CircuitEnds::of(std::shared_ptr<const Model> model, const Kernels& kernels) {
    const Network& network = model->network();
    if (network.encoder)
        return Error{
            "The heads of an encoder–decoder read one text and write for another, so its circuits do not "
            "begin and "
            "end in the same tokens."};
    if (!network.head.weight.data || network.head.weight.out == 0)
        return Error{"This model makes no logits, so nothing says what its heads write in tokens."};
    return CircuitEnds(std::move(model), kernels);
}

Index CircuitEnds::tokens() const {
    const Network& network = model_->network();
    return std::min(network.token_embedding.out, network.head.weight.out);
}
Index CircuitEnds::d_model() const { return model_->config().d_model; }
Index CircuitEnds::width() const { return model_->network().head.weight.in; }

const Norm* CircuitEnds::input_norm(Index attention) const {
    const Network& network = model_->network();
    const AttentionSublayer& half = network.attention(attention);
    if (half.attention_norm) return &*half.attention_norm;
    if (attention == 0) return nullptr;
    const Block& before = network.blocks[static_cast<std::size_t>(attention - 1)];
    return before.mlp_post_residual_norm ? &*before.mlp_post_residual_norm : nullptr;
}

Tensor CircuitEnds::stream(Range tokens) const {
    const Network& network = model_->network();
    Tensor rows = rows_of_table(network.token_embedding, tokens);
    if (network.project_in) rows = through(*kernels_, network.project_in->weight, rows);
    scale_rows(rows, network.embedding_scale);
    if (network.embedding_norm) normalise(*kernels_, *network.embedding_norm, rows.matrix(), rows.matrix());
    return rows;
}

Tensor CircuitEnds::read(Index attention, Range tokens) const {
    Tensor rows = stream(tokens);
    if (const Norm* norm = input_norm(attention)) normalise(*kernels_, *norm, rows.matrix(), rows.matrix());
    return rows;
}

Tensor CircuitEnds::unembedding(Range tokens) const {
    return rows_of_table(model_->network().head.weight, tokens);
}

Tensor CircuitEnds::to_head(Index attention, ConstMatrix given) const {
    const Network& network = model_->network();
    Tensor rows({given.rows, given.cols});
    copy(given, rows.matrix());
    const auto pass = [&](const std::optional<Norm>& norm) {
        if (norm) pass_gain(*norm, rows.matrix());
    };
    pass(network.attention(attention).attention_post_sublayer_norm);
    for (Index layer = attention; layer < std::ssize(network.blocks); ++layer) {
        const Block& block = network.blocks[static_cast<std::size_t>(layer)];
        pass(block.attention_post_residual_norm);
        pass(block.mlp_post_residual_norm);
    }
    pass(network.final_norm);
    scale_rows(rows, network.head_scale);
    if (network.project_out) rows = through(*kernels_, network.project_out->weight, rows);
    if (const auto& transform = network.head_transform) {
        rows = through(*kernels_, transform->dense.weight, rows);
        scale_rows(rows, slope_at_zero(transform->activation));
        pass_gain(transform->norm, rows.matrix());
    }
    return rows;
}

Tensor CircuitEnds::written(Index attention, Index head) const {
    return to_head(attention, output_rows(*model_, attention, head).matrix());
}

}  // namespace attn
