#include "analysis/theory/pattern_plane.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr Index most_plane_iterations = 500;
constexpr double unmoved = 1e-10;  // how far a direction of length 1 may still move
constexpr double least_length = 1e-12;
// A picture takes about ten seconds, if a state takes 16 updates.
constexpr double most_picture_work = 1.2e10, updates_of_place = 16;
constexpr double box_margin = 0.12, least_box = 1e-3;  // relative to the patterns' extent

double plane_product(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// Leaves a vector without its part along `other`, and of length 1; of one that is shorter than `least`
// nothing is left.
double straighten(std::vector<double>& vector, std::span<const double> other, double least) {
    // Twice, as the first leaves rounding errors that the division would magnify.
    for (int again = 0; again < 2; ++again) {
        const double along = plane_product(vector, other);
        for (std::size_t a = 0; a < vector.size(); ++a) vector[a] -= along * other[a];
    }
    const double length = std::sqrt(plane_product(vector, vector));
    for (double& each : vector) each = length > least ? each / length : 0;
    return length;
}

template <typename Real>
std::array<double, 2> projected(const PatternPlane& plane, std::span<const Real> point) {
    std::array<double, 2> place{};
    for (std::size_t a = 0; a < plane.origin.size(); ++a) {
        const double off = static_cast<double>(point[a]) - plane.origin[a];
        place[0] += off * plane.across[a];
        place[1] += off * plane.up[a];
    }
    return place;
}

}  // namespace

std::array<double, 2> PatternPlane::place_of(std::span<const double> point) const {
    return projected(*this, point);
}
std::array<double, 2> PatternPlane::place_of(std::span<const float> point) const {
    return projected(*this, point);
}

std::vector<double> PatternPlane::point_at(std::array<double, 2> place) const {
    std::vector<double> point = origin;
    for (std::size_t a = 0; a < point.size(); ++a) point[a] += place[0] * across[a] + place[1] * up[a];
    return point;
}

double PatternPlane::distance_to(std::span<const double> point) const {
    return distance_between(point, point_at(place_of(point)));
}

PatternPlane plane_through(const HopfieldPatterns& patterns, std::span<const double> first,
                           std::span<const double> second) {
    PatternPlane plane{patterns.mean, {first.begin(), first.end()}, {second.begin(), second.end()}};
    double size = patterns.largest;
    for (auto* direction : {&plane.across, &plane.up}) {
        size = std::max(size, std::sqrt(plane_product(*direction, *direction)));
        for (std::size_t a = 0; a < direction->size(); ++a) (*direction)[a] -= patterns.mean[a];
    }
    const std::vector<double> none(plane.origin.size(), 0);
    straighten(plane.across, none, least_length * size);
    straighten(plane.up, plane.across, least_length * size);
    return plane;
}

// ---- Principal components ---------------------------------------------------------------------------------

PatternPlane plane_of_query(const HopfieldPatterns& patterns, std::span<const double> query) {
    HopfieldLook<double> look;
    hopfield_look<double>(patterns, 1, query, look);
    const Index strongest = std::ranges::max_element(look.products) - look.products.begin();
    return plane_through(patterns, query, patterns.in_double(strongest));
}

PrincipalPlane::PrincipalPlane(std::shared_ptr<const HopfieldPatterns> patterns)
    : patterns_(std::move(patterns)) {
    const auto d = static_cast<std::size_t>(patterns_->components);
    const std::vector<double> none(d, 0);
    plane_ = {patterns_->mean, none, none};
    across_ = up_ = off_ = none;
    Random random(1);
    for (auto* direction : {&plane_.across, &plane_.up})
        for (double& each : *direction) each = random.normal();
    straighten(plane_.across, none, 0);
    straighten(plane_.up, plane_.across, least_length);
}

void PrincipalPlane::add(std::span<const float> pattern) {
    for (std::size_t a = 0; a < pattern.size(); ++a)
        off_[a] = static_cast<double>(pattern[a]) - patterns_->mean[a];
    const double x = plane_product(off_, plane_.across), y = plane_product(off_, plane_.up);
    squares_[0] += x * x;
    squares_[1] += y * y;
    all_squares_ += plane_product(off_, off_);
    for (std::size_t a = 0; a < pattern.size(); ++a) {
        across_[a] += x * off_[a];
        up_[a] += y * off_[a];
    }
}

double PrincipalPlane::rotate() {
    const std::vector<double> none(across_.size(), 0);
    // Sums of squares of this size are rounding errors.
    const double least = least_length * static_cast<double>(std::max<Index>(patterns_->count(), 1)) *
                         patterns_->largest * patterns_->largest;
    straighten(across_, none, least);
    straighten(up_, across_, least);
    const double moved = distance_between(across_, plane_.across) + distance_between(up_, plane_.up);
    plane_.across = std::exchange(across_, none);
    plane_.up = std::exchange(up_, none);
    return moved;
}

bool PrincipalPlane::step() {
    const Index a_pattern = std::max<Index>(4 * patterns_->components, 1);
    for (Index left = std::max<Index>(look_work_a_step / a_pattern, 1); left > 0 && !done_; --left) {
        if (next_ == 0) {
            squares_ = {};
            all_squares_ = 0;
        }
        if (next_ < patterns_->count()) {
            add(patterns_->at(next_++));
            continue;
        }
        next_ = 0;
        done_ = rotate() <= unmoved || ++iterations_ == most_plane_iterations;
        if (done_) finish();
    }
    return !done_;
}

