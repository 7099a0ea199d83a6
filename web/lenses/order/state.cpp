#include "lenses/order/state.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, position_schemes> scheme_names{
    "no positions", "learned", "sinusoidal", "RoPE", "ALiBi", "T5 buckets", "T5’s own"};

std::vector<Index> in_place(Index tokens) {
    std::vector<Index> order(static_cast<std::size_t>(tokens));
    std::iota(order.begin(), order.end(), Index{0});
    return order;
}

bool is_order(const std::vector<Index>& order) {
    std::vector<Index> sorted = order;
    std::ranges::sort(sorted);
    return std::ssize(order) <= order_tokens_limit && sorted == in_place(std::ssize(order));
}

template <Index OrderState::* member>
constexpr LinkRow number_row(std::string_view key, std::string_view expected) {
    return {key, expected,
            [](State& s, const std::string& value) {
                const auto number = read_integer<Index>(value);
                OrderState order = s.of<OrderState>();
                order.*member = number.value_or(-1);
                return take(s, SetOrder{order});
            },
            [](const State& s, const State&) -> std::optional<std::string> {
                const Index number = s.of<OrderState>().*member;
                return number == OrderState{}.*member ? std::nullopt : std::optional(std::to_string(number));
            }};
}

template <std::optional<Index> OrderState::* member>
constexpr LinkRow number_row(std::string_view key, std::string_view expected) {
    return {key, expected,
            [](State& s, const std::string& value) {
                OrderState order = s.of<OrderState>();
                order.*member = read_integer<Index>(value).value_or(-1);
                return take(s, SetOrder{order});
            },
            [](const State& s, const State&) -> std::optional<std::string> {
                const auto& number = s.of<OrderState>().*member;
                return number ? std::optional(std::to_string(*number)) : std::nullopt;
            }};
}

template <std::vector<Index> OrderState::* member>
bool read_order(State& s, const std::string& value) {
    const auto places = read_integers(value);
    OrderState order = s.of<OrderState>();
    if (places) order.*member = *places;
    return places && take(s, SetOrder{order});
}
template <std::vector<Index> OrderState::* member>
std::optional<std::string> write_order(const State& s) {
    const std::vector<Index>& order = s.of<OrderState>().*member;
    return order.empty() ? std::nullopt : std::optional(write_integers(order));
}

// A switch, whose value in links is always this word.
template <bool OrderState::* member>
bool read_switch(State& s, const std::string& value, std::string_view word) {
    if (value != word) return false;
    s.edit<OrderState>().*member = true;
    return true;
}
template <bool OrderState::* member>
std::optional<std::string> write_switch(const State& s, std::string_view word) {
    return s.of<OrderState>().*member ? std::optional(std::string(word)) : std::nullopt;
}

constexpr LinkRow order_rows[] = {
    {"order.positions", "none, learned, sinusoidal, rope, alibi, t5 or own",
     [](State& s, const std::string& value) {
         const auto scheme = index_of(position_scheme_keys, value);
         if (!scheme) return false;
         s.edit<OrderState>().scheme = static_cast<PositionScheme>(*scheme);
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const PositionScheme scheme = s.of<OrderState>().scheme;
         if (scheme == PositionScheme::none) return std::nullopt;
         return std::string(position_scheme_keys[static_cast<std::size_t>(scheme)]);
     }},
    {"order.tokens", "the number of the token at each place, from 0 on, as 2,0,1",
     [](State& s, const std::string& value) { return read_order<&OrderState::order>(s, value); },
     [](const State& s, const State&) { return write_order<&OrderState::order>(s); }},
    number_row<&OrderState::first>("order.first", "the number of a token, from 0 on"),
    {"order.keys", "the number of the key at each place, from 0 on, as 2,0,1",
     [](State& s, const std::string& value) { return read_order<&OrderState::key_order>(s, value); },
     [](const State& s, const State&) { return write_order<&OrderState::key_order>(s); }},
    number_row<&OrderState::first_key>("order.first_key", "the number of a key, from 0 on"),
    {"order.mask", "own",
     [](State& s, const std::string& value) { return read_switch<&OrderState::masked>(s, value, "own"); },
     [](const State& s, const State&) { return write_switch<&OrderState::masked>(s, "own"); }},
    {"order.pairs", "interleaved",
     [](State& s, const std::string& value) {
         return read_switch<&OrderState::interleaved>(s, value, "interleaved");
     },
     [](const State& s, const State&) { return write_switch<&OrderState::interleaved>(s, "interleaved"); }},
    number_row<&OrderState::shift>("order.shift", "a number of positions from 0 to 1,000,000"),
    number_row<&OrderState::turn>("order.turn", "a number of positions from 0 to 4,096"),
    number_row<&OrderState::reach>("order.reach", "a distance from 1 to 512"),
    {"order.content", "mean",
     [](State& s, const std::string& value) { return read_switch<&OrderState::mean>(s, value, "mean"); },
     [](const State& s, const State&) { return write_switch<&OrderState::mean>(s, "mean"); }},
    number_row<&OrderState::trained>("order.trained", "a number of tokens from 0 to 1,000,000"),
    number_row<&OrderState::factor>("order.factor", "a whole number from 1 to 64"),
    number_row<&OrderState::far>("order.far", "a distance from 0 to 64,000,000"),
    number_row<&OrderState::pair>("order.pair", "a pair of components, from 0 to 4,095"),
    {"order.seed", "a seed from 0 to 4294967295",
     [](State& s, const std::string& value) {
         const auto seed = read_integer<std::uint32_t>(value);
         if (seed) s.edit<OrderState>().seed = *seed;
         return seed.has_value();
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::uint32_t seed = s.of<OrderState>().seed;
         return seed == OrderState{}.seed ? std::nullopt : std::optional(std::to_string(seed));
     }},
};

}  // namespace

