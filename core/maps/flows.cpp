#include "maps/flows.hpp"

#include <algorithm>

namespace attn {

namespace {
std::uint64_t serials = 0;
}

HeadFlow::HeadFlow(HeadIndex head, MapPointer map) : head_(head), flow_(std::move(map)), serial_(++serials) {}

HeadFlow::HeadFlow(const HeadFlow& before, MapPointer map, Index kept)
    : HeadFlow(before.head_, std::move(map)) {
    flow_.take_over(before.flow_, kept);
    wanted_ = before.wanted_;
}

const EdgeList& HeadFlow::from(Index query) {
    if (from_query_ == query) return from_;
    from_query_ = query;
    from_ = {++serials, flow_row(flow_.map(), query)};
    return from_;
}

const EdgeList& HeadFlow::into(Index key) {
    if (into_key_ == key && into_queries_ == flow_.queries()) return into_;
    into_key_ = key;
    into_queries_ = flow_.queries();
    into_ = {++serials, {}};
    for (const FlowEdge& edge : flow_.edges())
        if (static_cast<Index>(edge.key) == key) into_.edges.push_back(edge);
    // Like in a row, the lightest comes first.
    std::ranges::sort(into_.edges, [](const FlowEdge& a, const FlowEdge& b) {
        return a.weight != b.weight ? a.weight < b.weight : a.query < b.query;
    });
    return into_;
}

void Flows::show(std::uint64_t source, std::span<const HeadIndex> heads,
                 const std::function<MapPointer(HeadIndex)>& weights, Index kept) {
    if (source_ != source && kept == 0) flows_.clear();
    if (source_ != source)
        for (auto& flow : flows_) flow = std::make_unique<HeadFlow>(*flow, weights(flow->head()), kept);
    source_ = source;
    shown_.assign(heads.begin(), heads.end());
    ++frame_;
    for (const HeadIndex& head : heads) {
        auto found = std::ranges::find(flows_, head, &HeadFlow::head);
        if (found == flows_.end()) {
            flows_.push_back(std::make_unique<HeadFlow>(head, weights(head)));
            found = flows_.end() - 1;
        }
        (*found)->wanted_ = frame_;
    }
    while (flows_.size() > flow_heads_limit)
        flows_.erase(std::ranges::min_element(flows_, {}, [](const auto& flow) { return flow->wanted_; }));
}

HeadFlow& Flows::of(HeadIndex head) { return **std::ranges::find(flows_, head, &HeadFlow::head); }

bool Flows::step() {
    const auto next = std::ranges::find_if(shown_, [&](HeadIndex head) { return !of(head).flow_.done(); });
    if (next == shown_.end()) return false;
    return of(*next).flow_.step() || *next != shown_.back();
}

double Flows::progress() const {
    double sum = 0, count = 0;
    for (const auto& flow : flows_)
        if (flow->wanted_ == frame_) {
            sum += flow->flow_.progress();
            ++count;
        }
    return count == 0 ? 1 : sum / count;
}

}  // namespace attn
