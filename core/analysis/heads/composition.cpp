#include "analysis/heads/composition.hpp"

#include <cmath>
#include <utility>

#include "model/block.hpp"
#include "model/explain.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

// Wᵀ of what a head reads for q, k or v, [head_dim, d_model], with the norms around it.
Tensor read_rows(const CircuitEnds& ends, Composition kind, HeadIndex head) {
    const Model& model = *ends.model();
    const AttentionSublayer& half = model.network().attention(head.layer);
    const HeadProjection projection = head_projection(model, head.layer, head.head);
    const LinearView linear = kind == Composition::q   ? projection.q.view()
                              : kind == Composition::k ? projection.k.view()
                                                       : projection.v.view();
    const Index width = linear.weight.out, heads_each = model.config().heads / model.config().kv_heads;
    Tensor rows({width, linear.weight.in});
    for (Index a = 0; a < width; ++a)
        for (Index i = 0; i < linear.weight.in; ++i)
            rows.matrix()(a, i) = static_cast<float>(element(linear.weight, i, a));
    if (const auto& norm = kind == Composition::q ? half.q_norm : half.k_norm;
        norm && kind != Composition::v) {
        const Index own = kind == Composition::q ? head.head : head.head / heads_each,
                    first = norm->gain.size() == width ? 0 : own * width;
        for (Index a = 0; a < width; ++a)
            for (Index i = 0; i < rows.dim(1); ++i)
                rows.matrix()(a, i) *= norm->gain.values()[static_cast<std::size_t>(first + a)];
    }
    if (!half.attention_norm) return rows;
    // x ↦ gain · (x − mean of x) comes first: w ↦ gain · w, less the mean of that.
    const Norm& norm = *half.attention_norm;
    for (Index a = 0; a < width; ++a) {
        double mean = 0;
        for (Index i = 0; i < rows.dim(1); ++i) {
            float& each = rows.matrix()(a, i);
            each *= norm.gain.values()[static_cast<std::size_t>(i)];
            mean += static_cast<double>(each) / static_cast<double>(rows.dim(1));
        }
        if (norm.kind == Norm::Kind::rms) continue;
        for (Index i = 0; i < rows.dim(1); ++i)
            rows.matrix()(a, i) = static_cast<float>(static_cast<double>(rows.matrix()(a, i)) - mean);
    }
    return rows;
}

// W_O of a head as the attention of a later layer finds it, [head_dim, d_model].
Tensor carried(const CircuitEnds& ends, const Tensor& out, Index from, Index to) {
    const Network& network = ends.model()->network();
    Tensor rows = out;
    const auto pass = [&](const std::optional<Norm>& norm) {
        if (norm) pass_gain(*norm, rows.matrix());
    };
    pass(network.attention(from).attention_post_sublayer_norm);
    for (Index layer = from; layer < to; ++layer) {
        pass(network.blocks[static_cast<std::size_t>(layer)].attention_post_residual_norm);
        pass(network.blocks[static_cast<std::size_t>(layer)].mlp_post_residual_norm);
    }
    return rows;
}

// a bᵀ
Tensor products_of(const CircuitEnds& ends, const Tensor& a, const Tensor& b) {
    Tensor out({a.dim(0), b.dim(0)});
    ends.kernels().dot_products(a.matrix(), b.matrix(), out.matrix());
    return out;
}
Tensor gram_of(const CircuitEnds& ends, const Tensor& rows) { return products_of(ends, rows, rows); }

double sum_of_products(const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.values().size(); ++i)
        sum += static_cast<double>(a.values()[i]) * static_cast<double>(b.values()[i]);
    return sum;
}
double root(double square) { return std::sqrt(std::max(square, 0.0)); }

using Square = std::vector<double>;  // [size, size]

// a bᵀ in double.
Square exact_products(const Tensor& a, const Tensor& b) {
    Square out;
    for (Index i = 0; i < a.dim(0); ++i)
        for (Index j = 0; j < b.dim(0); ++j) {
            double sum = 0;
            for (Index k = 0; k < a.dim(1); ++k)
                sum += static_cast<double>(a.matrix()(i, k)) * static_cast<double>(b.matrix()(j, k));
            out.push_back(sum);
        }
    return out;
}
double exact_sum(const Square& a, const Square& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}
Square times(Index size, const Square& a, const Square& b) {
    Square out(a.size());
    for (Index i = 0; i < size; ++i)
        for (Index k = 0; k < size; ++k)
            for (Index j = 0; j < size; ++j)
                out[static_cast<std::size_t>(i * size + j)] +=
                    a[static_cast<std::size_t>(i * size + k)] * b[static_cast<std::size_t>(k * size + j)];
    return out;
}

