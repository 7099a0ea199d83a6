#include "analysis/attribution/path_base.hpp"

#include <algorithm>

#include "analysis/attribution/ablations.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"

namespace attn {

using Kind = PathNode::Kind;

namespace {

HeadsView<float> as_row(std::span<float> x) {
    const auto width = static_cast<Index>(x.size());
    return {x.data(), 1, 1, width, width, width};
}

void add_to(std::span<float> sum, const float* x) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
}

// Whether what is written only adds up in the streams of a run.
bool only_adds(const PathLayout& layout, const Trace& trace) {
    return std::ranges::all_of(layout.parts(), [&](const PathPart& part) {
        if (part.kind == Kind::target) return true;
        for (const auto& [number, site] : sites_after(layout, part))
            if (is_changed(trace, number, site)) return false;
        if (part.kind == Kind::embedding) return true;
        const SublayerNorms norms = sublayer_of(trace, part).norms;
        return !norms.post_sublayer_norm && !norms.post_residual_norm &&
               !is_changed(trace, part.number, site_of(part));
    });
}

}  // namespace

Result<PathBase> PathBase::start(std::shared_ptr<const PathGraph> graph, const PathReplacement& replacement) {
    if (replacement.operation == Operation::patch)
        if (Status fits = check_twin(*graph->trace(), replacement.counterfactual.get()); !fits)
            return fits.error();
    return PathBase(std::move(graph), replacement);
}

PathBase::PathBase(std::shared_ptr<const PathGraph> graph, PathReplacement replacement)
    : graph_(std::move(graph)),
      replacement_(std::move(replacement)),
      adds_up_(only_adds(layout(), trace())),
      parts_(layout().parts().size()) {}

bool PathBase::step() {
    if (done()) return false;
    const PathPart& part = layout().parts()[next_];
    Part& to = parts_[next_];
    ++next_;
    hold_norms(part, to);
    if (part.kind == Kind::target) return false;
    if (part.kind == Kind::head) fill_values(part, to);
    fill_replaced(part, to);
    to.added = written_beside(trace(), part);
    const auto width = static_cast<std::size_t>(to.added.dim(1));
    to.after = Tensor(to.added.shape());
    for (Index token = 0; token < part.tokens; ++token) {
        for (Index head = 0; head < part.heads; ++head)
            if (const auto row = replaced(part.node(head, token)); !row.empty())
                add_to({to.added.matrix().row(token), width}, row.data());
        std::vector<float> added(to.added.matrix().row(token), to.added.matrix().row(token) + width);
        const std::span after(to.after.matrix().row(token), width);
        if (part.kind != Kind::embedding) std::ranges::copy(row_of((&to - 1)->after, token), after.begin());
        add_part(part, token, added, after);
    }
    return true;
}

void PathBase::fill_replaced(const PathPart& part, Part& to) const {
    switch (replacement_.operation) {
        case Operation::patch: to.replaced = written_by(*replacement_.counterfactual, part); break;
        case Operation::mean: {
            const Tensor all = written_by(trace(), part);
            to.replaced = Tensor({part.heads, 1, all.dim(2)});
            for (Index head = 0; head < part.heads; ++head)
                for (Index c = 0; c < all.dim(2); ++c) {
                    double sum = 0;
                    for (Index token = 0; token < part.tokens; ++token)
                        sum += static_cast<double>(all.heads().head(head)(token, c));
                    to.replaced.heads().head(head)(0, c) =
                        static_cast<float>(sum / static_cast<double>(part.tokens));
                }
            break;
        }
        default: break;
    }
}

std::span<const float> PathBase::replaced(Index node) const {
    const PathPart& part = layout().part_of(node);
    const Tensor& all = of(part).replaced;
    if (all.size() == 0) return {};
    const Index place = node - part.first_node, token = all.dim(1) == 1 ? 0 : place % part.tokens;
    return {all.heads().head(place / part.tokens).row(token), static_cast<std::size_t>(all.dim(2))};
}

const std::optional<Norm>& PathBase::norm_before(const PathPart& part) const {
    const Network& network = layout().stack(part.reads).network();
    if (part.kind == Kind::target) return network.final_norm;
    if (part.reads != part.stack) return network.final_norm;
    const Block& block = network.blocks[static_cast<std::size_t>(part.layer)];
    return part.kind == Kind::mlp ? block.mlp_norm : block.attention_norm;
}