LinkRows order_links() { return {order_rows}; }

std::string_view scheme_name(PositionScheme scheme) { return scheme_names[static_cast<std::size_t>(scheme)]; }

Status SetOrder::apply(State& state) const {
    if (!is_order(order.order) || !is_order(order.key_order))
        return Error{"An order has each of at most " + std::to_string(order_tokens_limit) + " tokens once."};
    const auto within = [](std::optional<Index> first) {
        return !first || (*first >= 0 && *first < position_limit);
    };
    if (!within(order.first) || !within(order.first_key)) return Error{"There is no such first token."};
    if (order.shift < 0 || order.shift > order_shift_limit)
        return Error{"Positions are shifted by 0 to " + with_commas(order_shift_limit) + "."};
    if (order.turn < 0 || order.turn > order_turn_limit)
        return Error{"A query moves on by 0 to " + with_commas(order_turn_limit) + " positions."};
    if (order.reach < 1 || order.reach > order_reach_limit)
        return Error{"Distances here go to 1 at least and " + std::to_string(order_reach_limit) +
                     " at most."};
    if (order.trained < 0 || order.trained > order_trained_limit)
        return Error{"A trained length has at most " + with_commas(order_trained_limit) + " tokens."};
    if (order.factor < 1 || order.factor > order_factor_limit)
        return Error{"A length is stretched 1 to " + std::to_string(order_factor_limit) + " times."};
    if (order.far < 0 || order.far > order_trained_limit * order_factor_limit)
        return Error{"There is no such distance to look at."};
    if (order.pair < 0 || order.pair >= order_pair_limit) return Error{"There is no such pair."};
    OrderState next = order;
    for (std::vector<Index>* each : {&next.order, &next.key_order})
        if (*each == in_place(std::ssize(*each))) each->clear();
    state.edit<OrderState>() = std::move(next);
    return ok();
}

std::string SetOrder::describe(const State& before) const {
    const OrderState& was = before.of<OrderState>();
    if (order.scheme != was.scheme) return std::string(scheme_name(order.scheme));
    if (order.shift != was.shift) return "shifted by " + with_commas(order.shift);
    if (order.factor != was.factor) return std::to_string(order.factor) + " times the trained length";
    if (order.trained != was.trained) return "trained length " + with_commas(order.trained);
    if (order.masked != was.masked) return order.masked ? "with the head’s mask" : "without a mask";
    if (order.turn != was.turn) return "query moved by " + with_commas(order.turn);
    if (order.seed != was.seed) return "seed " + std::to_string(order.seed);
    const bool moved = order.order != was.order || order.key_order != was.key_order;
    if (order.first != was.first && !moved) return "from token " + with_commas(order.first.value_or(0));
    if (order.first_key != was.first_key && !moved)
        return "from key " + with_commas(order.first_key.value_or(0));
    if (order.far != was.far) return "at distance " + with_commas(order.far);
    if (order.pair != was.pair) return "pair " + std::to_string(order.pair);
    if (order.reach != was.reach) return "distances to " + std::to_string(order.reach);
    if (order.mean != was.mean) return order.mean ? "mean q and k" : "the chosen q and k";
    if (order.interleaved != was.interleaved)
        return order.interleaved ? "pairs (2a, 2a + 1)" : "pairs (a, a + d_k/2)";
    if (order.key_order != was.key_order)
        return order.key_order.empty() ? "keys in their own order" : "order of keys";
    return order.order.empty() ? "tokens in their own order" : "order of tokens";
}

std::vector<Index> order_of(const std::vector<Index>& order, Index tokens) {
    return std::ssize(order) == tokens ? order : in_place(tokens);
}

std::vector<Index> with_moved(std::vector<Index> order, Index from, Index to) {
    const auto begin = order.begin();
    if (from < to)
        std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
        std::rotate(begin + to, begin + from, begin + from + 1);
    return order;
}

}  // namespace attn::app
