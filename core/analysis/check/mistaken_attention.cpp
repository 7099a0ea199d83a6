#include "analysis/check/mistaken_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double hidden_score = -std::numeric_limits<double>::infinity();

double dot(const double* a, const double* b, Index count) {
    double sum = 0;
    for (Index c = 0; c < count; ++c) sum += a[c] * b[c];
    return sum;
}
void add_scaled(double by, const double* from, double* to, Index count) {
    for (Index c = 0; c < count; ++c) to[c] += by * from[c];
}

}  // namespace

AttentionCase causal_case(Index heads, Index kv_heads, Index tokens, Index head_dim, double rope_base) {
    AttentionCase out;
    out.q = Array4(1, heads, tokens, head_dim);
    out.k = out.v = Array4(1, kv_heads, tokens, head_dim);
    out.scale = 1 / std::sqrt(static_cast<double>(head_dim));
    out.mask.causal = 0;
    out.rope = CaseRope{.interleaved = false, .base = rope_base, .dim = head_dim};
    return out;
}

MistakenAttention::MistakenAttention(const AttentionCase& shape, const Implementation& how)
    : how_(how), n_(shape.queries()), d_(shape.d_k()), heads_(shape.heads()), kv_heads_(shape.kv_heads()) {
    // Each number says where it stands, so that what is read says where it came from.
    AttentionCase places = shape;
    const Index width = (heads_ + 2 * kv_heads_) * d_;
    Index column = 0;
    for (Array4* part : {&places.q, &places.k, &places.v})
        for (Index h = 0; h < part->heads; ++h, column += d_)
            for (Index i = 0; i < n_; ++i)
                for (Index c = 0; c < d_; ++c)
                    part->row(0, h, i)[static_cast<std::size_t>(c)] =
                        static_cast<double>(i * width + column + c);
    InputReading unrotated = how.inputs;
    unrotated.rope.reset();
    const ReadInputs in = read_inputs(places, unrotated, {});
    for (const auto& [kind, part] : {std::pair(0, &in.q), {1, &in.k}, {2, &in.v}})
        for (const double place : part->values)
            from_[static_cast<std::size_t>(kind)].push_back(static_cast<Index>(place));

    const ImplementationRun rules(places, how, {}, std::make_shared<const ReadInputs>(in));
    for (Index i = 0; i < n_; ++i) {
        for (Index h = 0; h < heads_; ++h) merged_from_.push_back(rules.merged_from(h, i));
        for (Index j = 0; j < n_; ++j) allowed_.push_back(rules.allows(0, 0, i, j));
    }
    if (!how.inputs.rope) return;
    of_queries_ = rotation(how.inputs.first_query);
    of_keys_ = rotation(how.inputs.first_key);
}

MistakenAttention::Rotation MistakenAttention::rotation(double first) const {
    const CaseRope& rope = *how_.inputs.rope;
    Rotation out;
    for (Index i = 0; i < n_; ++i)
        for (Index a = 0; a < rope.dim / 2; ++a) {
            const double angle =
                (first + static_cast<double>(i)) *
                std::pow(rope.base, -2 * static_cast<double>(a) / static_cast<double>(rope.dim));
            out.cosine.push_back(std::cos(angle));
            out.sine.push_back(std::sin(angle));
        }
    return out;
}

void MistakenAttention::rotate(Numbers& heads, const Rotation& rotation, double direction) const {
    const CaseRope& rope = *how_.inputs.rope;
    const Index pairs = rope.dim / 2;
    for (Index r = 0; r < std::ssize(heads) / d_; ++r)
        for (Index a = 0; a < pairs; ++a) {
            const auto at = static_cast<std::size_t>(r % n_ * pairs + a);
            const double cosine = rotation.cosine[at], sine = direction * rotation.sine[at];
            double& x = heads[static_cast<std::size_t>(r * d_ + (rope.interleaved ? 2 * a : a))];
            double& y = heads[static_cast<std::size_t>(r * d_ + (rope.interleaved ? 2 * a + 1 : a + pairs))];
            const double before = x;
            x = before * cosine - y * sine;
            y = before * sine + y * cosine;
        }
}

void MistakenAttention::rotate_all(std::array<Numbers, 3>& qkv, double direction) const {
    if (!how_.inputs.rope) return;
    rotate(qkv[0], of_queries_, direction);
    rotate(qkv[1], of_keys_, direction);
    if (how_.inputs.rotates_values) rotate(qkv[2], of_keys_, direction);
}

