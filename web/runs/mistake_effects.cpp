#include "runs/mistake_effects.hpp"

#include <algorithm>

namespace attn::app {

const MistakeEffect* MistakeEffects::of(Index mistake, std::size_t variant) const {
    const auto found = std::ranges::find_if(
        effects_, [&](const Known& each) { return each.mistake == mistake && each.variant == variant; });
    return found == effects_.end() ? nullptr : &found->effect;
}

bool MistakeEffects::advance(Making& making, const PossibleMistake& possible, Index mistake,
                             std::size_t variant) {
    if (!making.head || making.mistake != mistake || making.variant != variant) {
        Implementation how = right_implementation(*rows_.given);
        possible.variants[variant].apply(how);
        auto reading =
            how.inputs == reading_->reading() ? reading_ : std::make_shared<QueryReading>(rows_, how.inputs);
        making = {mistake, variant,
                  std::make_shared<MistakenHead>(rows_, std::move(how), std::move(reading))};
        return true;
    }
    if (making.head->done()) return false;
    if (!making.head->step() && !of(mistake, variant))
        effects_.push_back({mistake, variant, effect_of(*right_, *making.head)});
    return true;
}

bool MistakeEffects::step(std::span<const PossibleMistake> possible, Index chosen, std::size_t variant) {
    if (!right_) {
        const Implementation how = right_implementation(*rows_.given);
        reading_ = std::make_shared<QueryReading>(rows_, how.inputs);
        right_ = std::make_shared<MistakenHead>(rows_, how, reading_);
        return true;
    }
    if (!right_->done()) {
        right_->step();
        return true;
    }
    const PossibleMistake& first = possible[static_cast<std::size_t>(chosen)];
    if (first.variants.empty())
        chosen_ = {};
    else if (advance(chosen_, first, chosen, variant))
        return true;
    for (Index mistake = 0; mistake < std::ssize(possible); ++mistake) {
        const PossibleMistake& each = possible[static_cast<std::size_t>(mistake)];
        const std::size_t which = mistake == chosen ? variant : 0;
        if (!each.variants.empty() && !of(mistake, which)) return advance(other_, each, mistake, which);
    }
    other_ = {};
    return false;
}

}  // namespace attn::app
