#include "analysis/heads/wires.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

Wires strongest_wires(const CompositionJob& composition, const std::array<bool, composition_count>& kinds,
                      std::optional<double> threshold) {
    std::vector<Wires::One> all;
    const Index heads = composition.heads(), count = composition.layers() * heads;
    for (std::size_t kind = 0; kind < composition_count; ++kind)
        for (Index from = 0; kinds[kind] && from < count; ++from)
            for (Index to = (from / heads + 1) * heads; to < count; ++to) {
                const Wire wire{
                    static_cast<Composition>(kind), {from / heads, from % heads}, {to / heads, to % heads}};
                const auto value = static_cast<double>(composition.value(wire.kind, wire.from, wire.to));
                if (!std::isnan(value)) all.push_back({wire, value});
            }
    const auto kept = std::min(all.size(), Wires::most);
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), std::greater(),
                              &Wires::One::value);
    Wires wires;
    wires.strongest = all.empty() ? 0 : all.front().value;
    wires.threshold = threshold.value_or(all.size() > Wires::usual ? all[Wires::usual - 1].value : 0);
    const auto reach =
        std::ranges::count_if(all, [&](const Wires::One& each) { return each.value >= wires.threshold; });
    all.resize(std::min(kept, static_cast<std::size_t>(reach)));
    wires.left_out = reach - std::ssize(all);
    wires.listed = std::move(all);
    return wires;
}

}  // namespace attn