// K of each head, [n, d], viewed as [d, n] and transposed; or back.
void MistakenAttention::view_keys(Numbers& keys, bool back) const {
    if (how_.keys == Implementation::Keys::transposed) return;
    const Numbers from = keys;
    for (Index h = 0; h < kv_heads_; ++h)
        for (Index j = 0; j < n_; ++j)
            for (Index c = 0; c < d_; ++c) {
                const auto viewed = static_cast<std::size_t>(h * n_ * d_ + c * n_ + j),
                           own = static_cast<std::size_t>((h * n_ + j) * d_ + c);
                keys[back ? viewed : own] = from[back ? own : viewed];
            }
}

void MistakenAttention::for_each_softmax(auto each) const {
    const Index cells = n_ * n_;
    switch (how_.axis) {
        case Implementation::Axis::keys:
            for (Index r = 0; r < heads_ * n_; ++r) each(r * n_, Index{1}, n_);
            break;
        case Implementation::Axis::queries:
            for (Index h = 0; h < heads_; ++h)
                for (Index j = 0; j < n_; ++j) each(h * cells + j, n_, n_);
            break;
        case Implementation::Axis::heads:
            for (Index at = 0; at < cells; ++at) each(at, cells, heads_);
            break;
    }
}

MistakenAttention::Numbers MistakenAttention::masked_scores(const Pass& pass) const {
    using Masking = Implementation::Masking;
    Numbers scores(static_cast<std::size_t>(heads_ * n_ * n_), hidden_score);
    double* s = scores.data();
    for (Index h = 0; h < heads_; ++h)
        for (Index i = 0; i < n_; ++i)
            for (Index j = 0; j < n_; ++j, ++s) {
                if (!takes_part(i, j)) continue;
                *s = how_.scale * dot(row(pass.qkv[0], h, i), row(pass.qkv[1], kv_head(h), j), d_);
                const bool allowed = is_allowed(i, j);
                if (how_.masking == Masking::added)
                    *s += allowed ? 1 : 0;
                else if (how_.masking == Masking::added_hidden)
                    *s += allowed ? 0 : 1;
                else if (how_.masking == Masking::multiplied && !allowed)
                    *s = 0;
                else if (how_.masking == Masking::finite && !allowed)
                    *s = rounded(how_.mask_format, *s + how_.mask_value);
            }
    return scores;
}

void MistakenAttention::take_softmax(Numbers& scores) const {
    const double unit = how_.exponential_base == 0 ? 1 : std::log(how_.exponential_base);
    for_each_softmax([&](Index start, Index stride, Index count) {
        double* first = scores.data() + start;
        double most = hidden_score, sum = 0;
        for (Index m = 0; m < count; ++m) most = std::max(most, first[m * stride]);
        if (most == hidden_score) {
            const bool uniform = how_.axis == Implementation::Axis::keys &&
                                 how_.empty_row == Implementation::EmptyRow::uniform;
            const double weight = how_.empty_row == Implementation::EmptyRow::nan
                                      ? std::numeric_limits<double>::quiet_NaN()
                                  : uniform ? 1 / static_cast<double>(count)
                                            : 0;
            for (Index m = 0; m < count; ++m) first[m * stride] = weight;
            return;
        }
        for (Index m = 0; m < count; ++m)
            sum += first[m * stride] = std::exp(unit * (first[m * stride] - most));
        for (Index m = 0; m < count; ++m) first[m * stride] /= sum;
    });
}

void MistakenAttention::clear_hidden(Numbers& cells) const {
    for (std::size_t at = 0; at < cells.size(); ++at)
        if (!allowed_[at % allowed_.size()]) cells[at] = 0;
}

void MistakenAttention::average_heads(Numbers& cells) const {
    const std::size_t of_head = allowed_.size();
    for (std::size_t at = 0; at < of_head; ++at) {
        double mean = 0;
        for (std::size_t c = at; c < cells.size(); c += of_head)
            mean += cells[c] / static_cast<double>(heads_);
        for (std::size_t c = at; c < cells.size(); c += of_head) cells[c] = mean;
    }
}

MistakenAttention::Pass MistakenAttention::run(ConstMatrix qkv) const {
    Pass pass;
    for (std::size_t kind = 0; kind < 3; ++kind)
        for (const Index at : from_[kind])
            pass.qkv[kind].push_back(static_cast<double>(qkv(at / qkv.cols, at % qkv.cols)));
    rotate_all(pass.qkv, 1);
    view_keys(pass.qkv[1], false);
    pass.softmax = masked_scores(pass);
    take_softmax(pass.softmax);
    pass.weights = pass.softmax;
    if (how_.masking == Implementation::Masking::after_softmax) clear_hidden(pass.weights);
    if (how_.averages_heads) average_heads(pass.weights);
    return pass;
}

