// Reads what a lesson's expressions give to a name: tokens by word or position, heads, stages, and numbers of
// lenses.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heads/head_roles.hpp"
#include "app/cell.hpp"
#include "lesson/expression.hpp"
#include "runs/attention.hpp"

namespace attn::app::learn {

enum class Side { query, key };

// Finds the token that a word or a position from 0 names. An error if there is none, or if several tokens are
// that word.
Result<Index> token_at(const Attention& attention, const lesson::Value& given, Side side);

std::string query_in_words_alone(const Attention& attention, Index query);  // without quotation marks
std::string key_in_words_alone(const Attention& attention, Index key);

// "q", "score", "residual", "W_Q" or any key of a stage.
std::optional<Stage> stage_called(std::string_view name);
std::span<const std::string_view> stage_names();
// Finds the number of a stage from its row and column.
Result<RunCell> stage_cell(const Attention& attention, Stage stage, std::span<const lesson::Value> given);

// Finds the number of a lens, "softmax.weight", from the places on its axes.
Result<CellRef> lens_cell(const Attention& attention, std::string_view name,
                          std::span<const lesson::Value> given);

// "weight", "row_entropy" or "softmax.weight".
std::string pin_kind(const CellRef& cell);

std::optional<HeadRole> role_called(std::string_view name);
std::optional<HeadIndex> read_head(std::string_view text);  // "4.7"

}  // namespace attn::app::learn
