#include "lenses/geometry/form.hpp"

#include <algorithm>
#include <cmath>

#include "model/block.hpp"
#include "model/head_projection.hpp"
#include "subjects/projections.hpp"

namespace attn::app {

namespace {

MatrixView<const double> view_of(const Matrix& m) { return {m.values.data(), m.rows, m.cols, m.cols}; }

Matrix transposed(const Matrix& m) {
    Matrix out(m.cols, m.rows);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < m.cols; ++c) out.at(c, r) = m.at(r, c);
    return out;
}

// [in, out], read along contiguous memory.
Matrix matrix_of(const WeightView& weight) {
    Matrix made(weight.in, weight.out);
    const bool by_column = weight.layout == WeightView::Layout::out_in;
    const Index lines = by_column ? weight.out : weight.in, size = by_column ? weight.in : weight.out;
    std::vector<float> line(static_cast<std::size_t>(size));
    for (Index i = 0; i < lines; ++i) {
        convert_to_f32(weight.dtype, weight.data, i * size, line);
        for (Index j = 0; j < size; ++j)
            (by_column ? made.at(j, i) : made.at(i, j)) =
                static_cast<double>(line[static_cast<std::size_t>(j)]);
    }
    return made;
}

// Rows of W_O that belong to one head: [d_v, d_model].
Matrix rows_of_head(const WeightView& w_o, Index head, Index width) {
    Matrix made(width, w_o.out);
    const bool by_column = w_o.layout == WeightView::Layout::out_in;
    const Index first = head * width, lines = by_column ? w_o.out : width, size = by_column ? width : w_o.out;
    std::vector<float> line(static_cast<std::size_t>(size));
    for (Index i = 0; i < lines; ++i) {
        convert_to_f32(w_o.dtype, w_o.data, by_column ? i * w_o.in + first : (first + i) * w_o.out, line);
        for (Index j = 0; j < size; ++j)
            (by_column ? made.at(j, i) : made.at(i, j)) =
                static_cast<double>(line[static_cast<std::size_t>(j)]);
    }
    return made;
}

HeadWeights weights_of_model(const Trace& trace, HeadIndex head) {
    const Model& model = *trace.model();
    const LayerAttention attention = trace.attention(head.layer);
    const AttentionSublayer& half = attention.half;
    HeadWeights made;
    made.inputs = Stage::attention_input;
    made.trace = &trace;
    made.layer = head.layer;
    made.tokens = attention.queries.tokens();
    made.key_tokens = attention.keys.tokens();
    made.crosses = &attention.queries != &attention.keys;
    made.turned = half.rotary.has_value();
    made.normalised = half.q_norm || half.k_norm;
    const HeadProjection projection = head_projection(model, head.layer, head.head);
    made.biased = !projection.q.bias.empty() || !projection.k.bias.empty();
    made.w_q = matrix_of(projection.q.view().weight);
    made.w_k = matrix_of(projection.k.view().weight);
    made.w_v = matrix_of(projection.v.view().weight);
    made.w_o = rows_of_head(half.attention_out.weight, head.head, model.config().head_dim);
    return made;
}

double dot_of(const Matrix& factor, std::span<const double> direction, Index a) {
    double sum = 0;
    for (Index i = 0; i < factor.rows; ++i) sum += direction[static_cast<std::size_t>(i)] * factor.at(i, a);
    return sum;
}

}  // namespace

std::vector<float> HeadWeights::inputs_of(Index token) const {
    if (!trace) return {x.values.begin() + token * x.cols, x.values.begin() + (token + 1) * x.cols};
    const LayerAttention attention = trace->attention(layer);
    const float* row = attention.run.attention_input.matrix().row(token);
    return {row, row + width()};
}

double HeadWeights::input(Index token, Index b, bool of_key) const {
    if (!trace) return x.at(token, b);
    const LayerAttention attention = trace->attention(layer);
    const Tensor& rows = of_key ? attention.key_input : attention.run.attention_input;
    return static_cast<double>(rows.matrix()(token, b));
}

CellPlace HeadWeights::input_at(HeadIndex head, Index token, Index b, bool of_key) const {
    // Cross-attention's keys are computed from the output of the encoder's last norm.
    const bool encoded = of_key && crosses;
    return {encoded ? HeadIndex{0, head.head} : head, {encoded ? Stage::final_norm : inputs, token, b}};
}

std::optional<HeadWeights> head_weights(Subject& subject, const State& state, HeadIndex head) {
    const Attention* attention = subject.attention();
    if (!attention) return std::nullopt;
    if (const auto trace = attention->trace()) return weights_of_model(*trace, head);
    auto typed = edited_projections(subject, state);
    if (!typed) return std::nullopt;
    HeadWeights made;
    made.tokens = made.key_tokens = typed->x.rows;
    made.x = std::move(typed->x);
    made.w_q = std::move(typed->w_q);
    made.w_k = std::move(typed->w_k);
    made.w_v = std::move(typed->w_v);
    return made;
}

