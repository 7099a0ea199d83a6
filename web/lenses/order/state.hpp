// What a person can choose in lens Order.
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
    // The token at each place, counted from the first in view; empty: as the subject has them. Where keys are other
    // tokens than queries, this is of the queries.
    std::vector<Index> order{};
    std::optional<Index> first{};    // of the subject's tokens in view; none: the chosen query is among them
    std::vector<Index> key_order{};  // the same of the keys, where they are other tokens
    std::optional<Index> first_key{};
    bool masked = false;       // under the head's own mask
    bool interleaved = false;  // RoPE's pairs (2a, 2a + 1); else (a, a + d_k/2)
    Index shift = 1000;        // of all positions
    Index turn = 0;            // of the dials' query alone
    Index reach = 128;         // the farthest distance of the curves
    bool mean = false;         // the curves are of the tokens' mean q and k, not of the chosen pair
    Index trained = 0;         // length in tokens; 0: the model's own
    Index factor = 4;          // how many times longer it is asked to be
    Index far = 0;             // the distance that is looked at there; 0: the trained length
    Index pair = 0;            // whose wavelength is looked at
    std::uint32_t seed = 1;    // of what a scheme would have learned
    bool operator==(const OrderState&) const = default;
};

template <>
const Fields<OrderState>& fields_of();
using SetOrder = Set<OrderState>;

LinkRows order_links();

// In links.
inline constexpr std::array<std::string_view, position_schemes> position_scheme_keys{
    "none", "learned", "sinusoidal", "rope", "alibi", "t5", "own"};
std::string_view scheme_name(PositionScheme scheme);

// Returns an order of so many tokens: the one given, if it is one of so many.
std::vector<Index> order_of(const std::vector<Index>& order, Index tokens);
// Returns the order in which the token at one place has moved to another.
std::vector<Index> with_moved(std::vector<Index> order, Index from, Index to);

}  // namespace attn::app
