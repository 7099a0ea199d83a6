// Explains sums over parts of a map: a row, a column, or the marked part.
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
    // `cell_at` explains the cells of the sum. A large part is added up in slices.
    std::optional<Explained> of(Visit& visit, Attention& attention, const HeadIndex& head, const MapSum& sum,
                                const CellExplainer& cell_at);

  private:
    struct Part {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        MapSum sum;
        std::optional<Window> marked;
        MapChoice choice;  // choice of the summed map
        MapPointer map;
        MapWindow window;
    };
    static std::optional<Part> part_of(Attention& attention, const HeadIndex& head, const MapSum& sum,
                                       const std::optional<Window>& marked,
                                       const std::vector<TokenSpan>& spans);
    Explained explained(Attention& attention, const CellExplainer& cell_at) const;

    std::optional<Part> part_;
    std::optional<BlockJob> job_;  // sums the cells of the shown map
    std::optional<Explained> kept_;
};

}  // namespace attn::app
