#include "widgets/touch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn::ui {

namespace {
constexpr float slop = 8;             // points; smaller movements are trembling
constexpr double rests_after = 350;   // ms
constexpr double speed_over = 100;    // ms of movement that determine the speed of a swipe
constexpr double glide_decay = 325;   // ms in which the speed falls to 1/e
constexpr float least_speed = 0.02f;  // points per millisecond
}  // namespace

void TouchArbiter::fingers(std::span<const Finger> down, double ms) {
    if (down.empty()) return lifted(ms);
    if (down.size() > 1) return pinched(down[0], down[1]);
    const Finger& one = down.front();
    if (act_ == Act::none) return came_down(one, ms);
    // After a pinch, the remaining finger does nothing until it is lifted.
    if (act_ == Act::pinches || one.id != id_) {
        if (act_ == Act::drags) say(Step::Kind::release, at_);
        if (act_ != Act::over) say(Step::Kind::leave, at_);
        act_ = Act::over;
        return;
    }
    moved(one.at, ms);
}

void TouchArbiter::cancelled() {
    if (act_ == Act::drags) say(Step::Kind::release, at_);
    if (act_ == Act::scrolls && said_.scroll) said_.scroll->ends = true;
    say(Step::Kind::leave, at_);
    act_ = Act::none;
    speed_ = 0;
}

void TouchArbiter::came_down(const Finger& finger, double ms) {
    stopped_ = gliding();
    speed_ = 0;
    act_ = Act::waits;
    id_ = finger.id;
    from_ = at_ = finger.at;
    since_ = ms;
    any_way_ = false;
    samples_ = {{ms, finger.at.y}};
}

void TouchArbiter::moved(ImVec2 to, double ms) {
    const ImVec2 before = at_;
    at_ = to;
    if (act_ == Act::drags) return say(Step::Kind::point, to);
    if (act_ == Act::scrolls) {
        samples_.push_back({ms, to.y});
        return scroll(to.y - before.y);
    }
    if (act_ != Act::waits && act_ != Act::rests) return;
    const ImVec2 way{to.x - from_.x, to.y - from_.y};
    if (std::hypot(way.x, way.y) < slop) return;
    const bool upright = std::abs(way.y) >= std::abs(way.x);
    if (upright && !(act_ == Act::rests && any_way_)) {
        act_ = Act::scrolls;
        samples_.push_back({ms, to.y});
        said_.scroll = Scroll{from_, to, true};
        // The distance within the slop is not part of the movement.
        return scroll(way.y - std::copysign(std::min(slop, std::abs(way.y)), way.y));
    }
    act_ = Act::drags;
    say(Step::Kind::point, from_, true);
    say(Step::Kind::press, from_, true);
    say(Step::Kind::point, to);
}

void TouchArbiter::lifted(double ms) {
    if ((act_ == Act::waits || act_ == Act::rests) && !stopped_) {
        say(Step::Kind::point, from_, true);
        say(Step::Kind::press, from_, true);
        say(Step::Kind::release, from_, true);
    }
    if (act_ == Act::drags) say(Step::Kind::release, at_);
    if (act_ == Act::scrolls) {
        scroll(0);
        said_.scroll->ends = true;
        speed_ = speed_at(ms);
        glided_ = ms;
    }
    if (act_ != Act::none && act_ != Act::scrolls) say(Step::Kind::leave, at_);
    act_ = Act::none;
}

void TouchArbiter::pinched(const Finger& a, const Finger& b) {
    const float apart = std::hypot(a.at.x - b.at.x, a.at.y - b.at.y);
    const ImVec2 middle{(a.at.x + b.at.x) / 2, (a.at.y + b.at.y) / 2};
    if (act_ == Act::drags) say(Step::Kind::release, at_);
    if (act_ != Act::pinches) {
        speed_ = 0;
        act_ = Act::pinches;
    } else {
        if (!said_.pinch) said_.pinch = Pinch{};
        if (apart_ > 0 && apart > 0) said_.pinch->factor *= apart / apart_;
        said_.pinch->pan.x += middle.x - middle_.x;
        said_.pinch->pan.y += middle.y - middle_.y;
    }
    say(Step::Kind::point, middle);
    apart_ = apart;
    middle_ = at_ = middle;
}

void TouchArbiter::scroll(float by) {
    if (!said_.scroll) said_.scroll = Scroll{from_, at_};
    said_.scroll->to = at_;
    said_.scroll->by += by;
}

float TouchArbiter::speed_at(double ms) const {
    const Sample last = samples_.back();
    Sample first = last;
    for (auto sample = samples_.rbegin(); sample != samples_.rend() && sample->ms >= ms - speed_over;
         ++sample)
        first = *sample;
    // A finger that came to rest before it was lifted leaves nothing gliding.
    if (last.ms - first.ms < 1 || ms - last.ms > speed_over / 2) return 0;
    const auto speed = static_cast<float>((last.y - first.y) / (last.ms - first.ms));
    return std::abs(speed) < 5 * least_speed ? 0 : speed;
}

TouchArbiter::Said TouchArbiter::take(double ms, bool any_way) {
    any_way_ = any_way;
    if (act_ == Act::waits && ms - since_ >= rests_after) {
        act_ = Act::rests;
        say(Step::Kind::point, from_, true);
    }
    if (gliding() && act_ == Act::none) {
        const double passed = std::max(ms - glided_, 0.0), left = std::exp(-passed / glide_decay);
        scroll(speed_ * static_cast<float>(glide_decay * (1 - left)));
        speed_ *= static_cast<float>(left);
        glided_ = ms;
        if (std::abs(speed_) < least_speed) speed_ = 0;
    }
    return std::exchange(said_, {});
}

}  // namespace attn::ui