void PathBase::hold_norms(const PathPart& part, Part& to) const {
    const std::optional<Norm>& norm = norm_before(part);
    if (part.kind == Kind::embedding || part.kind == Kind::target || !norm || is_live()) return;
    const Trace& run = layout().stack(part.reads);
    const auto& layers = run.layers();
    const LayerTrace& layer = layers[static_cast<std::size_t>(part.layer)];
    const Block& block = run.network().blocks[static_cast<std::size_t>(part.layer)];
    const Tensor& read = part.reads != part.stack                    ? run.final_residual()
                         : part.kind == Kind::mlp && !block.parallel ? layer.resid_mid
                                                                     : layer.resid_pre;
    for (Index token = 0; token < run.tokens(); ++token) to.norms.emplace_back(*norm, row_of(read, token));
}

void PathBase::normalise_row(const Norm& norm, std::span<const float> at, std::span<float> x) const {
    if (!is_live()) return FrozenNorm(norm, at).hold(x, true);
    const MatrixView<float> row = as_row(x).head(0);
    normalise(trace().kernels(), norm, row, row);
}

void PathBase::normalise_row(const PathPart& part, Index token, std::span<float> x) const {
    const std::optional<Norm>& norm = norm_before(part);
    if (!norm) return;
    if (!is_live()) return of(part).norms[static_cast<std::size_t>(token)].hold(x, true);
    const MatrixView<float> row = as_row(x).head(0);
    normalise(trace().kernels(), *norm, row, row);
}

void PathBase::fill_values(const PathPart& part, Part& to) const {
    const FrozenPart& held = graph_->frozen().part(part);
    const Tensor& streams = parts_[part.reads_after].after;
    Tensor read = streams;
    for (Index key = 0; key < read.dim(0); ++key)
        normalise_row(part, key, {read.matrix().row(key), static_cast<std::size_t>(read.dim(1))});
    to.values = Tensor(held.own_values.shape());
    for (Index kv = 0; kv < to.values.dim(0); ++kv)
        apply(trace().kernels(), held.values[static_cast<std::size_t>(kv)].view(),
              std::as_const(read).matrix(), to.values.heads().head(kv));
    change_rows(trace(), part.number, Site::v, to.values.heads(), 0);
}

void PathBase::add_part(const PathPart& part, Index token, std::span<float> y, std::span<float> x) const {
    if (part.kind != Kind::embedding) {
        const SublayerRows at = sublayer_of(trace(), part);
        change_rows(trace(), part.number, site_of(part), as_row(y), token);
        if (at.norms.post_sublayer_norm)
            normalise_row(*at.norms.post_sublayer_norm, row_of(at.output, token), y);
        add_to(x, y.data());
        if (at.norms.post_residual_norm)
            normalise_row(*at.norms.post_residual_norm, row_of(at.between, token), x);
    } else {
        std::ranges::copy(y, x.begin());
    }
    for (const auto& [number, site] : sites_after(layout(), part))
        change_rows(trace(), number, site, as_row(x), token);
}

void PathBase::read_stream(const PathPart& after, Index token, std::span<const Difference> kept,
                           std::span<float> x) const {
    const auto last = static_cast<std::size_t>(&after - layout().parts().data());
    if (adds_up_ || kept.empty()) {
        std::ranges::copy(row_of(parts_[last].after, token), x.begin());
        for (const Difference& each : kept) add_to(x, each.row);
        return;
    }
    const auto part_of = [&](const Difference& each) {
        return static_cast<std::size_t>(&layout().part_of(each.writer) - layout().parts().data());
    };
    const std::size_t first = part_of(kept.front());
    if (layout().parts()[first].kind != Kind::embedding)
        std::ranges::copy(row_of(parts_[first - 1].after, token), x.begin());
    std::vector<float> added(x.size());
    auto next = kept.begin();
    for (std::size_t which = first; which <= last; ++which) {
        std::ranges::copy(row_of(parts_[which].added, token), added.begin());
        for (; next != kept.end() && part_of(*next) == which; ++next) add_to(added, next->row);
        add_part(layout().parts()[which], token, added, x);
    }
}

}  // namespace attn
