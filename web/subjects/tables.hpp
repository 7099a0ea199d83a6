// Makes tables of what lenses show.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/table.hpp"
#include "maps/map.hpp"
#include "runs/attention.hpp"
#include "subjects/ladder.hpp"

namespace attn::app {

// A map's cells, as far as a table goes; a masked weight is 0.
Table table_of(std::string title, const Map& map, std::span<const std::string> query_names,
               std::span<const std::string> key_names, Stage stage);
Table table_of(const Rung& rung);

// The measured scores of all heads.
Table scores_table(Attention& attention);

// A head: its map as it is shown, its vectors, and the scores of all heads. The first is the one in focus: the
// map, or the vectors of which one is pinned.
std::vector<Table> tables_of(Attention& attention, const State& state, HeadIndex head);

// Puts the table of this place into focus; the others keep their order.
void bring_forward(std::vector<Table>& tables, std::size_t place);

}  // namespace attn::app
