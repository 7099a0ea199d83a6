#include "analysis/heads/copying.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/block.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

constexpr Index chunk_tokens = 128;
constexpr double products_a_step = 4e6;  // about a millisecond

Tensor turned(const Tensor& rows) {
    Tensor out({rows.dim(1), rows.dim(0)});
    for (Index i = 0; i < rows.dim(0); ++i)
        for (Index j = 0; j < rows.dim(1); ++j) out.matrix()(j, i) = rows.matrix()(i, j);
    return out;
}

std::vector<double> in_double(const Tensor& values) {
    return {values.values().begin(), values.values().end()};
}

}  // namespace

Copying copying_of(Index size, std::span<const double> matrix) {
    return copying_of(eigenvalues(size, matrix));
}
Copying copying_of(std::vector<std::complex<double>> eigenvalues) {
    Copying made{.eigenvalues = std::move(eigenvalues)};
    double sum = 0, moduli = 0;
    for (const auto& each : made.eigenvalues) {
        sum += each.real();
        moduli += std::abs(each);
    }
    made.score = moduli > 0 ? sum / moduli : NAN;
    return made;
}

// ---- The sum over the vocabulary
// ----------------------------------------------------------------------------

TokenProducts::TokenProducts(const CircuitEnds& ends) : ends_(ends), unembedding_sum_({1, ends.width()}) {
    const auto width = static_cast<std::size_t>(ends.d_model());
    for (Index attention = 0; attention < ends.model()->network().attentions(); ++attention) {
        if (standard_of(attention) < standards_.size()) continue;
        const Norm* norm = ends.input_norm(attention);
        standards_.push_back({.kind = norm ? std::optional(norm->kind) : std::nullopt,
                              .epsilon = norm ? norm->epsilon : 0,
                              .ones = std::vector(width, 1.0f),
                              .sum = Tensor({ends.d_model(), ends.width()}),
                              .chunk = {}});
    }
}

std::size_t TokenProducts::standard_of(Index attention) const {
    const Norm* norm = ends_.input_norm(attention);
    const auto same = [&](const Standard& each) {
        return norm ? each.kind == norm->kind && each.epsilon == norm->epsilon : !each.kind;
    };
    return static_cast<std::size_t>(std::ranges::find_if(standards_, same) - standards_.begin());
}

void TokenProducts::take_chunk() {
    const Range tokens{next_, std::min(next_ + chunk_tokens, ends_.tokens())};
    const Tensor stream = ends_.stream(tokens), unembedding = ends_.unembedding(tokens);
    for (Index token = 0; token < tokens.size(); ++token)
        for (Index i = 0; i < ends_.width(); ++i)
            unembedding_sum_.matrix()(0, i) += unembedding.matrix()(token, i);
    chunk_ = turned(unembedding);
    for (Standard& each : standards_) {
        Tensor rows = stream;
        if (each.kind)
            normalise(ends_.kernels(), NormView{*each.kind, each.ones, {}, each.epsilon}, rows.matrix(),
                      rows.matrix());
        each.chunk = turned(rows);
    }
}

bool TokenProducts::step() {
    if (done()) return false;
    if (row_ == 0) take_chunk();
    const Index d_model = ends_.d_model(), width = ends_.width(), count = chunk_.dim(1);
    Standard& standard = standards_[static_cast<std::size_t>(row_ / d_model)];
    const Index first = row_ % d_model,
                rows_a_step = std::max<Index>(
                    static_cast<Index>(products_a_step / static_cast<double>(width * count)), 1);
    const Range part{first, std::min(first + rows_a_step, d_model)};
    Tensor products({part.size(), width});
    ends_.kernels().dot_products(rows(std::as_const(standard.chunk).matrix(), part),
                                 std::as_const(chunk_).matrix(), products.matrix());
    add(products.matrix(), rows(standard.sum.matrix(), part));
    row_ += part.size();
    if (row_ == d_model * std::ssize(standards_)) {
        row_ = 0;
        next_ += count;
    }
    return !done();
}

Tensor TokenProducts::between(HeadIndex writes, HeadIndex reads) const {
    const Kernels& kernels = ends_.kernels();
    const Standard& standard = standards_[standard_of(reads.layer)];
    const Norm* norm = ends_.input_norm(reads.layer);
    const Tensor written = ends_.written(writes.layer, writes.head);
    // [head_dim, d_model]: what the logits of all tokens would give back to each component of what is read.
    Tensor back({written.dim(0), ends_.d_model()});
    kernels.dot_products(written.matrix(), standard.sum.matrix(), back.matrix());
    const HeadProjection projection = head_projection(*ends_.model(), reads.layer, reads.head);
    if (norm) {
        Tensor ends({written.dim(0), 1});
        kernels.dot_products(written.matrix(), unembedding_sum_.matrix(), ends.matrix());
        for (Index a = 0; a < back.dim(0); ++a)
            for (Index i = 0; i < back.dim(1); ++i) {
                float& each = back.matrix()(a, i);
                each *= norm->gain.values()[static_cast<std::size_t>(i)];
                if (norm->bias.size() > 0)
                    each += ends.matrix()(a, 0) * norm->bias.values()[static_cast<std::size_t>(i)];
            }
    }
    Tensor made({written.dim(0), projection.v.weight.out});
    apply(kernels, {projection.v.view().weight, {}}, back.matrix(), made.matrix());
    return made;
}

// ---- All heads --------------------------------------------------------------------------------------------

Result<CopyingJob> CopyingJob::start(std::shared_ptr<const Model> model, const Kernels& kernels) {
    auto ends = CircuitEnds::of(std::move(model), kernels);
    if (!ends) return ends.error();
    return CopyingJob(*ends);
}

CopyingJob::CopyingJob(const CircuitEnds& ends)
    : products_(ends),
      count_(ends.model()->network().attentions() * ends.model()->config().heads),
      heads_of_layer_(ends.model()->config().heads) {}

bool CopyingJob::step() {
    if (products_.step()) return true;
    if (done()) return false;
    if (!search_) {
        const Index next = std::ssize(heads_);
        const HeadIndex head{next / heads_of_layer_, next % heads_of_layer_};
        const Tensor matrix = products_.between(head, head);
        search_.emplace(matrix.dim(0), in_double(matrix));
    }
    if (search_->step()) return true;
    heads_.push_back(copying_of(search_->values()));
    search_.reset();
    return !done();
}

double CopyingJob::progress() const {
    return (products_.progress() + static_cast<double>(heads_.size()) / static_cast<double>(count_)) / 2;
}

HeadIndex CopyingJob::best() const {
    const auto score = [](const Copying& each) { return std::isnan(each.score) ? -2 : each.score; };
    const Index most = std::ranges::max_element(heads_, {}, score) - heads_.begin();
    return {most / heads_of_layer_, most % heads_of_layer_};
}

const Copying& CopyingJob::of(HeadIndex head) const {
    return heads_[static_cast<std::size_t>(head.layer * heads_of_layer_ + head.head)];
}

}  // namespace attn
