// The tiles that a picture of a map is made of, as the heatmap pass takes them: those of the map's pyramid,
// and below its finest level those in view, computed when they come into view and kept while there is room.
// All of it in slices.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "maps/pyramid.hpp"
#include "maps/value_scale.hpp"

namespace attn {

// How a block of cells becomes one texel: as its strongest cell, so that a single bright one survives, or as
// its mean.
enum class Pooling { strongest, mean };

// A texel that is not computed yet.
inline constexpr float unknown_texel = std::numeric_limits<float>::infinity();

class MapTiles {
  public:
    static constexpr std::size_t kept = 48;  // tiles below the pyramid, of 0.5 MB

    struct Texels {
        std::uint64_t serial = 0;  // other texels, of any MapTiles, have another number
        Index rows = 0, cols = 0;
        std::vector<float> values;  // [rows, cols]; −inf: masked; unknown_texel
        bool complete = false;
    };

    // Call it at the start of a frame. Another map starts anew. While a map is being measured, only its
    // sampled rows mean something (RecordJob::sampled): they are made, and nothing else until it is done.
    // Where the first `same_queries` are the queries of the map before (Pyramid::take_over), the rest is made
    // at once if that is quick, so that no picture goes and comes.
    void show(const MapPointer& map, Pooling pooling, bool being_measured = false, Index same_queries = 0);
    // Others may make its tiles, too (RecordJob::give_scores).
    const std::shared_ptr<Pyramid>& pyramid() const { return pyramid_; }
    Index coarsest() const { return pyramid_->coarsest(); }

    // The tiles of this level that the ranges touch are made before any other.
    void look_at(Index level, Range queries, Range keys);
    // Null where nothing of the tile is known yet. On the coarsest level sampled rows stand where blocks are
    // not ready.
    const Texels* find(TileAt at);
    const SampledRows* sample() const;  // the rows shown; null if there are none
    // The largest magnitude among the cells so far, infinities and NaN aside.
    float extent() const { return extent_; }
    // The quantiles of its blocks on the coarsest level, or of its cells where the map is small; null until
    // they are all there. Sorted when they are first asked for.
    const Quantiles* quantiles();
    const MapSums* sums() const { return sums_ ? &*sums_ : nullptr; }  // null until they are complete
    const MapPointer& map() const { return map_; }
    // The value of a cell whose tile of level 0 is there.
    std::optional<float> cell(Index query, Index key);

    bool step();           // one slice of a job; true while there is more to do
    bool working() const;  // there is more to do
    double progress() const { return pyramid_ ? pyramid_->progress() : 1; }

  private:
    struct Fine {                     // a tile below the pyramid
        std::optional<BlockJob> job;  // until it is done
        std::uint64_t wanted = 0;     // the frame that asked for it last
        std::vector<float> strongest, mean;
        Index rows = 0, cols = 0;
    };
    struct Shown {
        std::optional<std::uint64_t> version;  // the pyramid tile's
        Texels texels;
    };
    void keep_room();
    bool awaits_measuring() const;
    void note_extent();
    void note_sums();

    MapPointer map_;
    Pooling pooling_ = Pooling::strongest;
    bool being_measured_ = false;
    std::shared_ptr<Pyramid> pyramid_;
    std::map<TileAt, Fine> fine_;
    std::map<TileAt, Shown> shown_;
    std::uint64_t frame_ = 0;
    float extent_ = 0;
    std::uint64_t extent_of_ = 0;  // version of the single coarsest tile
    Quantiles quantiles_;
    std::optional<MapSums> sums_;
};

}  // namespace attn
