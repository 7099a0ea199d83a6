// Lens Tiles: fused attention step by step. The head's cells are cut into tiles; each tile of keys updates
// the running maximum, sum and output of its queries (analysis/theory/online_softmax.hpp), and the final
// numbers equal those of naive attention.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/attention_tiles.hpp"
#include "analysis/theory/online_softmax.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"

namespace attn::app {

inline constexpr Index tile_side_limit = 128;
inline constexpr Index tiles_limit = 100'000;  // a head with more tiles gets larger ones
inline constexpr Index tile_rows_shown = 8;

struct TilesState {
    std::optional<TileSize> size = {};  // none: usual_tile_size of the head in view
    Index tile = 0;  // the last finished one, among all (analysis/theory/attention_tiles.hpp)
    bool operator==(const TilesState&) const = default;
};

// The walk starts again.
struct SetTileSize {
    TileSize size;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetTile {
    Index tile;
    TileSize size{2, 2};  // the size that `tile` refers to, if none is set
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

LinkRows tiles_links();

// Tiles of two keys and of the smallest number of queries, doubled from two, that moves fewer bytes than
// naive attention. With R rows of tiles that is (R − 1) (d_k + d_v) < 4 n_q: see naive_cost and
// TileCover::cost, without skipped tiles.
TileSize usual_tile_size(const Record& record);

// The running numbers of a query's row after the last finished tile.
enum class RunningNumber { max_before, max, factor, sum_before, weight_sum, sum };
enum class TileOutput {
    before,
    after,
    result,      // output / sum
    naive,       // softmax of the whole row, times the values
    difference,  // result − naive
};

// The lens's own numbers.
namespace tiles_cells {
inline constexpr std::array<std::string_view, 6> running_words{"max_before", "max",      "rescaling",
                                                               "sum_before", "tile_sum", "sum"};
inline constexpr std::array<std::string_view, 5> output_words{"before", "after", "normalised", "naive",
                                                              "difference"};

inline constexpr CellKind running{"running", {CellAxis{"number", running_words}, {"query"}}};
inline constexpr CellKind weight{"weight", {CellAxis{"query"}, {"key of the tile"}}};
inline constexpr CellKind output{"output", {CellAxis{"output", output_words}, {"query"}, {"component"}}};
}  // namespace tiles_cells
CellKinds tiles_numbers();
std::optional<CellRef> packed_tiles_cell(Index row, Index col);

// The last stage before the softmax that differs from the one before it.
Stage score_stage(const AttentionSpec& spec);

class TilesLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    Guide guide(Subject& subject) const override;
    void follow(const State& before, Change how) override;

    // What is on the screen.
    struct Shown {
        std::shared_ptr<const Record> record;
        Index head = 0;
        TileGrid grid{};
        Index tile = 0;                   // within the grid
        Range queries{}, rows{}, keys{};  // in the tile; rows: the queries whose numbers are shown

        Index col() const { return grid.col(tile); }
        bool ends_row() const { return col() + 1 == grid.cols(); }
        bool operator==(const Shown&) const = default;
    };
    std::optional<Shown> shown(Subject& subject) const;
    // Kept while they match what is shown; unfinished ones continue in slices.
    TileCover& cover(const Shown& shown);
    OnlineWalk& walk(const Shown& shown);
    const NaiveRow<float>& naive(const Shown& shown, Index query);  // requires a row of a finished walk
    bool playing() const { return play_.has_value(); }
    struct View;  // lenses/tiles/view.hpp

  private:
    // One row in f32 and in double, for explanations.
    struct TwoRows {
        std::shared_ptr<const Record> record;
        Index head, query, keys_a_tile;
        OnlineRow<float> f32;
        OnlineRow<double> f64;
        NaiveRow<float> naive32;
        NaiveRow<double> naive64;
    };
    struct Play {
        std::uint64_t gesture;  // its steps share one undo step
        double next_ms;
    };
    friend CellKinds tiles_numbers();
    static const std::array<LensNumber<TilesLens>, 3> declared;
    std::optional<Explained> explain_number(Subject& subject, const LensCell& cell);
    const TwoRows& rows_of(const Shown& shown, Index query);
    void forget();
    // Use the numbers of the last finished tile, and require a finished walk.
    std::vector<Sheet> tile_sheets(Subject& subject, const Shown& now) const;
    std::vector<Sheet> output_sheets(Subject& subject, const Shown& now);
    struct Difference {
        double largest = 0;  // between the outputs of tiled and naive attention
        bool finite = true;  // all of them are finite
    };
    Difference largest_difference(const Shown& now);
    Table map_table(const Shown& now);
    Index told_query(const Shown& shown, const OnlineWalk& walk) const;
    void play(const Drawing& drawing, const Shown& shown);
    void draw_controls(const Drawing& drawing, const Shown& shown);
    void draw_steps(const Shown& shown);
    void draw_map(const View& view, float width);
    void draw_cost(const View& view, float width);
    void draw_numbers(const View& view, float width);
    void draw_rows(const View& view) const;

    std::optional<TileCover> cover_;
    std::shared_ptr<const Record> covered_;
    Index covered_head_ = 0;
    std::optional<OnlineWalk> walk_;
    Shown walked_;
    std::vector<NaiveRow<float>> naive_;
    std::optional<TwoRows> two_rows_;
    std::optional<Play> play_;
};

}  // namespace attn::app
