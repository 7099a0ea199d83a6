#include "analysis/attribution/path_layout.hpp"

#include <algorithm>

namespace attn {

using Kind = PathNode::Kind;

PathLayout::PathLayout(const Trace& trace, Index row) {
    if (trace.encoder()) add_stack(*trace.encoder(), 0);
    add_stack(trace, trace.encoder() ? trace.encoder()->attentions() : 0);
    const PathPart last = parts_.back();
    parts_.push_back({.kind = Kind::target,
                      .number = last.number,
                      .layer = last.layer,
                      .stack = last.stack,
                      .reads = last.stack,
                      .tokens = 1,
                      .first_token = row,
                      .first_node = last.first_node + last.nodes(),
                      .first_writer = writers(last.stack),
                      .reads_after = parts_.size() - 1,
                      .readable = writers(last.stack)});
}

void PathLayout::add(PathPart part) {
    part.first_node = parts_.empty() ? 0 : parts_.back().first_node + parts_.back().nodes();
    std::vector<Index>& writers = writers_[part.stack];
    part.first_writer = std::ssize(writers);
    for (Index head = 0; head < part.heads; ++head) writers.push_back(part.node(head, 0));
    parts_.push_back(part);
}

void PathLayout::add_stack(const Trace& run, Index first_number) {
    const std::size_t stack = traces_.size();
    traces_.push_back(&run);
    writers_.emplace_back();
    const PathPart common{.number = first_number, .stack = stack, .reads = stack, .tokens = run.tokens()};
    add(common);
    const auto after = [&](PathPart part, std::size_t last) {
        part.reads_after = last;
        part.readable = parts_[last].first_writer + parts_[last].heads;
        return part;
    };
    for (Index layer = 0; layer < std::ssize(run.layers()); ++layer) {
        const LayerTrace& of = run.layers()[static_cast<std::size_t>(layer)];
        const std::size_t before = parts_.size() - 1;
        PathPart part = common;
        part.layer = layer;
        part.number = first_number + layer;
        PathPart attention = part;
        attention.kind = Kind::head;
        attention.heads = of.attention.heads();
        add(after(attention, before));
        if (of.cross) {
            attention.number += std::ssize(run.layers());
            attention.heads = of.cross->attention.heads();
            attention.reads = 0;
            const auto end = std::ranges::find(parts_, stack, &PathPart::stack) - parts_.begin() - 1;
            add(after(attention, static_cast<std::size_t>(end)));
        }
        part.kind = Kind::mlp;
        const bool parallel = run.network().blocks[static_cast<std::size_t>(layer)].parallel;
        add(after(part, parallel ? before : parts_.size() - 1));
    }
}

const PathPart& PathLayout::part_of(Index node) const {
    return *(std::ranges::upper_bound(parts_, node, {}, &PathPart::first_node) - 1);
}

PathNode PathLayout::node(Index number) const {
    const PathPart& part = part_of(number);
    const Index place = number - part.first_node;
    return {part.kind, part.number, place / part.tokens, part.first_token + place % part.tokens};
}

std::optional<Index> PathLayout::find(const PathNode& node) const {
    for (const PathPart& part : parts_) {
        if (part.kind != node.kind || part.number != node.number) continue;
        const Index token = node.token - part.first_token;
        if (node.head < 0 || node.head >= part.heads || token < 0 || token >= part.tokens)
            return std::nullopt;
        return part.node(node.head, node.token);
    }
    return std::nullopt;
}

Index PathLayout::writer_of(Index node) const {
    const PathPart& part = part_of(node);
    return part.first_writer + (node - part.first_node) / part.tokens;
}

Index PathLayout::token_of(Index node) const {
    const PathPart& part = part_of(node);
    return part.first_token + (node - part.first_node) % part.tokens;
}

}  // namespace attn
