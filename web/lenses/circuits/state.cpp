// Implements the settings of lens Circuits and their spelling in links.
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "lenses/circuits/circuits.hpp"

namespace attn::app::circuits {

namespace {

constexpr std::array<std::string_view, part_count> part_keys{"qk", "ov", "positions", "wiring", "plane"};
constexpr std::string_view kinds_examples[] = {"qk", "v"}, wire_examples[] = {"k.0.3-2.1", "q.1.0-0.0"};

using Kinds = std::array<bool, composition_count>;
std::optional<Kinds> read_kinds(std::string_view text) {
    Kinds kinds{};
    for (const char letter : text) {
        const auto kind = index_of(cells::composition_words, std::string_view(&letter, 1));
        if (!kind || kinds[static_cast<std::size_t>(*kind)]) return std::nullopt;
        kinds[static_cast<std::size_t>(*kind)] = true;
    }
    return kinds;
}
std::string write_kinds(const Kinds& kinds) {
    std::string text;
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i]) text += cells::composition_words[i];
    return text;
}

// "k.0.3-2.1"
std::string write_wire(const Wire& wire) {
    const auto head = [](const HeadIndex& each) {
        return std::to_string(each.layer) + "." + std::to_string(each.head);
    };
    return std::string(cells::composition_words[static_cast<std::size_t>(wire.kind)]) + "." +
           head(wire.from) + "-" + head(wire.to);
}
std::optional<Wire> read_wire(std::string_view text) {
    const auto ends = split(text, '-');
    if (ends.size() != 2) return std::nullopt;
    const auto from = split(ends[0], '.'), to = split(ends[1], '.');
    if (from.size() != 3 || to.size() != 2) return std::nullopt;
    const auto kind = index_of(cells::composition_words, from[0]);
    const auto from_layer = read_integer<Index>(from[1]), from_head = read_integer<Index>(from[2]),
               to_layer = read_integer<Index>(to[0]), to_head = read_integer<Index>(to[1]);
    if (!kind || !from_layer || !from_head || !to_layer || !to_head) return std::nullopt;
    return Wire{static_cast<Composition>(*kind), {*from_layer, *from_head}, {*to_layer, *to_head}};
}
bool is_head(const HeadIndex& head) {
    return head.layer >= 0 && head.layer < position_limit && head.head >= 0 && head.head < position_limit;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"circuits.part", "circuits: {}", named<&S::part>(part_keys)},
        {"circuits.distance", "distance {}",
         whole<&S::distance>("number of tokens from a query back to its key", 0, distance_limit - 1)},
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
        all, [](const S& state) -> Status {
            if (state.kinds == Kinds{}) return Error{"At least one kind of composition stays."};
            const auto& wire = state.wire;
            if (wire && (!is_head(wire->from) || !is_head(wire->to) || wire->from.layer >= wire->to.layer))
                return Error{"A wire goes from a head to one of a later layer."};
            return ok();
        }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 10>()}; }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    const auto ends = [&](const CellKind& kind, Index which) -> std::optional<CellRef> {
        return which < 4 ? std::optional(kind(which / 2, which % 2, col)) : std::nullopt;
    };
    if (row >= 800'000) return composition((row - 800'000) % 3, col, (row - 800'000) / 3);
    if (row >= 725'000) return ends(corpus_plane, row - 725'000);
    if (row >= 720'000) return ends(plane, row - 720'000);
    if (row >= 710'000) return copying(row - 710'000, col);
    if (row > 700'006) return std::nullopt;
    if (row == 700'006) return virtual_logit(col);
    if (row == 700'005) return col == 0 ? std::optional(virtual_copying()) : std::nullopt;
    if (row > 700'000) return eigenvalue((row - 700'001) / 2, (row - 700'001) % 2, col);
    if (row == 700'000) return distance(col);
    const Index circuit = row / 300'000, at = row % 300'000;
    return col >= 500'000   ? input(circuit, at, col - 500'000)
           : col >= 450'000 ? right_factor(circuit, at, col - 450'000)
           : col >= 400'000 ? left_factor(circuit, at, col - 400'000)
                            : map(circuit, at, col);
}

}  // namespace attn::app::circuits
