#include "analysis/attribution/path_graph.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"

namespace attn {

using Kind = PathNode::Kind;

namespace {

constexpr double most_products = 1.5e8;  // candidates for edges

double candidates(const PathLayout& layout) {
    double count = 0;
    for (const PathPart& part : layout.parts()) {
        const double keys =
            part.kind == Kind::head ? static_cast<double>(layout.stack(part.reads).tokens()) : 1;
        count += static_cast<double>(part.nodes() * part.readable) * keys;
    }
    return count;
}

bool is_zero(const float* row, Index count) {
    return std::all_of(row, row + count, [](float each) { return each == 0; });
}

}  // namespace

bool is_stronger(const PathEdge& a, const PathEdge& b) {
    return std::tuple(-std::abs(a.effect), a.from, a.to) < std::tuple(-std::abs(b.effect), b.from, b.to);
}

void StrongestEdges::drop_weakest() {
    const auto end = edges_.begin() + static_cast<std::ptrdiff_t>(most_);
    std::ranges::nth_element(edges_, end - 1, is_stronger);
    weakest_ = std::abs((end - 1)->effect);
    edges_.erase(end, edges_.end());
}

std::vector<PathEdge> StrongestEdges::take_sorted() {
    if (edges_.size() > most_) drop_weakest();
    std::ranges::sort(edges_, is_stronger);
    return std::move(edges_);
}

Result<PathGraph> PathGraph::start(std::shared_ptr<const Trace> trace, const LogitLoss& target) {
    if (Status fits = check_loss(*trace, target); !fits) return fits.error();
    const PathLayout layout(*trace, target.row.value_or(trace->tokens() - 1));
    if (candidates(layout) > most_products)
        return Error{"The graph of a text of " + std::to_string(trace->tokens()) +
                     " tokens has too many edges in a model of this size. Take a shorter text."};
    return PathGraph(FrozenGradient(std::move(trace), target));
}

PathGraph::PathGraph(FrozenGradient gradient)
    : gradient_(std::move(gradient)),
      incoming_(static_cast<std::size_t>(layout().nodes())),
      constants_(incoming_.size()) {
    const Index d = trace()->final_residual().dim(1);
    for (Index i = 0; i < layout().stacks(); ++i) {
        const auto stack = static_cast<std::size_t>(i);
        arrived_.emplace_back(Shape{layout().stack(stack).tokens() * (1 + layout().writers(stack)), d});
    }
    plan();
}

void PathGraph::plan() {
    const std::vector<PathPart>& parts = layout().parts();
    const auto read = [&](std::size_t which) {
        if (parts[which].kind != Kind::head) return slices_.push_back({&PathGraph::read_mlp, which});
        for (Index key = 0; key < layout().stack(parts[which].reads).tokens(); ++key)
            slices_.push_back({&PathGraph::read_heads, which, key});
    };
    for (std::size_t which = 0; which < parts.size(); ++which) {
        const bool parallel = parts[which].kind == Kind::mlp && parts[which].reads_after + 1 != which;
        switch (parts[which].kind) {
            case Kind::embedding: slices_.push_back({&PathGraph::write, which}); break;
            case Kind::head:
                read(which);
                // The MLP of a parallel block reads the same stream.
                if (parts[which + 1].reads_after == parts[which].reads_after) read(which + 1);
                slices_.push_back({&PathGraph::write, which});
                break;
            case Kind::mlp:
                if (!parallel) read(which);
                slices_.push_back({&PathGraph::write, which});
                break;
            case Kind::target:
                read(which);
                slices_.push_back({&PathGraph::finish, which});
                break;
        }
    }
}

bool PathGraph::step() {
    if (done()) return false;
    if (!gradient_.done()) {
        gradient_.step();
        return true;
    }
    const Slice slice = slices_[next_++];
    (this->*slice.work)(slice);
    return !done();
}

float PathGraph::progress() const {
    const float back = 0.25f;  // takes about so much of the time
    return back * gradient_.progress() +
           (1 - back) * static_cast<float>(next_) / static_cast<float>(slices_.size());
}

MatrixView<float> PathGraph::arrived(std::size_t stack, Index token) {
    const Index count = 1 + layout().writers(stack);
    return rows(arrived_[stack].matrix(), {token * count, (token + 1) * count});
}

MatrixView<float> PathGraph::written(const PathPart& part, Index token) {
    const Index first = 1 + part.first_writer;
    return rows(arrived(part.stack, token), {first, first + part.heads});
}

// ---- What nodes read --------------------------------------------------------------------------------------

void PathGraph::read_heads(const Slice& slice) {
    const PathPart& to = part(slice);
    const FrozenPart& held = gradient_.part(to);
    const LayerAttention at = trace()->attention(to.number);
    const Record& record = at.record();
    const bool cross = to.reads != to.stack;
    const std::optional<Norm>& norm = cross ? at.keys.network().final_norm : at.half.attention_norm;
    const MatrixView<float> streams = rows(arrived(to.reads, slice.token), {0, 1 + to.readable});
    Tensor read({streams.rows, streams.cols}), values({record.kv_heads(), streams.rows, record.d_v()});
    copy(streams, read.matrix());
    if (norm) {
        const FrozenNorm frozen(*norm,
                                row_of(cross ? at.keys.final_residual() : at.run.resid_pre, slice.token));
        for (Index row = 0; row < read.dim(0); ++row)
            frozen.hold({read.matrix().row(row), static_cast<std::size_t>(read.dim(1))}, false);
    }
    for (Index kv = 0; kv < record.kv_heads(); ++kv) {
        LinearView linear = held.values[static_cast<std::size_t>(kv)].view();
        linear.bias = {};
        apply(trace()->kernels(), linear, std::as_const(read).matrix(), values.heads().head(kv));
    }
    if (is_changed(*trace(), to.number, Site::v))
        for (Index row = 0; row < streams.rows; ++row)
            scale_rows(*trace(), to.number, Site::v, rows(values.heads(), {row, row + 1}), slice.token);
    for (Index head = 0; head < to.heads; ++head)
        add_edges(to, head, slice.token, std::as_const(values).heads().head(record.kv_head(head)));
}

void PathGraph::add_edges(const PathPart& to, Index head, Index key, ConstMatrix values) {
    const FrozenPart& held = gradient_.part(to);
    const ConstMatrix slopes = held.slopes.heads().head(head), patterns = held.patterns.heads().head(head);
    const auto reads = [&](Index query) {
        return patterns(query, key) != 0 && !is_zero(slopes.row(query), slopes.cols);
    };
    Range queries{0, to.tokens};
    while (queries.begin < queries.end && !reads(queries.begin)) ++queries.begin;
    while (queries.begin < queries.end && !reads(queries.end - 1)) --queries.end;
    if (queries.size() == 0) return;
    Tensor products({queries.size(), values.rows});
    trace()->kernels().dot_products(rows(slopes, queries), values, products.matrix());
    for (Index query = queries.begin; query < queries.end; ++query) {
        if (!reads(query)) continue;
        const auto weight = static_cast<double>(patterns(query, key));
        const float* product = products.matrix().row(query - queries.begin);
        const Index node = to.node(head, query);
        constants_[static_cast<std::size_t>(node)] += weight * static_cast<double>(product[0]);
        double sum = 0;
        for (Index writer = 0; writer < to.readable; ++writer) {
            const double effect = weight * static_cast<double>(product[1 + writer]);
            sum += effect;
            strongest_.add(layout().writing_node(to.reads, writer, key), node, effect);
        }
        incoming_[static_cast<std::size_t>(node)] += sum;
        edge_count_ += to.readable;
    }
}

void PathGraph::read_mlp(const Slice& slice) {
    const PathPart& to = part(slice);
    const FrozenPart& held = gradient_.part(to);
    for (Index row = 0; row < to.tokens; ++row) {
        const std::span<const float> direction = row_of(held.reads, row);
        const std::vector<double> reads(direction.begin(), direction.end());
        if (to.kind == Kind::mlp && is_zero(held.slopes.heads().head(0).row(row), std::ssize(direction)))
            continue;
        const Index token = to.first_token + row, node = to.node(0, token);
        const MatrixView<float> streams = arrived(to.reads, token);
        const auto product = [&](Index i) {
            return dot(reads, {streams.row(i), static_cast<std::size_t>(streams.cols)});
        };
        constants_[static_cast<std::size_t>(node)] += product(0);
        for (Index writer = 0; writer < to.readable; ++writer) {
            const double effect = product(1 + writer);
            incoming_[static_cast<std::size_t>(node)] += effect;
            strongest_.add(layout().writing_node(to.reads, writer, token), node, effect);
        }
        edge_count_ += to.readable;
    }
}

// ---- What nodes write -------------------------------------------------------------------------------------

void PathGraph::settle(const PathPart& from, Index token) {
    const MatrixView<float> all = arrived(from.stack, token);
    for (const auto& [number, site] : sites_after(layout(), from)) {
        if (!is_changed(*trace(), number, site)) continue;
        for (Index row = 0; row <= from.first_writer + from.heads; ++row) {
            const HeadsView<float> one = heads_of(rows(all, {row, row + 1}), 1);
            if (row == 0)
                change_rows(*trace(), number, site, one, token);
            else
                scale_rows(*trace(), number, site, one, token);
        }
    }
}

void PathGraph::write(const Slice& slice) {
    const PathPart& from = part(slice);
    const Tensor nodes = written_by(*trace(), from);
    Tensor beside = written_beside(*trace(), from);
    for (Index token = 0; token < from.tokens; ++token) {
        for (Index head = 0; head < from.heads; ++head)
            std::copy_n(nodes.heads().head(head).row(token), nodes.dim(2), written(from, token).row(head));
        const MatrixView<float> constant = rows(beside.matrix(), {token, token + 1});
        if (from.kind == Kind::embedding)
            copy(constant, rows(arrived(from.stack, token), {0, 1}));
        else
            leave_sublayer(from, token, constant);
        settle(from, token);
    }
}

void PathGraph::leave_sublayer(const PathPart& from, Index token, MatrixView<float> constant) {
    const SublayerRows at = sublayer_of(*trace(), from);
    const auto width = static_cast<std::size_t>(constant.cols);
    const MatrixView<float> all = arrived(from.stack, token), own = written(from, token);
    change_rows(*trace(), from.number, site_of(from), heads_of(constant, 1), token);
    for (Index row = 0; row < own.rows; ++row)
        scale_rows(*trace(), from.number, site_of(from), heads_of(rows(own, {row, row + 1}), 1), token);
    if (at.norms.post_sublayer_norm) {
        const FrozenNorm norm(*at.norms.post_sublayer_norm, row_of(at.output, token));
        for (Index row = 0; row < own.rows; ++row) norm.hold({own.row(row), width}, false);
        norm.hold({constant.row(0), width}, true);
    }
    add(constant, rows(all, {0, 1}));
    if (at.norms.post_residual_norm) {
        const FrozenNorm norm(*at.norms.post_residual_norm, row_of(at.between, token));
        for (Index row = 0; row <= from.first_writer + from.heads; ++row)
            norm.hold({all.row(row), width}, row == 0);
    }
}

void PathGraph::finish(const Slice&) {
    arrived_.clear();
    edges_ = strongest_.take_sorted();
    for (Index node = 0; node < layout().nodes(); ++node)
        constants_[static_cast<std::size_t>(node)] += gradient_.own_constant(node);
}

}  // namespace attn
