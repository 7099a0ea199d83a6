#include "analysis/heads/head_form.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/block.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

// Some rows of a weight [in, out], read along contiguous memory.
DenseMatrix matrix_of(const WeightView& weight, Range rows) {
    DenseMatrix made(rows.size(), weight.out);
    const bool by_column = weight.layout == WeightView::Layout::out_in;
    const Index lines = by_column ? weight.out : rows.size(), size = by_column ? rows.size() : weight.out;
    std::vector<float> line(static_cast<std::size_t>(size));
    for (Index i = 0; i < lines; ++i) {
        read_row(weight, by_column ? i : rows.begin + i, by_column ? rows.begin : 0, line);
        for (Index j = 0; j < size; ++j)
            (by_column ? made(j, i) : made(i, j)) = static_cast<double>(line[static_cast<std::size_t>(j)]);
    }
    return made;
}
DenseMatrix matrix_of(const HeadProjection::Part& part) {
    return matrix_of(part.view().weight, {0, part.weight.in});
}

DenseMatrix dense_rows(const Tensor& tensor, Index head, Range rows) {
    std::vector<Index> all(static_cast<std::size_t>(rows.size()));
    std::iota(all.begin(), all.end(), rows.begin);
    return attn::dense_rows(tensor, head, all);
}

}  // namespace

HeadWeights head_weights(std::shared_ptr<const Trace> trace, HeadIndex head) {
    const LayerAttention at = trace->attention(head.layer);
    const HeadProjection projection = head_projection(*trace->model(), head.layer, head.head);
    const Index width = trace->model()->config().head_dim;
    return {.w_q = matrix_of(projection.q),
            .w_k = matrix_of(projection.k),
            .w_v = matrix_of(projection.v),
            .w_o = matrix_of(at.half.attention_out.weight, {head.head * width, (head.head + 1) * width}),
            .tokens = at.queries.tokens(),
            .key_tokens = at.keys.tokens(),
            .trace = std::move(trace),
            .attention = head.layer,
            .biased = !projection.q.bias.empty() || !projection.k.bias.empty(),
            .rotated = at.half.rotary.has_value(),
            .normalised = at.half.q_norm || at.half.k_norm,
            .crosses = &at.queries != &at.keys};
}

double HeadWeights::input(Index token, Index b, bool of_key) const {
    if (!trace) return x(token, b);
    const LayerAttention at = trace->attention(attention);
    return static_cast<double>((of_key ? at.key_input : at.run.attention_input).matrix()(token, b));
}

HeadForm::HeadForm(FormOf of, const HeadWeights& weights)
    : of_(of),
      left_(of == FormOf::scores ? weights.w_q : weights.w_v),
      right_(of == FormOf::scores ? weights.w_k : weights.w_o.transposed()) {
    begin(weights.crosses);
}

HeadForm::HeadForm(const Record& record, Index head, Range queries, Range keys, bool crosses)
    : of_(FormOf::tokens),
      left_(dense_rows(record.q(), head, queries)),
      right_(dense_rows(record.k(), record.kv_head(head), keys)),
      first_row_(queries.begin),
      first_col_(keys.begin) {
    begin(crosses);
}

void HeadForm::begin(bool crosses) {
    factors_ = {left_.view(), right_.view()};
    const auto all_finite = [](const DenseMatrix& m) {
        return std::ranges::all_of(m.values, [](double each) { return std::isfinite(each); });
    };
    if (!all_finite(left_) || !all_finite(right_)) return;
    // Rows and columns of different spaces, or texts, do not mirror each other.
    squares_.square = factors_.rows() == factors_.cols() && !crosses;
    job_.emplace(factors_);
}

bool HeadForm::step() {
    if (!job_) return false;
    if (squared_) return job_->step();
    const bool square = squares_.square;
    squares_ = squares_of(factors_);
    squares_.square = square;
    return squared_ = true;
}

double HeadForm::inner(Index r, bool right, Index a) const {
    const DenseMatrix& factor = right ? right_ : left_;
    const std::span<const double> along = direction(r, right);
    double sum = 0;
    for (Index i = 0; i < factor.rows; ++i) sum += along[static_cast<std::size_t>(i)] * factor(i, a);
    return sum;
}

const char* HeadForm::left_name() const {
    return of_ == FormOf::scores ? "W_Q" : of_ == FormOf::values ? "W_V" : "Q";
}
const char* HeadForm::right_name() const {
    return of_ == FormOf::scores ? "W_Kᵀ" : of_ == FormOf::values ? "W_O" : "Kᵀ";
}

std::optional<WordDirection> word_direction(const HeadWeights& weights, const HeadForm& form, Index direction,
                                            bool right) {
    if (!weights.trace || form.of() == FormOf::tokens || !form.directions()) return std::nullopt;
    const LayerAttention attention = weights.trace->attention(weights.attention);
    const bool encoded = weights.crosses && form.reads_keys(right);
    const Network& network = (encoded ? attention.keys : attention.queries).network();
    const AttentionSublayer& half = attention.half;
    const std::span<const double> along = form.direction(direction, right);
    WordDirection made{&network.token_embedding, {}, {along.begin(), along.end()}, false};
    if (form.of() != FormOf::values || !right) {
        if (network.project_in || network.embedding_norm) return std::nullopt;
        const std::optional<Norm>& norm = encoded ? network.final_norm : half.attention_norm;
        if (!norm) return made;
        made.norm = *norm;
        // The norm of scaled numbers equals the norm of the numbers themselves, with another ε.
        made.norm->epsilon /= network.embedding_scale * network.embedding_scale;
        return made;
    }
    const bool has_head = network.head.weight.out > 0;  // an encoder has no unembedding
    if (!has_head || !network.final_norm || has_head_input(network) || half.attention_post_sublayer_norm ||
        half.attention_post_residual_norm)
        return std::nullopt;
    const Norm& norm = *network.final_norm;
    double mean = 0;
    if (norm.kind == Norm::Kind::layer)
        mean = std::accumulate(along.begin(), along.end(), 0.0) / static_cast<double>(along.size());
    for (std::size_t b = 0; b < made.direction.size(); ++b)
        made.direction[b] = (made.direction[b] - mean) * static_cast<double>(norm.gain.values()[b]);
    made.tokens = &network.head.weight;
    made.writes = true;
    return made;
}

}  // namespace attn
