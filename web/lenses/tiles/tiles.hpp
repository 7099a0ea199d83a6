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

namespace attn::app::tiles {

inline constexpr Index side_limit = 128;
inline constexpr Index count_limit = 100'000;  // a head with more tiles gets larger ones
inline constexpr Index rows_shown = 8;

struct State {
    std::optional<TileSize> size = {};  // none: usual_tile_size of the head in view
    Index tile = 0;  // the last finished one, among all (analysis/theory/attention_tiles.hpp)
    bool operator==(const State&) const = default;
};

// The walk starts again.
struct SetTileSize {
    TileSize size;
    Status apply(app::State& state) const;
    std::string describe(const app::State& before) const;
};
struct SetTile {
    Index tile;
    TileSize size{2, 2};  // the size that `tile` refers to, if none is set
    Status apply(app::State& state) const;
    std::string describe(const app::State& before) const;
};

LinkRows links();

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 6> running_words{"max_before", "max",      "rescaling",
                                                               "sum_before", "tile_sum", "sum"};
inline constexpr std::array<std::string_view, 5> output_words{"before", "after", "normalised", "naive",
                                                              "difference"};

inline constexpr CellKind running{"running", {CellAxis{"number", running_words}, {"query"}}};
inline constexpr CellKind weight{"weight", {CellAxis{"query"}, {"key of the tile"}}};
inline constexpr CellKind output{"output", {CellAxis{"output", output_words}, {"query"}, {"component"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

struct CutHead {
    std::shared_ptr<const Record> record;
    Index head = 0;
    TileGrid grid{};
    bool operator==(const CutHead&) const = default;
};
// What is on the screen.
struct Shown : CutHead {
    Index tile = 0;                   // within the grid
    Range queries{}, rows{}, keys{};  // in the tile; rows: the queries whose numbers are shown

    const CutHead& cut() const { return *this; }
    Index col() const { return grid.col(tile); }
    bool ends_row() const { return col() + 1 == grid.cols(); }
    bool operator==(const Shown&) const = default;
};

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    using Key = Shown;
    void update(Visit& visit, Subject& subject);
    Key key() const { return shown; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    // Unfinished ones continue in slices.
    TileCover& cover();
    OnlineWalk& walk();  // through the rows that are shown

    Shown shown;
    TileSize asked;              // which the grid has, unless that would be too many
    std::optional<Index> query;  // the chosen one
    struct Play {
        std::uint64_t gesture;  // its steps share one undo step
        double next_ms;
    };
    std::optional<Play> play;

    struct Rows {
        CutHead of;
        Range queries;
        bool operator==(const Rows&) const = default;
    };
    Rows rows() const { return {shown.cut(), shown.rows}; }
    Derived<CutHead, TileCover> covers;
    Derived<Rows, OnlineWalk> walks;
    Derived<Rows, RowBothWays> explained_row;
};

// The automatic walk stops when the user goes elsewhere, so it is not running when they come back.
class Lens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;
    void follow(const app::State& before, Change how) override;
};

// These use the numbers of the last finished tile, and require a finished walk.
std::vector<Sheet> tile_sheets(Model& model, Subject& subject);
std::vector<Sheet> output_sheets(Model& model, Subject& subject);
Table map_table(Model& model);

void draw_model(Model& model, const Drawing& drawing, Subject& subject);
void draw_map(Model& model, const Drawing& drawing, float width);
// Shows a tile from the next update on.
void go_to(const Model& model, const Drawing& drawing, Index tile, std::uint64_t gesture);

}  // namespace attn::app::tiles
