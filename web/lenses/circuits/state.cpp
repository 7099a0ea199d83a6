// What a person can choose in lens Circuits, and how links spell it.
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

template <auto member>
constexpr LinkRow token_row(std::string_view key) {
    return {key, "the id of a token",
            [](State& s, const std::string& text) {
                CircuitsState next = s.of<CircuitsState>();
                next.*member = read_integer<std::int32_t>(text);
                return next.*member && take(s, SetCircuits{next});
            },
            [](const State& s, const State&) -> std::optional<std::string> {
                const auto token = s.of<CircuitsState>().*member;
                return token ? std::optional(std::to_string(*token)) : std::nullopt;
            }};
}

constexpr LinkRow circuits_link_rows[] = {
    {"circuits.part", "qk, ov, positions, wiring or plane",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         const auto part = index_of(circuits_part_keys, text);
         if (part) next.part = static_cast<CircuitsPart>(*part);
         return part && take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const CircuitsPart part = s.of<CircuitsState>().part;
         if (part == CircuitsPart::qk) return std::nullopt;
         return std::string(circuits_part_keys[static_cast<std::size_t>(part)]);
     }},
    token_row<&CircuitsState::query>("circuits.query"),
    token_row<&CircuitsState::key>("circuits.key"),
    token_row<&CircuitsState::output>("circuits.output"),
    {"circuits.distance", "how many tokens a key is before its query",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         const auto distance = read_integer<Index>(text);
         next.distance = distance.value_or(-1);
         return take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Index distance = s.of<CircuitsState>().distance;
         return distance == CircuitsState{}.distance ? std::nullopt : std::optional(std::to_string(distance));
     }},
    {"circuits.kinds", "the kinds of composition that are drawn, as qk",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         next.kinds = {};
         for (const char letter : text) {
             const auto kind = index_of(composition_keys, std::string_view(&letter, 1));
             if (!kind || next.kinds[static_cast<std::size_t>(*kind)]) return false;
             next.kinds[static_cast<std::size_t>(*kind)] = true;
         }
         return take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& kinds = s.of<CircuitsState>().kinds;
         if (kinds == CircuitsState{}.kinds) return std::nullopt;
         std::string text;
         for (std::size_t i = 0; i < kinds.size(); ++i)
             if (kinds[i]) text += composition_keys[i];
         return text;
     }},
    {"circuits.threshold", "a composition from 0 to 1",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         next.threshold = read_number(text);
         return next.threshold && take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto threshold = s.of<CircuitsState>().threshold;
         return threshold ? std::optional(shortest(*threshold)) : std::nullopt;
     }},
    {"circuits.source", "texts: the plane is of many texts",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         next.corpus = true;
         return text == "texts" && take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         return s.of<CircuitsState>().corpus ? std::optional<std::string>("texts") : std::nullopt;
     }},
    {"circuits.colour", "position: the plane is coloured by it",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         next.by_position = true;
         return text == "position" && take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         return s.of<CircuitsState>().by_position ? std::optional<std::string>("position") : std::nullopt;
     }},
    {"circuits.wire", "a composition of a head into a later one, as k.0.3-2.1",
     [](State& s, const std::string& text) {
         CircuitsState next = s.of<CircuitsState>();
         next.wire = read_wire(text);
         return next.wire && take(s, SetCircuits{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& wire = s.of<CircuitsState>().wire;
         return wire ? std::optional(write_wire(*wire)) : std::nullopt;
     }},
};

bool is_head(const HeadIndex& head) {
    return head.layer >= 0 && head.layer < position_limit && head.head >= 0 && head.head < position_limit;
}

}  // namespace

LinkRows circuits_links() { return {circuits_link_rows}; }

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

Status SetCircuits::apply(State& state) const {
    for (const auto& token : {circuits.query, circuits.key, circuits.output})
        if (token.value_or(0) < 0) return Error{"There is no such token to ask about."};
    if (circuits.distance < 0 || circuits.distance >= circuits_distance_limit)
        return Error{"A key is from 0 to " + with_commas(circuits_distance_limit - 1) +
                     " tokens before its query."};
    if (circuits.kinds == std::array{false, false, false})
        return Error{"At least one kind of composition stays."};
    if (circuits.threshold && !(*circuits.threshold >= 0 && *circuits.threshold <= 1))
        return Error{"A composition is from 0 to 1."};
    if (circuits.wire && (!is_head(circuits.wire->from) || !is_head(circuits.wire->to) ||
                          circuits.wire->from.layer >= circuits.wire->to.layer))
        return Error{"A wire goes from a head to one of a later layer."};
    state.edit<CircuitsState>() = circuits;
    return ok();
}

std::string SetCircuits::describe(const State& before) const {
    const CircuitsState& was = before.of<CircuitsState>();
    if (circuits.part != was.part)
        return "circuits: " + std::string(circuits_part_keys[static_cast<std::size_t>(circuits.part)]);
    if (circuits.distance != was.distance) return "distance " + std::to_string(circuits.distance);
    if (circuits.kinds != was.kinds) return "other kinds of composition";
    if (circuits.threshold != was.threshold)
        return circuits.threshold ? "composition from " + fixed(*circuits.threshold, 3)
                                  : "the strongest wires";
    if (circuits.corpus != was.corpus)
        return circuits.corpus ? "the plane of many texts" : "the plane of this text";
    if (circuits.by_position != was.by_position)
        return circuits.by_position ? "coloured by position" : "coloured by query and key";
    if (circuits.wire != was.wire)
        return circuits.wire ? "wire " + write_wire(*circuits.wire) : "the strongest wire";
    return "other tokens asked about";
}

}  // namespace attn::app
