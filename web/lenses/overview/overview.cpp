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

}  // namespace attn::app
