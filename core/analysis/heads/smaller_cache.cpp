#include "analysis/heads/smaller_cache.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/explain.hpp"

namespace attn {

namespace {

// The columns of an attention's W_K and W_V: K of all heads, then V. This says which head of which a column
// belongs to.
struct KvColumn {
    Stage stage;
    Index head, component;
};
KvColumn kv_column(const ModelConfig& config, Index column) {
    const Index width = config.kv_heads * config.head_dim, within = column % width;
    return {column < width ? Stage::k : Stage::v, within / config.head_dim, within % config.head_dim};
}

double bias_of(const QkvColumn& column) {
    const auto biases = column.linear->bias.values();
    return biases.empty() ? 0 : static_cast<double>(biases[static_cast<std::size_t>(column.out)]);
}

double summed_product(std::span<const double> a, std::span<const double> b) {
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= a.size(); i += 4)
        for (std::size_t j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
    for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

}  // namespace

std::vector<Index> shared_head_counts(const ModelConfig& config) {
    std::vector<Index> counts;
    for (Index count = config.kv_heads; count > 0; --count)
        if (config.kv_heads % count == 0) counts.push_back(count);
    return counts;
}

Index cached_attentions(const ModelConfig& config) {
    return config.decoder_layers > 0 ? config.decoder_layers : config.layers;
}

// ---- The latent -------------------------------------------------------------------------------------------

LatentFactors::LatentFactors(std::shared_ptr<const Model> model) : model_(std::move(model)) {
    const ModelConfig& config = model_->config();
    attentions_ = config.attentions();
    outputs_ = 2 * config.kv_heads * config.head_dim;
    inputs_ = config.d_model;
    rank_ = std::min(outputs_, inputs_);
    tall_ = inputs_ > outputs_;
}

double LatentFactors::progress() const {
    // The eigenvectors take most of the time.
    const double here = made_ ? 1 : eigen_ ? 0.1 + 0.8 * eigen_->progress() : 0;
    return std::min(1.0, (static_cast<double>(all_.size()) + here) / static_cast<double>(attentions_));
}

double LatentFactors::kept(Index attention, Index rank) const {
    const std::vector<double>& squares = at(attention).squares;
    return squares.front() > 0 ? 1 - squares[static_cast<std::size_t>(rank)] / squares.front() : 1;
}

// A column of W_K or W_V.
void LatentFactors::read() {
    if (matrix_.empty()) matrix_.resize(static_cast<std::size_t>(outputs_ * inputs_));
    const KvColumn of = kv_column(model_->config(), next_);
    const QkvColumn column = qkv_column(*model_, of.stage, std::ssize(all_), of.head, of.component);
    for (Index i = 0; i < inputs_; ++i)
        matrix_[static_cast<std::size_t>(tall_ ? next_ * inputs_ + i : i * outputs_ + next_)] =
            element(column.linear->weight, i, column.out);
    if (++next_ < outputs_) return;
    next_ = 0;
    square_.resize(static_cast<std::size_t>(rank_ * rank_));
}

// A row of the matrix times its transpose.
void LatentFactors::multiply() {
    const auto longer = static_cast<std::size_t>(std::max(outputs_, inputs_));
    const auto row = [&](Index i) {
        return std::span<const double>(matrix_).subspan(static_cast<std::size_t>(i) * longer, longer);
    };
    for (Index i = 0; i <= next_; ++i)
        square_[static_cast<std::size_t>(next_ * rank_ + i)] =
            square_[static_cast<std::size_t>(i * rank_ + next_)] = summed_product(row(next_), row(i));
    if (++next_ < rank_) return;
    next_ = 0;
    eigen_.emplace(std::move(square_), rank_);
    square_ = {};
}

// A term: u, an eigenvector, and uᵀ times the matrix.
void LatentFactors::finish_row() {
    if (!made_) {
        made_.emplace(Factors{Tensor({outputs_, rank_}), Tensor({rank_, inputs_}), {}});
        made_->squares.resize(static_cast<std::size_t>(rank_ + 1));
    }
    const auto longer = static_cast<std::size_t>(std::max(outputs_, inputs_));
    const std::span<const double> u = eigen_->vector(next_);
    std::vector<double> times(longer);
    for (std::size_t i = 0; i < u.size(); ++i)
        for (std::size_t j = 0; j < longer; ++j) times[j] += u[i] * matrix_[i * longer + j];
    const std::span<const double> of_outputs = tall_ ? u : std::span<const double>(times),
                                  of_inputs = tall_ ? std::span<const double>(times) : u;
    for (Index i = 0; i < outputs_; ++i)
        made_->up.matrix()(i, next_) = static_cast<float>(of_outputs[static_cast<std::size_t>(i)]);
    for (Index i = 0; i < inputs_; ++i)
        made_->down.matrix()(next_, i) = static_cast<float>(of_inputs[static_cast<std::size_t>(i)]);
    made_->squares[static_cast<std::size_t>(next_)] = summed_product(times, times);
    if (++next_ < rank_) return;
    for (std::size_t i = made_->squares.size() - 1; i-- > 0;) made_->squares[i] += made_->squares[i + 1];
    all_.push_back(*std::move(made_));
    made_.reset();
    eigen_.reset();
    matrix_.clear();
    next_ = 0;
}

bool LatentFactors::step() {
    if (done()) return false;
    if (eigen_) {
        if (eigen_->done() || !eigen_->step()) finish_row();
    } else if (square_.empty()) {
        read();
    } else {
        multiply();
    }
    return !done();
}

// ---- The model --------------------------------------------------------------------------------------------

SmallerModel::SmallerModel(std::shared_ptr<const Model> model)
    : model_(std::move(model)), kv_heads_(model_->config().kv_heads) {}

SmallerModel SmallerModel::shared(std::shared_ptr<const Model> model, Index kv_heads) {
    SmallerModel made(std::move(model));
    made.kv_heads_ = kv_heads;
    return made;
}

SmallerModel SmallerModel::latent(std::shared_ptr<const LatentFactors> factors, Index rank) {
    SmallerModel made(factors->model());
    made.factors_ = std::move(factors);
    made.rank_ = rank;
    return made;
}

Index SmallerModel::columns() const { return model_->config().kv_heads * model_->config().head_dim; }
Index SmallerModel::group() const { return model_->config().kv_heads / kv_heads_; }

float SmallerModel::progress() const {
    const auto here = static_cast<float>(column_) / static_cast<float>(columns());
    return (static_cast<float>(attention_) + here) / static_cast<float>(model_->config().attentions());
}

// Q stays as it is, where its columns end with a matrix; else it is copied from the one that K and V are in,
// too.
void SmallerModel::begin_attention() {
    const ModelConfig& config = model_->config();
    const AttentionSublayer& of = model_->network().attention(attention_);
    AttentionSublayer& half = halves_.emplace_back(of);
    const Index q_width = config.heads * config.head_dim, kv_width = columns();
    Index taken = 0;
    std::size_t whole = 0;
    while (taken < q_width) taken += of.qkv[whole++].weight.out;
    half.qkv.erase(half.qkv.begin() + static_cast<std::ptrdiff_t>(whole), half.qkv.end());
    if (taken > q_width) {
        Linear& last = half.qkv.back();
        const Index count = last.weight.out - (taken - q_width);
        Tensor& copy = numbers_.emplace_back(Shape{last.weight.in, count});
        for (Index i = 0; i < last.weight.in; ++i)
            for (Index o = 0; o < count; ++o)
                copy.matrix()(i, o) = static_cast<float>(element(last.weight, i, o));
        last.weight = {.data = std::as_bytes(copy.values()).data(),
                       .dtype = DType::f32,
                       .in = last.weight.in,
                       .out = count,
                       .layout = WeightView::Layout::in_out};
        if (last.bias.size() > 0)
            last.bias = Tensor({count}, last.bias.values().first(static_cast<std::size_t>(count)));
    }
    const Index inputs = qkv_column(*model_, Stage::k, attention_, 0, 0).linear->weight.in;
    Tensor& made = numbers_.emplace_back(Shape{2 * kv_width, inputs});
    const bool biased = std::ranges::any_of(of.qkv, [](const Linear& each) { return each.bias.size() > 0; });
    for (Index which = 0; which < 2; ++which) {
        Linear linear{.name = {}, .weight = {}, .bias = biased ? Tensor({kv_width}) : Tensor()};
        linear.weight = {.data = std::as_bytes(made.values()).data() +
                                 which * kv_width * inputs * static_cast<Index>(sizeof(float)),
                         .dtype = DType::f32,
                         .in = inputs,
                         .out = kv_width,
                         .layout = WeightView::Layout::out_in};
        half.qkv.push_back(std::move(linear));
    }
}

// A column of K and of V: the mean over the group, which its first head computes and the others take over.
void SmallerModel::share_column() {
    const Index width = model_->config().head_dim, head = column_ / width, component = column_ % width,
                first = head / group() * group();
    AttentionSublayer& half = halves_.back();
    const MatrixView<float> to = numbers_.back().matrix();
    for (Index which = 0; which < 2; ++which) {
        Linear& linear = half.qkv[half.qkv.size() - 2 + static_cast<std::size_t>(which)];
        const std::span<float> biases = linear.bias.values(),
                               row(to.row(which * columns() + column_), static_cast<std::size_t>(to.cols));
        if (head != first) {
            const Index of_first = first * width + component;
            std::copy_n(to.row(which * columns() + of_first), to.cols, row.begin());
            if (!biases.empty())
                biases[static_cast<std::size_t>(column_)] = biases[static_cast<std::size_t>(of_first)];
            continue;
        }
        std::vector<double> sum(row.size());
        double bias = 0;
        for (Index i = first; i < first + group(); ++i) {
            const QkvColumn at =
                qkv_column(*model_, which == 0 ? Stage::k : Stage::v, attention_, i, component);
            for (std::size_t in = 0; in < sum.size(); ++in)
                sum[in] += element(at.linear->weight, static_cast<Index>(in), at.out);
            bias += bias_of(at);
        }
        const auto count = static_cast<double>(group());
        std::ranges::transform(sum, row.begin(),
                               [&](double each) { return static_cast<float>(each / count); });
        if (!biases.empty()) biases[static_cast<std::size_t>(column_)] = static_cast<float>(bias / count);
    }
    ++column_;
}

// K and V of one head, up · down of the rank.
void SmallerModel::multiply_head() {
    const Index width = model_->config().head_dim, head = column_ / width;
    AttentionSublayer& half = halves_.back();
    const MatrixView<float> to = numbers_.back().matrix();
    const WeightView down{.data = std::as_bytes(factors_->down(attention_).values()).data(),
                          .dtype = DType::f32,
                          .in = rank_,
                          .out = to.cols,
                          .layout = WeightView::Layout::in_out};
    for (Index which = 0; which < 2; ++which) {
        const Range range{which * columns() + column_, which * columns() + column_ + width};
        const ConstMatrix up = rows(factors_->up(attention_).matrix(), range);
        default_kernels().linear({up.data, up.rows, rank_, up.row_stride}, down, {}, Activation::none,
                                 rows(to, range));
        Linear& linear = half.qkv[half.qkv.size() - 2 + static_cast<std::size_t>(which)];
        for (Index i = 0; linear.bias.size() > 0 && i < width; ++i)
            linear.bias.values()[static_cast<std::size_t>(column_ + i)] = static_cast<float>(
                bias_of(qkv_column(*model_, which == 0 ? Stage::k : Stage::v, attention_, head, i)));
    }
    column_ += width;
}

void SmallerModel::share_gains() {
    std::optional<Norm>& norm = halves_.back().k_norm;
    const Index width = model_->config().head_dim;
    if (!norm || norm->gain.size() == width) return;
    for (Tensor* each : {&norm->gain, &norm->bias}) {
        const Tensor before = *each;
        for (Index i = 0; i < each->size(); ++i) {
            const Index first = i / width / group() * group();
            double sum = 0;
            for (Index head = first; head < first + group(); ++head)
                sum +=
                    static_cast<double>(before.values()[static_cast<std::size_t>(head * width + i % width)]);
            each->values()[static_cast<std::size_t>(i)] =
                static_cast<float>(sum / static_cast<double>(group()));
        }
    }
}

bool SmallerModel::step() {
    if (attention_ == model_->config().attentions()) return false;
    if (column_ == 0) begin_attention();
    factors_ ? multiply_head() : share_column();
    if (column_ == columns()) {
        share_gains();
        column_ = 0;
        ++attention_;
    }
    return attention_ < model_->config().attentions();
}

std::shared_ptr<const Model> SmallerModel::finish() {
    while (step()) continue;
    const Network& of = model_->network();
    Network network = of;
    const auto take = [&](Network& stack, AttentionKind kind) {
        for (std::size_t number = 0; number < halves_.size(); ++number) {
            const AttentionPlace place = of.place_of(static_cast<Index>(number));
            if (place.kind != kind) continue;
            Block& block = stack.blocks[static_cast<std::size_t>(place.layer)];
            (kind == AttentionKind::cross ? *block.cross : block) = std::move(halves_[number]);
        }
    };
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::decoder, AttentionKind::cross})
        take(network, kind);
    if (of.encoder) {
        Network encoder = *of.encoder;
        take(encoder, AttentionKind::encoder);
        network.encoder = std::make_shared<const Network>(std::move(encoder));
    }
    return Model::changed(std::move(model_), std::move(network), std::move(numbers_));
}

}  // namespace attn
