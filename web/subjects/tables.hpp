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

// Makes a table of a map's cells, up to the size limit of tables; a masked weight is 0.
Table table_of(std::string title, const Map& map, std::span<const std::string> query_names,
               std::span<const std::string> key_names, Stage stage);
Table table_of(const Rung& rung);

// Makes a table of the measured scores of all heads.
Table scores_table(Attention& attention, const MapChoice& choice);

// Makes the tables of a head: its map as shown, its vectors, and the scores of all heads. The first is the
// one in focus: the map, or the vectors if a number of theirs is pinned.
std::vector<Table> tables_of(Attention& attention, const State& state, HeadIndex head);

// Moves the table at this place to the front; the others keep their order.
void bring_forward(std::vector<Table>& tables, std::size_t place);

}  // namespace attn::app
