#include "app/head_overview.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "app/map_source.hpp"

namespace attn::app {

namespace {
constexpr Index side = 64;  // texels of a thumbnail at most
}

Result<HeadOverview> HeadOverview::start(std::shared_ptr<const Trace> trace) {
    std::vector<MapPointer> maps;
    const auto& layers = trace->layers();
    for (Index layer = 0; layer < std::ssize(layers); ++layer)
        for (Index head = 0; head < layers[static_cast<std::size_t>(layer)].attention.heads(); ++head)
            maps.push_back(map_of(trace, layer, head, MapStage::weight, Sink::shown));
    const Index columns = std::min(layers[0].attention.heads(), most_texels / side);
    auto thumbnails = Thumbnails::start(std::move(maps), columns, side);
    if (!thumbnails) return thumbnails.error();
    return HeadOverview(std::move(trace), *std::move(thumbnails), columns);
}

HeadOverview::HeadOverview(std::shared_ptr<const Trace> trace, Thumbnails maps, Index columns)
    : trace_(std::move(trace)),
      layers_(std::ssize(trace_->layers())),
      heads_(trace_->layers()[0].attention.heads()),
      columns_(columns),
      maps_(std::move(maps)),
      scores_(static_cast<std::size_t>(layers_ * heads_)) {}

void HeadOverview::look_at(HeadIndex head) {
    const auto at = static_cast<std::size_t>(number(head));
    if (at == looked_at_) return;
    looked_at_ = next_ = at;
    maps_.look_at(at);
}

bool HeadOverview::step_maps() {
    // A first picture of every head, the numbers of the one looked at, then all pictures exact.
    if (!scores_[looked_at_] && (maps_.done() || maps_.sampled() == scores_.size()))
        score(looked_at_);
    else
        maps_.step();
    return !has_maps();
}

bool HeadOverview::step_scores() {
    if (scored_ == std::ssize(scores_)) return false;
    while (scores_[next_]) next_ = (next_ + 1) % scores_.size();
    score(next_);
    return scored_ < std::ssize(scores_);
}

// A slice of that head's scores, once those that are half done are complete.
void HeadOverview::score(std::size_t head) {
    if (scoring_.done()) {
        const auto at = static_cast<Index>(head);
        measured_ = head;
        scoring_ = HeadScoring(trace_->layers()[static_cast<std::size_t>(at / heads_)].attention, at % heads_,
                               trace_->ids());
    }
    if (scoring_.step()) return;
    scores_[measured_] = scoring_.scores();
    ++scored_;
}

double HeadOverview::progress() const {
    const auto done = has_maps() ? static_cast<double>(scored_) : static_cast<double>(maps_.exact());
    return done / static_cast<double>(scores_.size());
}

std::uint64_t HeadOverview::version(Index row) const {
    const auto end = static_cast<std::size_t>(std::min((row + 1) * columns_, std::ssize(scores_)));
    std::uint64_t version = 0;
    for (auto map = static_cast<std::size_t>(row * columns_); map < end; ++map)
        version += static_cast<std::uint64_t>(maps_.state(map));
    return version;
}

std::optional<double> number_of(const std::optional<HeadScores>& scores, HeadScore score) {
    if (!scores) return std::nullopt;
    const auto value = [&] {
        switch (score) {
            case HeadScore::entropy: return scores->entropy;
            case HeadScore::first_token: return scores->first_token;
            case HeadScore::previous_token: return scores->previous_token;
            case HeadScore::duplicate_token: return scores->duplicate_token;
            case HeadScore::induction: return scores->induction;
            case HeadScore::distance: break;
        }
        return scores->distance;
    }();
    return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::vector<HeadIndex> strongest_first(const HeadOverview& heads, HeadScore by) {
    std::vector<HeadIndex> order;
    for (Index layer = 0; layer < heads.layers(); ++layer)
        for (Index head = 0; head < heads.heads(); ++head) order.push_back({layer, head});
    std::ranges::sort(order, {}, [&](HeadIndex head) {
        const auto number = number_of(heads.scores(head), by);
        return std::tuple(!number, -number.value_or(0), heads.number(head));
    });
    return order;
}

}  // namespace attn::app