void PrincipalPlane::finish() {
    // Which of both ends is which does not matter to the patterns; the largest component is positive.
    for (auto* direction : {&plane_.across, &plane_.up}) {
        const auto largest = std::ranges::max_element(*direction, {}, [](double x) { return std::abs(x); });
        if (largest != direction->end() && *largest < 0)
            for (double& each : *direction) each = -each;
    }
    if (all_squares_ > 0) shares_ = {squares_[0] / all_squares_, squares_[1] / all_squares_};
}

// ---- Basins -----------------------------------------------------------------------------------------------

Basins::Basins(std::shared_ptr<const HopfieldPatterns> patterns, double beta, PatternPlane plane, Box box)
    : patterns_(std::move(patterns)), beta_(beta), plane_(std::move(plane)), box_(box) {
    const double of_place =
        updates_of_place * static_cast<double>(look_cost(patterns_->count(), patterns_->components));
    const auto fits = [&](Index side) {
        return of_place * static_cast<double>(side * side) <= most_picture_work;
    };
    while (last_side_ < finest && fits(2 * last_side_)) last_side_ *= 2;
    shown_.assign(static_cast<std::size_t>(side_ * side_), unknown);
    coming_ = shown_;
    begin_place();
}

std::array<double, 2> Basins::place_at(Index i) const {
    const auto along = [&](std::size_t axis, Index step) {
        return box_.low[axis] + (box_.high[axis] - box_.low[axis]) * (static_cast<double>(step) + 0.5) /
                                    static_cast<double>(side_);
    };
    return {along(0, i % side_), along(1, i / side_)};
}

void Basins::begin_place() {
    state_ = plane_.point_at(place_at(next_));
    updates_ = 0;
}

std::uint8_t Basins::end_of(const std::vector<double>& state) {
    const double near = 1000 * still * patterns_->largest;
    for (std::size_t e = 0; e < ends_.size(); ++e)
        if (distance_between(ends_[e].state, state) <= near) return static_cast<std::uint8_t>(e);
    if (ends_.size() == others) return others;
    End end{.state = state};
    for (std::size_t j = 0; j < look_.weights.size(); ++j)
        if (look_.weights[j] > end.weight) {
            end.weight = look_.weights[j];
            end.strongest = patterns_->keys[j];
        }
    end.effective = effective_patterns(look_.weights);
    ends_.push_back(std::move(end));
    return static_cast<std::uint8_t>(ends_.size() - 1);
}

void Basins::count_places() {
    for (End& end : ends_) end.places = 0;
    for (const std::uint8_t end : shown_)
        if (end < ends_.size()) ++ends_[end].places;
}

void Basins::finish_place(std::uint8_t end) {
    coming_[static_cast<std::size_t>(next_)] = end;
    ++next_;
    const bool complete = next_ == side_ * side_;
    if (side_ == coarsest || complete) {
        shown_ = coming_;
        shown_side_ = side_;
        count_places();
        ++version_;
    }
    if (complete) {
        side_ *= 2;
        next_ = 0;
        if (!done()) coming_.assign(static_cast<std::size_t>(side_ * side_), unknown);
    }
    if (!done()) begin_place();
}

bool Basins::step() {
    const Index one = look_cost(patterns_->count(), patterns_->components);
    for (Index left = std::max<Index>(look_work_a_step / one, 1); left > 0 && !done(); --left) {
        hopfield_look<double>(*patterns_, beta_, state_, look_);
        const double moved = distance_between(state_, look_.next);
        state_.swap(look_.next);
        ++updates_;
        if (moved <= still * patterns_->largest)
            finish_place(end_of(state_));
        else if (updates_ == most_steps)
            finish_place(moving);
    }
    return !done();
}

PlacedPatterns place_patterns(const HopfieldPatterns& patterns, PatternPlane plane,
                              std::span<const double> query) {
    PlacedPatterns placed{std::move(plane), {}, {}};
    for (Index i = 0; i < patterns.count(); ++i)
        placed.places.push_back(placed.plane.place_of(patterns.at(i)));
    const auto start = placed.plane.place_of(query);
    double size = least_box * std::max(patterns.largest, 1e-6);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        double low = start[axis], high = low;
        for (const auto& place : placed.places) {
            low = std::min(low, place[axis]);
            high = std::max(high, place[axis]);
        }
        placed.box.low[axis] = placed.box.high[axis] = (low + high) / 2;
        size = std::max(size, (0.5 + box_margin) * (high - low));
    }
    for (std::size_t axis = 0; axis < 2; ++axis) {
        placed.box.low[axis] -= size;
        placed.box.high[axis] += size;
    }
    return placed;
}

BasinPicture picture_of(const Basins& basins, std::size_t most_ends) {
    BasinPicture picture;
    for (std::size_t e = 0; e < basins.ends().size(); ++e)
        if (basins.ends()[e].places > 0) picture.ends.push_back(e);
    std::ranges::sort(picture.ends, {},
                      [&](std::size_t e) { return std::pair(-basins.ends()[e].places, e); });
    picture.others = picture.ends.size() > most_ends;
    if (picture.others) picture.ends.resize(most_ends);
    std::vector<float> value_of(256, static_cast<float>(most_ends));
    value_of[Basins::unknown] = HUGE_VALF;
    value_of[Basins::moving] = -HUGE_VALF;
    for (std::size_t i = 0; i < picture.ends.size(); ++i) value_of[picture.ends[i]] = static_cast<float>(i);
    for (Index row = basins.side() - 1; row >= 0; --row)
        for (Index col = 0; col < basins.side(); ++col) {
            const std::uint8_t end = basins.end_at(row, col);
            picture.moving = picture.moving || end == Basins::moving;
            picture.others = picture.others || end == Basins::others;
            picture.values.push_back(value_of[end]);
        }
    return picture;
}

}  // namespace attn
