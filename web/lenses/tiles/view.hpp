// Declares what the files that draw lens Tiles share.
#pragma once

#include "app/drawing.hpp"
#include "lenses/tiles/tiles.hpp"

namespace attn::app {

struct TilesLens::View {
    const Drawing& drawing;
    Subject& subject;
    const Shown& shown;
    const TileCover& cover;

    const std::vector<std::string>& query_names() const { return subject.attention()->query_names(); }
    const std::vector<std::string>& key_names() const { return subject.attention()->key_names(); }
    void go_to(Index tile, std::uint64_t gesture) const {
        drawing.visit.perform(SetTile{tile, usual_tile_size(*shown.record)}, gesture);
    }
};

}  // namespace attn::app
