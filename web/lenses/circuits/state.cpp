// Implements the settings of lens Circuits and their spelling in links.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "lenses/circuits/circuits.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, circuits_part_count> circuits_part_keys{"qk", "ov", "positions",
                                                                               "wiring", "plane"};
constexpr std::array<std::string_view, composition_count> composition_keys{"q", "k", "v"};

std::optional<std::array<bool, 3>> read_kinds(std::string_view text) {
    std::array<bool, 3> kinds{};
    for (const char letter : text) {
        const auto kind = index_of(composition_keys, std::string_view(&letter, 1));
        if (!kind || kinds[static_cast<std::size_t>(*kind)]) return std::nullopt;
        kinds[static_cast<std::size_t>(*kind)] = true;
    }
    return kinds;
}
std::string write_kinds(const std::array<bool, 3>& kinds) {
    std::string text;
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i]) text += composition_keys[i];
    return text;
}

constexpr std::string_view kinds_examples[] = {"qk", "v"}, wire_examples[] = {"k.0.3-2.1", "q.1.0-0.0"};

bool is_head(const HeadIndex& head) {
    return head.layer >= 0 && head.layer < position_limit && head.head >= 0 && head.head < position_limit;
}

}  // namespace

const Fields<CircuitsState>& CircuitsState::fields() {
    using S = CircuitsState;
    static const Field<S> all[]{
        {"circuits.part", "circuits: {}", named<&S::part>(circuits_part_keys)},
        {"circuits.distance", "distance {}",
         whole<&S::distance>("number of tokens from a query back to its key", 0,
                             circuits_distance_limit - 1)},
        {"circuits.kinds", "other kinds of composition",
         spelled<&S::kinds, read_kinds, write_kinds>("choice of the kinds of composition", kinds_examples)},
        {"circuits.threshold",
         {"composition from {}", "the strongest wires"},
         real<&S::threshold>("composition", 0, 1)},
        {"circuits.source", {"the plane of many texts", "the plane of this text"}, word<&S::corpus>("texts")},
        {"circuits.colour",
         {"coloured by position", "coloured by query and key"},
         word<&S::by_position>("position")},
        {"circuits.wire",
         {"wire {}", "the strongest wire"},
         spelled<&S::wire, read_wire, write_wire>("composition of a head into a later one", wire_examples)},
        {"circuits.query", "other tokens asked about", whole<&S::query>("token", 0, token_limit)},
        {"circuits.key", "other tokens asked about", whole<&S::key>("token", 0, token_limit)},
        {"circuits.output", "other tokens asked about", whole<&S::output>("token", 0, token_limit)},
    };
    static const Fields<S> fields{
        all, [](const S& circuits) -> Status {
            if (circuits.kinds == std::array{false, false, false})
                return Error{"At least one kind of composition stays."};
            const auto& wire = circuits.wire;
            if (wire && (!is_head(wire->from) || !is_head(wire->to) || wire->from.layer >= wire->to.layer))
                return Error{"A wire goes from a head to one of a later layer."};
            return ok();
        }};
    return fields;
}
LinkRows circuits_links() { return {rows_of_fields<CircuitsState, 10>()}; }

std::string write_wire(const Wire& wire) {
    const auto head = [](const HeadIndex& each) {
        return std::to_string(each.layer) + "." + std::to_string(each.head);
    };
    return std::string(composition_keys[static_cast<std::size_t>(wire.kind)]) + "." + head(wire.from) + "-" +
           head(wire.to);
}

std::optional<Wire> read_wire(std::string_view text) {
    const auto ends = split(text, '-');
    if (ends.size() != 2) return std::nullopt;
    const auto from = split(ends[0], '.'), to = split(ends[1], '.');
    if (from.size() != 3 || to.size() != 2) return std::nullopt;
    const auto kind = index_of(composition_keys, from[0]);
    const auto from_layer = read_integer<Index>(from[1]), from_head = read_integer<Index>(from[2]),
               to_layer = read_integer<Index>(to[0]), to_head = read_integer<Index>(to[1]);
    if (!kind || !from_layer || !from_head || !to_layer || !to_head) return std::nullopt;
    return Wire{static_cast<Composition>(*kind), {*from_layer, *from_head}, {*to_layer, *to_head}};
}

}  // namespace attn::app
