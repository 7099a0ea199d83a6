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

std::optional<std::vector<Index>> read_order(std::string_view text) { return read_integers(text); }
std::string write_order(const std::vector<Index>& order) { return write_integers(order); }
constexpr std::string_view order_examples[] = {"2,0,1", "1,0"};

}  // namespace

const Fields<OrderState>& OrderState::fields() {
    using S = OrderState;
    static const Field<S> all[]{
        {"order.positions", [](const S& s) { return std::string(scheme_name(s.scheme)); },
         named<&S::scheme>(position_scheme_keys)},
        {"order.shift", [](const S& s) { return "shifted by " + with_commas(s.shift); },
         whole<&S::shift>("shift", 0, order_shift_limit)},
        {"order.factor", "{} times the trained length", whole<&S::factor>("factor", 1, order_factor_limit)},
        {"order.trained", [](const S& s) { return "trained length " + with_commas(s.trained); },
         whole<&S::trained>("trained length", 0, order_trained_limit)},
        {"order.mask", {"with the head’s mask", "without a mask"}, word<&S::masked>("own")},
        {"order.turn", [](const S& s) { return "query moved by " + with_commas(s.turn); },
         whole<&S::turn>("number of positions", 0, order_turn_limit)},
        {"order.seed", "seed {}", whole<&S::seed>("seed", 0, seed_limit)},
        {"order.keys",
         {"order of keys", "keys in their own order"},
         spelled<&S::key_order, read_order, write_order>("place of each key", order_examples)},
        {"order.tokens",
         {"order of tokens", "tokens in their own order"},
         spelled<&S::order, read_order, write_order>("place of each token", order_examples)},
        {"order.first", "from token {}", whole<&S::first>("first token", 0, position_limit - 1)},
        {"order.first_key", "from key {}", whole<&S::first_key>("first key", 0, position_limit - 1)},
        {"order.far", [](const S& s) { return "at distance " + with_commas(s.far); },
         whole<&S::far>("distance", 0, order_trained_limit * order_factor_limit)},
        {"order.pair", "pair {}", whole<&S::pair>("pair of components", 0, order_pair_limit - 1)},
        {"order.reach", "distances to {}", whole<&S::reach>("distance", 1, order_reach_limit)},
        {"order.content", {"mean q and k", "the chosen q and k"}, word<&S::mean>("mean")},
        {"order.pairs", {"pairs (2a, 2a + 1)", "pairs (a, a + d_k/2)"}, word<&S::interleaved>("interleaved")},
    };
    static const Fields<S> fields{.all = all,
                                  .check = [](const S& s) -> Status {
                                      if (!is_order(s.order) || !is_order(s.key_order))
                                          return Error{"An order has each of at most " +
                                                       std::to_string(order_tokens_limit) + " tokens once."};
                                      return ok();
                                  },
                                  .normalise =
                                      [](S& s) {
                                          for (std::vector<Index>* each : {&s.order, &s.key_order})
                                              if (*each == in_place(std::ssize(*each))) each->clear();
                                      }};
    return fields;
}
LinkRows order_links() { return {rows_of_fields<OrderState, 16>()}; }

std::string_view scheme_name(PositionScheme scheme) { return scheme_names[static_cast<std::size_t>(scheme)]; }

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
