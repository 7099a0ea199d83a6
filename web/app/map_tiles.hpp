// The large map of one head in square tiles, like a street map: computed in slices when they come into view, kept
// while they are looked at. On level 0 a value is a cell; on level l it is the strongest of 2^l × 2^l cells, so
// that a single bright cell survives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "app/state.hpp"
#include "model/trace.hpp"

namespace attn::app {

Stage stage_of(MapStage map);

class MapTiles {
  public:
    static constexpr Index side = 128;        // values a side
    static constexpr std::size_t kept = 512;  // tiles, 32 MB

    struct Tile {
        std::uint64_t serial = 0;   // another tile has another number
        Index rows = 0, cols = 0;   // of values, less than `side` at the edges
        std::vector<float> values;  // [rows, cols]; −inf where every cell is masked
        Index complete_rows = 0;
        std::uint64_t wanted = 0;  // the frame that asked for it last
    };

    // At the start of a frame. Forgets the tiles of any other map, and those out of view for long.
    void show(std::shared_ptr<const Trace> trace, Index layer, Index head, MapStage stage);

    // For every tile in view: null until it is complete, which the steps of this frame see to.
    const Tile* want(Index level, Index row, Index col);
    // The tile where it is complete, without asking for it.
    const Tile* find(Index level, Index row, Index col) const;
    // The value at (query, key) where its tile of level 0 is complete.
    const float* cell(Index query, Index key) const;

    bool step();  // about 2^16 cells; true while tiles in view are incomplete

  private:
    struct At {
        Index level, row, col;
        auto operator<=>(const At&) const = default;
    };
    void compute(const At& at, Tile& tile);

    std::shared_ptr<const Trace> trace_;
    Index layer_ = 0, head_ = 0;
    MapStage stage_ = MapStage::weight;
    std::map<At, Tile> tiles_;
    std::uint64_t serials_ = 0, frame_ = 0;
    std::vector<float> cells_;
    std::vector<std::uint8_t> allowed_;
};

}  // namespace attn::app
