// Many small maps in one grid: all heads at once. Every map first gets a picture of a few sampled rows; then
// follow the blocks that cover every cell.
#pragma once

#include <optional>
#include <vector>

#include "maps/pyramid.hpp"

namespace attn {

class Thumbnails {
  public:
    enum class State { nothing, sampled, behind, exact };

    // The maps are in reading order, `columns` to a row of the grid; each gets at most `side` texels a side.
    // All have the scale of the largest, and smaller ones lie in the upper left corner of their place.
    static Result<Thumbnails> start(std::vector<MapPointer> maps, Index columns, Index side = 64,
                                    const Kernels& kernels = default_kernels());

    // Before the first step: takes over the rows of pictures of a text that begins with the same `kept`
    // tokens, each of which sees only those before it, unless it were less than half. On the same level the
    // exact ones are then behind by their last rows; on another level they are a first picture.
    void take_over(const Thumbnails& before, Index kept);
    // They come before all others.
    bool behind() const { return behind_ > 0; }

    // The maps from this one on are made next.
    void look_at(std::size_t map);

    bool step();  // like BlockJob's; true while there is more to do
    bool done() const { return exact_ == maps_.size(); }
    State state(std::size_t map) const { return states_[map]; }
    std::size_t sampled() const { return sampled_; }  // how many maps have a picture
    std::size_t exact() const { return exact_; }      // how many have an exact one

    // The grid as one field [maps / columns · rows, columns · cols], so that it is one texture: maps of rows
    // × cols texels side by side. It holds masked_cell where there is nothing yet. A texel of an exact map is
    // a block of 2^level × 2^level cells, a texel of a sampled one 2^level keys of one query.
    Index level() const { return level_; }
    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    ConstMatrix strongest() const { return strongest_.matrix(); }
    ConstMatrix mean() const { return mean_.matrix(); }
    std::uint64_t version() const { return version_; }  // grows with every map

  private:
    Thumbnails() = default;
    std::size_t next(State wanted) const;
    Index first_row(std::size_t map) const;  // the first row of texels that is not exact
    // Whether it has so few cells that its blocks are made at once, without sampled rows before them.
    bool is_small(std::size_t map) const;
    void put(std::size_t map, Index first_row, const Blocks& blocks, State state);

    std::vector<MapPointer> maps_;
    std::vector<State> states_;
    std::size_t sampled_ = 0, behind_ = 0, exact_ = 0, first_ = 0, current_ = 0;
    Index kept_rows_ = 0;  // texels, of maps that are behind
    const Kernels* kernels_ = nullptr;
    Index columns_ = 1, level_ = 0, rows_ = 0, cols_ = 0, side_ = 0;
    Tensor strongest_, mean_;
    std::optional<BlockJob> job_;
    std::uint64_t version_ = 0;
};

}  // namespace attn
