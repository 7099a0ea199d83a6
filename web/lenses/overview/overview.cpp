#include "lenses/overview/overview.hpp"

namespace attn::app {

std::optional<Missing> Overview::missing(Subject& subject) const {
    if (subject.attention()) return std::nullopt;
    return Missing{"There is no attention to look at here yet."};
}

// Pictures of a closed subject would keep its numbers in memory.
void Overview::follow(const State&, Change) {
    std::erase_if(seen_, [&](const auto& each) {
        return !static_cast<Subject&>(visit().subject(each.first)).attention();
    });
}

std::string Overview::spoken(Subject& subject) {
    const Selection& s = state().selection;
    const auto& reading = reader_.read(*subject.attention(), s.layer, s.head, s.query);
    return reading ? reading->asks + ", this head " + looks_at(*reading) + "." : "";
}

}  // namespace attn::app