HeadForm::HeadForm(FormOf of, const HeadWeights& weights)
    : of_(of),
      left_(of == FormOf::scores ? weights.w_q : weights.w_v),
      right_(of == FormOf::scores ? weights.w_k : transposed(weights.w_o)),
      crosses_(weights.crosses) {
    begin();
}

HeadForm::HeadForm(const Record& record, Index head, Range queries, Range keys, bool crosses)
    : of_(FormOf::tokens),
      left_(rows_of(record.q(), head, queries)),
      right_(rows_of(record.k(), record.kv_head(head), keys)),
      crosses_(crosses),
      first_row_(queries.begin),
      first_col_(keys.begin) {
    begin();
}

void HeadForm::begin() {
    factors_ = {view_of(left_), view_of(right_)};
    const auto all_finite = [](const Matrix& m) {
        return std::ranges::all_of(m.values, [](double each) { return std::isfinite(each); });
    };
    finite_ = all_finite(left_) && all_finite(right_);
    if (!finite_) return;
    // Rows and columns of different spaces, or texts, do not mirror each other.
    squares_.square = factors_.rows() == factors_.cols() && !crosses_;
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

CellRef HeadForm::left_at(Index row, Index a) const {
    if (of_ == FormOf::tokens) return {Stage::q, first_row_ + row, a};
    return {of_ == FormOf::scores ? Stage::w_q : Stage::w_v, row, a};
}
CellRef HeadForm::right_at(Index col, Index a) const {
    if (of_ == FormOf::tokens) return {Stage::k, first_col_ + col, a};
    return of_ == FormOf::scores ? CellRef{Stage::w_k, col, a} : CellRef{Stage::w_o, a, col};
}

double HeadForm::inner_left(Index direction, Index a) const {
    return dot_of(left_, directions()->left_of(direction), a);
}
double HeadForm::inner_right(Index direction, Index a) const {
    return dot_of(right_, directions()->right_of(direction), a);
}

std::string HeadForm::name() const { return std::string(left_name()) + " " + right_name(); }
const char* HeadForm::left_name() const {
    return of_ == FormOf::scores ? "W_Q" : of_ == FormOf::values ? "W_V" : "Q";
}
const char* HeadForm::right_name() const {
    return of_ == FormOf::scores ? "W_Kᵀ" : of_ == FormOf::values ? "W_O" : "Kᵀ";
}

FormPicture::FormPicture(const FormFactors& factors, FormPart part)
    : factors_(factors),
      part_(part),
      rows_(std::min(factors.rows(), form_side_limit)),
      cols_(std::min(factors.cols(), form_side_limit)),
      values_(std::min(rows_, form_blocks_shown), std::min(cols_, form_blocks_shown)) {
    for (Index r = 0; r < values_.rows; ++r)
        for (Index c = 0; c < values_.cols; ++c) places_.emplace_back(first_row(r), first_col(c));
}

bool FormPicture::step() {
    if (done()) return false;
    for (Index c = 0; c < values_.cols; ++c) {
        const std::size_t at = static_cast<std::size_t>(next_ * values_.cols + c);
        const Index end_row = first_row(next_ + 1), end_col = first_col(c + 1);
        float strongest = -1;
        for (Index i = first_row(next_); i < end_row; ++i)
            for (Index j = first_col(c); j < end_col; ++j) {
                const float cell = form_cell<float>(factors_, part_, i, j);
                if (std::abs(cell) <= strongest) continue;
                strongest = std::abs(cell);
                values_.values[at] = static_cast<double>(cell);
                places_[at] = {i, j};
            }
    }
    ++next_;
    return !done();
}

std::optional<WordDirection> word_direction(const HeadWeights& weights, const HeadForm& form, Index direction,
                                            bool right) {
    if (!weights.trace || form.of() == FormOf::tokens || !form.directions()) return std::nullopt;
    const LayerAttention attention = weights.trace->attention(weights.layer);
    const bool encoded = weights.crosses && form.reads_keys(right);
    const Network& network = (encoded ? attention.keys : attention.queries).network();
    const AttentionSublayer& half = attention.half;
    const std::span<const double> along =
        right ? form.directions()->right_of(direction) : form.directions()->left_of(direction);
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
    if (norm.kind == Norm::Kind::layer) {
        for (const double each : made.direction) mean += each;
        mean /= static_cast<double>(made.direction.size());
    }
    for (std::size_t b = 0; b < made.direction.size(); ++b)
        made.direction[b] = (made.direction[b] - mean) * static_cast<double>(norm.gain.values()[b]);
    made.tokens = &network.head.weight;
    made.writes = true;
    return made;
}

}  // namespace attn::app
