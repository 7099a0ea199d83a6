// Explains what is summed up over a part of a map: a row, a column, or the part that is marked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "app/explained.hpp"
#include "app/visit.hpp"
#include "maps/blocks.hpp"
#include "runs/attention.hpp"

namespace attn::app {

class MapSumExplainer {
  public:
    using CellExplainer = std::function<std::optional<Explained>(const CellPlace&)>;
    // `cell_at` explains the cells that are summed. A large part is added up in slices.
    std::optional<Explained> of(Visit& visit, Attention& attention, const CellPlace& place,
                                const CellExplainer& cell_at);

  private:
    struct Part {
        std::uint64_t version = 0;  // of the attention
        CellPlace place;
        std::optional<Window> marked;
        MapChoice choice;  // of the map that is summed
        MapPointer map;
        MapWindow window;
    };
    static std::optional<Part> part_of(Attention& attention, const CellPlace& place,
                                       const std::optional<Window>& marked);
    Explained explained(Attention& attention, const CellExplainer& cell_at) const;

    std::optional<Part> part_;
    std::optional<BlockJob> job_;  // adds up what the map shows
    std::optional<Explained> kept_;
};

}  // namespace attn::app
