#include "analysis/head_overview.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/head_maps.hpp"

namespace attn {

namespace {
std::uint64_t overviews = 0;
}  // namespace

Result<HeadOverview> HeadOverview::start(std::vector<MapPointer> maps, Index heads,
                                         std::vector<std::int32_t> ids) {
    const Index side = side_of(maps.size());
    const Index columns = std::min(heads, most_texels / side);
    auto thumbnails = Thumbnails::start(maps, columns, side);
    if (!thumbnails) return thumbnails.error();
    return HeadOverview(std::move(maps), *std::move(thumbnails), heads, columns, std::move(ids));
}

Result<HeadOverview> HeadOverview::start(const std::shared_ptr<const Trace>& trace) {
    std::vector<MapPointer> maps;
    const auto& layers = trace->layers();
    const Index heads = layers[0].attention.heads();
    for (Index layer = 0; layer < std::ssize(layers); ++layer)
        for (Index head = 0; head < heads; ++head)
            maps.push_back(map_of(trace, layer, head, Stage::weight, Sink::shown));
    return start(std::move(maps), heads, {trace->ids().begin(), trace->ids().end()});
}

HeadOverview::HeadOverview(std::vector<MapPointer> weights, Thumbnails maps, Index heads, Index columns,
                           std::vector<std::int32_t> ids)
    : weights_(std::move(weights)),
      ids_(std::move(ids)),
      layers_(std::ssize(weights_) / heads),
      heads_(heads),
      columns_(columns),
      serial_(++overviews),
      maps_(std::move(maps)),
      noted_(static_cast<std::size_t>((std::ssize(weights_) + columns - 1) / columns)),
      scores_(weights_.size()) {}

bool HeadOverview::measures(HeadScore score) const {
    const Map& any = *weights_.front();
    switch (score) {
        case HeadScore::entropy:
        case HeadScore::first_token: return true;
        case HeadScore::previous_token:
        case HeadScore::distance: return any.queries() == any.keys();
        case HeadScore::duplicate_token:
        case HeadScore::induction: break;
    }
    return any.queries() == any.keys() && !ids_.empty();
}

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
    else if (const auto before = maps_.version(); maps_.step(), maps_.version() != before)
        note_extent();
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
        measured_ = head;
        scoring_ = HeadScoring(weights_[head], ids_);
    }
    if (scoring_.step()) return;
    scores_[measured_] = scoring_.scores();
    ++scored_;
}

// Of the textures that have changed.
void HeadOverview::note_extent() {
    for (std::size_t row = 0; row < noted_.size(); ++row) {
        const std::uint64_t now = version(static_cast<Index>(row));
        if (now == noted_[row]) continue;
        noted_[row] = now;
        const std::span texels(this->texels(static_cast<Index>(row)),
                               static_cast<std::size_t>(maps_.rows() * columns_ * maps_.cols()));
        for (const float texel : texels)
            if (const float magnitude = std::abs(texel); std::isfinite(magnitude))
                extent_ = std::max(extent_, magnitude);
    }
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

}  // namespace attn