// Wᵀ of what comes behind what a kind of composition reads: K, Q or O.
Tensor behind_rows(const CircuitEnds& ends, Composition kind, HeadIndex head) {
    switch (kind) {
        case Composition::q: return read_rows(ends, Composition::k, head);
        case Composition::k: return read_rows(ends, Composition::q, head);
        case Composition::v: break;
    }
    return output_rows(*ends.model(), head.layer, head.head);
}

}  // namespace

CompositionNorms exact_composition(const CircuitEnds& ends, Composition kind, HeadIndex from, HeadIndex to) {
    const Tensor out = carried(ends, output_rows(*ends.model(), from.layer, from.head), from.layer, to.layer),
                 value = read_rows(ends, Composition::v, from), in = read_rows(ends, kind, to),
                 behind = behind_rows(ends, kind, to);
    const Index size = out.dim(0);
    const Square values = exact_products(value, value), behinds = exact_products(behind, behind),
                 middle = exact_products(out, in);
    return {.product = root(exact_sum(times(size, times(size, values, middle), behinds), middle)),
            .written = root(exact_sum(values, exact_products(out, out))),
            .read = root(exact_sum(exact_products(in, in), behinds))};
}

double expected_composition(Index d_model) { return 1 / std::sqrt(static_cast<double>(d_model)); }

Tensor virtual_middle(const CircuitEnds& ends, HeadIndex from, HeadIndex to) {
    return products_of(ends,
                       carried(ends, output_rows(*ends.model(), from.layer, from.head), from.layer, to.layer),
                       read_rows(ends, Composition::v, to));
}

CompositionJob::CompositionJob(const CircuitEnds& ends)
    : ends_(ends),
      layers_(ends.model()->network().attentions()),
      heads_(ends.model()->config().heads),
      to_{1, 0} {
    const auto all = static_cast<std::size_t>(layers_ * heads_);
    values_.assign(composition_count * all * all, NAN);
    pairs_ = std::max<std::int64_t>(layers_ * (layers_ - 1) / 2 * heads_ * heads_, 1);
}

std::size_t CompositionJob::place(Composition kind, HeadIndex from, HeadIndex to) const {
    const Index all = layers_ * heads_;
    return static_cast<std::size_t>((static_cast<Index>(kind) * all + from.layer * heads_ + from.head) * all +
                                    to.layer * heads_ + to.head);
}

float CompositionJob::value(Composition kind, HeadIndex from, HeadIndex to) const {
    return values_[place(kind, from, to)];
}

void CompositionJob::take_reads() {
    using enum Composition;
    const Tensor out = output_rows(*ends_.model(), to_.layer, to_.head);
    for (const Composition kind : {q, k, v})
        reads_.in[static_cast<std::size_t>(kind)] = read_rows(ends_, kind, to_);
    const auto& [w_q, w_k, w_v] = reads_.in;
    reads_.gram = {gram_of(ends_, w_k), gram_of(ends_, w_q), gram_of(ends_, out)};
    const double qk = root(sum_of_products(reads_.gram[0], reads_.gram[1]));
    reads_.norm = {qk, qk, root(sum_of_products(gram_of(ends_, w_v), reads_.gram[2]))};
}

void CompositionJob::compose(Index from_head) {
    const Writes& writes = writes_[static_cast<std::size_t>(from_head)];
    const Tensor out = carried(ends_, writes.out, from_layer_, to_.layer);
    const double written = root(sum_of_products(writes.gram, gram_of(ends_, out)));
    for (std::size_t kind = 0; kind < composition_count; ++kind) {
        // Xᵀ, then VᵀV X, then VᵀV X KᵀK.
        const Tensor turned = products_of(ends_, reads_.in[kind], out),
                     middle = products_of(ends_, out, reads_.in[kind]),
                     left = products_of(ends_, writes.gram, turned),
                     both = products_of(ends_, left, reads_.gram[kind]);
        const double norms = written * reads_.norm[kind];
        values_[place(static_cast<Composition>(kind), {from_layer_, from_head}, to_)] =
            norms > 0 ? static_cast<float>(root(sum_of_products(both, middle)) / norms) : NAN;
    }
}

bool CompositionJob::step() {
    if (done()) return false;
    if (std::ssize(writes_) < heads_) {
        const HeadIndex from{from_layer_, std::ssize(writes_)};
        writes_.push_back({output_rows(*ends_.model(), from.layer, from.head),
                           gram_of(ends_, read_rows(ends_, Composition::v, from))});
        return true;
    }
    if (from_head_ < 0) {
        take_reads();
        from_head_ = 0;
        return true;
    }
    compose(from_head_);
    ++pairs_done_;
    if (++from_head_ < heads_) return true;
    from_head_ = -1;
    if (++to_.head < heads_) return true;
    to_ = {to_.layer + 1, 0};
    if (to_.layer < layers_) return true;
    writes_.clear();
    to_.layer = ++from_layer_ + 1;
    return !done();
}

}  // namespace attn