void MistakenAttention::forward(ConstMatrix qkv, MatrixView<float> attended) const {
    const Pass pass = run(qkv);
    Numbers output(static_cast<std::size_t>(heads_ * n_ * d_));
    const double* w = pass.weights.data();
    for (Index h = 0; h < heads_; ++h)
        for (Index i = 0; i < n_; ++i)
            for (Index j = 0; j < n_; ++j, ++w)
                if (*w != 0) add_scaled(*w, row(pass.qkv[2], kv_head(h), j), row(output, h, i), d_);
    for (Index i = 0; i < n_; ++i)
        for (Index h = 0; h < heads_; ++h) {
            const auto [head, token] = merged_from_[static_cast<std::size_t>(i * heads_ + h)];
            std::transform(row(output, head, token), row(output, head, token) + d_, attended.row(i) + h * d_,
                           [](double x) { return static_cast<float>(x); });
        }
}

// Turns the gradient by the weights into that by the scores, [heads, n, n].
MistakenAttention::Numbers MistakenAttention::score_gradients(const Pass& pass, Numbers d) const {
    using Masking = Implementation::Masking;
    if (how_.averages_heads) average_heads(d);
    if (how_.masking == Masking::after_softmax) clear_hidden(d);
    const double unit = how_.exponential_base == 0 ? 1 : std::log(how_.exponential_base);
    for_each_softmax([&](Index start, Index stride, Index count) {
        const double* w = pass.softmax.data() + start;
        double* first = d.data() + start;
        double mean = 0;
        for (Index m = 0; m < count; ++m) mean += w[m * stride] * first[m * stride];
        for (Index m = 0; m < count; ++m)
            first[m * stride] = unit * w[m * stride] * (first[m * stride] - mean);
    });
    // The score of a hidden key is not used.
    if (how_.masking == Masking::minus_infinity || how_.masking == Masking::multiplied) clear_hidden(d);
    return d;
}

void MistakenAttention::backward(ConstMatrix qkv, ConstMatrix d_attended, MatrixView<float> d_qkv) const {
    const Pass pass = run(qkv);
    std::array<Numbers, 3> d_in;
    for (std::size_t kind = 0; kind < 3; ++kind) d_in[kind].resize(from_[kind].size());
    Numbers d_output(static_cast<std::size_t>(heads_ * n_ * d_));
    for (Index i = 0; i < n_; ++i)
        for (Index h = 0; h < heads_; ++h) {
            const auto [head, token] = merged_from_[static_cast<std::size_t>(i * heads_ + h)];
            std::copy_n(d_attended.row(i) + h * d_, d_, row(d_output, head, token));
        }
    Numbers d_weights(pass.weights.size());
    auto at = std::size_t{0};
    for (Index h = 0; h < heads_; ++h)
        for (Index i = 0; i < n_; ++i)
            for (Index j = 0; j < n_; ++j, ++at) {
                const Index kv = kv_head(h);
                if (takes_part(i, j)) d_weights[at] = dot(row(d_output, h, i), row(pass.qkv[2], kv, j), d_);
                if (pass.weights[at] != 0)
                    add_scaled(pass.weights[at], row(d_output, h, i), row(d_in[2], kv, j), d_);
            }
    const Numbers d_scores = score_gradients(pass, std::move(d_weights));
    at = 0;
    for (Index h = 0; h < heads_; ++h)
        for (Index i = 0; i < n_; ++i)
            for (Index j = 0; j < n_; ++j, ++at) {
                if (d_scores[at] == 0) continue;
                const Index kv = kv_head(h);
                const double by = how_.scale * d_scores[at];
                add_scaled(by, row(pass.qkv[1], kv, j), row(d_in[0], h, i), d_);
                add_scaled(by, row(pass.qkv[0], h, i), row(d_in[1], kv, j), d_);
            }
    view_keys(d_in[1], true);
    rotate_all(d_in, -1);
    for (Index i = 0; i < n_; ++i) std::fill_n(d_qkv.row(i), d_qkv.cols, 0.0f);
    for (std::size_t kind = 0; kind < 3; ++kind)
        for (std::size_t e = 0; e < from_[kind].size(); ++e) {
            const Index to = from_[kind][e];
            d_qkv(to / qkv.cols, to % qkv.cols) += static_cast<float>(d_in[kind][e]);
        }
}

}  // namespace attn
