#include "analysis/heads/head_overview.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/heads/head_maps.hpp"
#include "analysis/linalg/moments.hpp"
#include "analysis/linalg/rank_correlation.hpp"

namespace attn {

namespace {
std::uint64_t overviews = 0;
}  // namespace

Result<HeadOverview> HeadOverview::start(std::vector<MapPointer> maps, Index heads,
                                         std::vector<std::int32_t> ids) {
    const auto layers = maps.size() / static_cast<std::size_t>(heads);
    return start(std::move(maps), heads,
                 std::vector<Copies>(layers, std::make_shared<const TokenCopies>(ids)));
}

Result<HeadOverview> HeadOverview::start(std::vector<MapPointer> maps, Index heads,
                                         std::vector<Copies> copies) {
    const Index side = side_of(maps.size());
    const Index columns = std::min(heads, most_texels / side);
    auto thumbnails = Thumbnails::start(maps, columns, side);
    if (!thumbnails) return thumbnails.error();
    return HeadOverview(std::move(maps), *std::move(thumbnails), heads, columns, std::move(copies));
}

Result<HeadOverview> HeadOverview::start(const std::shared_ptr<const Trace>& trace) {
    std::vector<MapPointer> maps;
    const Index heads = trace->attention(0).record().heads();
    const auto copies_of = [](const Trace& text) { return std::make_shared<const TokenCopies>(text.ids()); };
    const Copies own = copies_of(*trace), encoder = trace->encoder() ? copies_of(*trace->encoder()) : nullptr;
    std::vector<Copies> copies;
    for (Index layer = 0; layer < trace->attentions(); ++layer) {
        for (Index head = 0; head < heads; ++head)
            maps.push_back(map_of(trace, layer, head, Stage::weight, Sink::shown));
        const AttentionKind kind = trace->attention(layer).place.kind;
        copies.push_back(kind == AttentionKind::cross     ? nullptr
                         : kind == AttentionKind::encoder ? encoder
                                                          : own);
    }
    return start(std::move(maps), heads, std::move(copies));
}

HeadOverview::HeadOverview(std::vector<MapPointer> weights, Thumbnails maps, Index heads, Index columns,
                           std::vector<Copies> copies)
    : weights_(std::move(weights)),
      copies_(std::move(copies)),
      layers_(std::ssize(weights_) / heads),
      heads_(heads),
      columns_(columns),
      serial_(++overviews),
      maps_(std::move(maps)),
      noted_(static_cast<std::size_t>((std::ssize(weights_) + columns - 1) / columns)),
      scores_(weights_.size()),
      sums_(weights_.size()) {}

void HeadOverview::take_over(const HeadOverview& before, Index kept) {
    if (before.weights_.size() != weights_.size() || before.heads_ != heads_) return;
    maps_.take_over(before.maps_, kept);
    note_extent();
    sums_ = before.sums_;
    kept_ = kept;
    for (std::size_t head = 0; head < scores_.size(); ++head)
        if (before.scores_[head]) behind_.push_back(head);
    looked_at_ = next_ = before.looked_at_;
    maps_.look_at(looked_at_);
}

bool HeadOverview::catch_up() {
    if (maps_.behind()) {
        step_picture();
        return true;
    }
    while (!behind_.empty() && scores_[behind_.back()]) behind_.pop_back();
    if (behind_.empty()) return false;
    score(behind_.back());
    return true;
}

void HeadOverview::step_picture() {
    const auto before = maps_.version();
    maps_.step();
    if (maps_.version() != before) note_extent();
}

bool HeadOverview::measures(HeadScore score) const {
    if (score == HeadScore::entropy || score == HeadScore::spread || score == HeadScore::first_token)
        return true;
    const bool of_copies = score == HeadScore::duplicate_token || score == HeadScore::induction;
    for (std::size_t layer = 0; layer < copies_.size(); ++layer) {
        const Map& any = *weights_[layer * static_cast<std::size_t>(heads_)];
        const Copies& copies = copies_[layer];
        if (copies && any.queries() == any.keys() && (!of_copies || !copies->by_token.empty())) return true;
    }
    return false;
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
    else
        step_picture();
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
        scoring_ = HeadScoring(weights_[head], copies_[head / static_cast<std::size_t>(heads_)]);
        scoring_.go_on_from(sums_[head], kept_);
    }
    if (scoring_.step()) return;
    scores_[measured_] = scoring_.scores();
    sums_[measured_] = scoring_.sums();
    ++scored_;
}

// Notes the extent of the textures that have changed.
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
            case HeadScore::distance: return scores->distance;
            case HeadScore::current_token: return scores->current_token;
            case HeadScore::spread: break;
        }
        return scores->spread;
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

std::optional<std::array<std::size_t, 2>> widest_pair(const std::vector<std::vector<double>>& numbers) {
    constexpr std::size_t fewest = 3;
    std::vector<double> spreads;
    std::vector<std::vector<double>> ranks;
    for (const std::vector<double>& values : numbers) {
        const double most = values.empty() ? 0 : std::ranges::max(values);
        spreads.push_back(values.size() >= fewest && most > 0 ? std::sqrt(moments_of(values).variance) / most
                                                              : 0);
        ranks.push_back(ranks_of(values));
    }
    std::optional<std::array<std::size_t, 2>> widest;
    double best = 1e-9;  // less is rounding
    for (std::size_t a = 0; a < numbers.size(); ++a)
        for (std::size_t b = a + 1; b < numbers.size(); ++b) {
            const double apart = spreads[a] * spreads[b] * (1 - std::abs(correlation(ranks[a], ranks[b])));
            if (!(apart > best)) continue;
            best = apart;
            widest = spreads[b] > spreads[a] ? std::array{b, a} : std::array{a, b};
        }
    return widest;
}

std::optional<std::array<HeadScore, 2>> widest_scores(const HeadOverview& heads) {
    std::vector<HeadScore> measured;
    for (std::size_t i = 0; i < head_scores.size(); ++i)
        if (const auto score = static_cast<HeadScore>(i); heads.measures(score)) measured.push_back(score);
    std::vector<std::vector<double>> numbers(measured.size());
    for (Index layer = 0; layer < heads.layers(); ++layer)
        for (Index head = 0; head < heads.heads(); ++head) {
            std::vector<double> of_head;
            for (const HeadScore score : measured)
                if (const auto number = number_of(heads.scores({layer, head}), score))
                    of_head.push_back(*number);
            if (of_head.size() != measured.size()) continue;
            for (std::size_t i = 0; i < measured.size(); ++i) numbers[i].push_back(of_head[i]);
        }
    const auto widest = widest_pair(numbers);
    if (!widest) return std::nullopt;
    return std::array{measured[(*widest)[0]], measured[(*widest)[1]]};
}

}  // namespace attn
