// How choices are spelt in a link: each to its text, and back where the text is one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/state.hpp"

namespace attn::app {

inline constexpr std::array<std::string_view, matrix_count> matrix_link_names{
    "X", "W_Q", "W_K", "W_V", "Q", "K", "V", "scores", "scaled", "capped", "masked", "weight", "output"};
constexpr std::string_view link_name(MatrixId id) { return matrix_link_names[static_cast<std::size_t>(id)]; }

// "weight.0.1", a cell of a matrix; of the second text "weight.0.1.second", between words "weight.0.1.words".
std::string write_pin(const CellRef& cell);
std::optional<CellRef> read_pin(std::string_view text);

// "weight", or the stage and what else is unusual: "scaled,mean,log", "weight,nosink,0.25".
std::string write_map(const MapChoice& map);
std::optional<MapChoice> read_map(std::string_view text);

// "4.7.0-12.3-9": layer, head, queries and keys from the first to the last; one after another.
std::string write_bookmarks(const std::vector<Bookmark>& bookmarks);
std::optional<std::vector<Bookmark>> read_bookmarks(std::string_view text);

// "induction", or "previous,induction".
std::string write_heads(const HeadsChoice& heads);
std::optional<HeadsChoice> read_heads(std::string_view text);

// "0.8", or "0.8,columns,1.0,2.3": heads as layer.head.
std::string write_flow(const FlowChoice& flow);
std::optional<FlowChoice> read_flow(std::string_view text);

// "0.7,40,0.95,1": temperature, top-k, top-p and seed.
std::string write_sampling(const SamplingState& sampling);
std::optional<SamplingState> read_sampling(std::string_view text);

// "causal", "past", "causal,unscaled"; empty: as usual, which is not read.
std::string write_rule(const TensorRule& rule);
std::optional<TensorRule> read_rule(std::string_view text);

}  // namespace attn::app
