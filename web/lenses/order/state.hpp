// Defines the settings of lens Order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/position_schemes.hpp"
#include "app/fields.hpp"

namespace attn::app {

inline constexpr Index order_tokens_limit = 12, order_shift_limit = 1'000'000, order_turn_limit = 4096,
                       order_reach_limit = 512, order_trained_limit = 1'000'000, order_factor_limit = 64,
                       order_pair_limit = 4096;

struct OrderState {
    PositionScheme scheme = PositionScheme::none;
    // The token at each place, counted from the first in view; empty: the original order. If keys are
    // different tokens, this orders the queries.
    std::vector<Index> order{};
    std::optional<Index> first{};    // the first token in view; none: chosen so that the query is in view
    std::vector<Index> key_order{};  // order of the keys, if they are different tokens
    std::optional<Index> first_key{};
    bool masked = false;       // applies the head's own mask
    bool interleaved = false;  // RoPE pairs components (2a, 2a + 1); otherwise (a, a + d_k/2)
    Index shift = 1000;        // added to all positions
    Index turn = 0;            // added to the position of the dials' query
    Index reach = 128;         // the largest distance on the curves
    bool mean = false;         // curves of the tokens' mean q and k, not of the chosen pair
    Index trained = 0;         // length in tokens; 0: the model's own
    Index factor = 4;          // factor of the context extension
    Index far = 0;             // the distance in question there; 0: the trained length
    Index pair = 0;            // the pair whose wavelength is shown
    std::uint32_t seed = 1;    // for parameters that a scheme would have learned
    bool operator==(const OrderState&) const = default;
    static const Fields<OrderState>& fields();
};
using SetOrder = Set<OrderState>;

LinkRows order_links();

// Spellings in links.
inline constexpr std::array<std::string_view, position_schemes> position_scheme_keys{
    "none", "learned", "sinusoidal", "rope", "alibi", "t5", "own"};
std::string_view scheme_name(PositionScheme scheme);

// Returns an order of this many tokens: the given one if its length matches.
std::vector<Index> order_of(const std::vector<Index>& order, Index tokens);
// Returns the order after moving a token from one place to another.
std::vector<Index> with_moved(std::vector<Index> order, Index from, Index to);

}  // namespace attn::app
