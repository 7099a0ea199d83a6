#include "app/state.hpp"

#include <algorithm>

namespace attn::app {

const State::AnyPart* State::find(const void* id) const {
    const auto found = std::ranges::find(places_, id, &Place::id);
    return found == places_.end() ? nullptr : found->part.get();
}

std::shared_ptr<State::AnyPart>& State::place(const void* id) {
    const auto found = std::ranges::find(places_, id, &Place::id);
    return found == places_.end() ? places_.emplace_back(id, nullptr).part : found->part;
}

bool State::operator==(const State& other) const {
    const auto same = [](const State& a, const State& b) {
        return std::ranges::all_of(a.places_, [&](const Place& place) {
            const AnyPart* there = b.find(place.id);
            return place.part.get() == there || place.part->equals(there);
        });
    };
    return subject == other.subject && lens == other.lens && selection == other.selection &&
           pin == other.pin && same(*this, other) && same(other, *this);
}

}  // namespace attn::app
