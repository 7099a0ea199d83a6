// Shows a map of any size like a street map, with names on both axes. After a click, or with Ctrl, the wheel
// zooms; so do two fingers. A drag pans, and a double click shows the whole map. With Shift, or while
// brushing is on, a drag marks a rectangle, whose sums are then computed. While painting is on, a drag
// paints.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "app/clock.hpp"
#include "app/looks.hpp"
#include "maps/tiles.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/map_margins.hpp"
#include "widgets/scroll.hpp"

namespace attn::ui {

struct MapCell {
    Index query, key;
    bool operator==(const MapCell&) const = default;
};

// What to draw in this frame.
struct MapPicture {
    std::string name;  // landmarks are "map" and "map/<query>/<key>"
    MapPointer map{};
    bool being_measured = false;  // see MapTiles::show; the cells mean nothing yet
    Index kept = 0;               // see MapTiles::show; number of queries unchanged from the previous map
    std::span<const std::string> query_names{}, key_names{};  // one per row and column of the map
    app::MapChoice choice{};
    const char* title = "";      // what the values are
    const char* rows = "query";  // what rows and columns are
    const char* columns = "key";
    float high = 0;                       // end of the colour scale; 0: the largest magnitude on the map
    int decimals = 2;                     // decimals of numbers in cells
    std::optional<Index> query{}, key{};  // the marked row and column
    std::optional<MapCell> pointed{}, pinned{};
    std::optional<MarginCell> pinned_margin{};
    std::span<const MapWindow> painted{};  // cells of a stroke that are not yet on the map
    float painted_as = 0;                  // the value that they will have
};

// The movement of a stroke since the last frame, from one cell to another.
struct MapStroke {
    MapCell from, to;
    bool begins = false;
};

struct MapTouch {
    std::optional<MapCell> over;  // the cell under the cursor
    bool clicked = false;         // may be the first half of a double click
    bool double_clicked = false;
    std::optional<MapStroke> stroke{};
    bool stroke_ended = false;
    MarginTouch margin;  // hover or click on the margins
    bool more = false;   // more to compute: see MapView::step
    bool moved = false;  // the user has moved the map, directly or by a control
    bool reset = false;  // a new text is shown, whole
};

// Sums over a rectangle.
struct BrushSums {
    double cells = 0, sum = 0;  // over cells that are not masked
    float strongest = masked_cell;
    bool complete = false;
};

class MapView {
  public:
    // Draws at the cursor and advances it. If cells are at least that large, the parts of a name are kept.
    MapTouch draw(const MapPicture& picture, float width, float most_height, const app::Deadline& deadline);

    // Does a slice of the work that the last frame requested; true while there is more to do.
    bool step() { return tiles_.step() || step_sums(); }
    bool working() const { return tiles_.working() || brush_job_; }

    const MapTiles& tiles() const { return tiles_; }
    bool pooled() const { return pooled_; }  // cells share texels, at least when the whole map is in view
    bool zoomed() const { return zoom_ > 1; }
    // Returns what the last frame showed under the landmark "<name>/picture".
    const MapWindow& in_view() const { return in_view_; }
    const app::MapExtent& view() const { return view_; }  // the exact view
    const ColourScale& scale() const { return scale_; }
    // Returns the side, a power of two, of squares of cells that are large enough to hover over.
    Index brush_side() const { return brush_side_; }

    // Take effect in the next frame.
    void zoom_by(float factor) { zoom_factor_ *= factor; }
    void show(const app::MapExtent& view) { wanted_ = view; }
    void show(Range queries, Range keys) { show(app::MapExtent::of(queries, keys)); }
    void show_all() { zoom_factor_ = 0; }

    bool brushing = false;      // a drag marks a rectangle
    bool painting = false;      // a drag is a stroke
    bool colours_open = false;  // the colour controls are shown
    // A rectangle that extends beyond the map is ignored.
    const std::optional<MapWindow>& brushed() const { return brushed_; }
    void brush(const MapWindow& window);
    void forget_brush();
    void forget_map();  // frees the map, which is otherwise kept until another is drawn
    const BrushSums& brush_sums() const { return sums_; }

  private:
    struct Plot;
    struct Layout;
    bool take(const MapPicture& picture, MapTouch& touch);
    Layout lay_out(const MapPicture& picture, float width, float most_height) const;
    ColourScale scale_of(const MapPicture& picture);
    void place(Plot& plot, float fit);
    void paint(const Plot& plot, MapTouch& touch);
    void act(Plot& plot, const MapPicture& picture, float fit, MapTouch& touch);
    void keep_inside(const Plot& plot);
    void zoom(Plot& plot, float fit, float factor, ImVec2 around);
    Index look_at(const Plot& plot);  // returns the level shown
    void draw_cells(const Plot& plot, const MapPicture& picture, Index level);
    void draw_numbers(const Plot& plot, const MapPicture& picture);
    void draw_marks(const Plot& plot, const MapPicture& picture);
    void follow_pin(const Plot& plot, const MapPicture& picture);
    void draw_bar(const Plot& plot, const MapPicture& picture, float y, float right);
    MarginTouch draw_margins(const Plot& plot, const MapPicture& picture);
    // Answers requests from the page's accessible elements.
    void hear(Plot& plot, const MapPicture& picture, MapTouch& touch);
    void start_sums();
    bool step_sums();

    MapTiles tiles_;
    // The user's position on the map, and what they have marked. This is not part of the State, just as a
    // page's scroll position is not.
    Index queries_ = 0, keys_ = 0;
    float longest_query_ = 0, longest_key_ = 0;  // lengths over all names of the shown map
    float zoom_ = 1;                             // 1: the whole map
    float first_query_ = 0, first_key_ = 0;      // the cell in the upper left corner
    float zoom_factor_ = 1;
    WheelTaker wheel_;
    std::optional<app::MapExtent> wanted_;
    app::MapExtent view_;
    ImVec2 size_{};  // size of the picture, in points
    bool moved_ = false;
    bool pooled_ = false;
    MapCell pressed_{};               // where the button was pressed
    std::optional<MapCell> stroked_;  // the last cell of the current stroke
    bool stroking_ = false;
    Index brush_side_ = 1;
    std::optional<bool> marks_;  // whether the current drag marks a rectangle; known once it is a drag
    MapWindow in_view_;
    ColourScale scale_;
    std::optional<MapWindow> brushed_;
    std::optional<BlockJob> brush_job_;
    MapPointer brush_of_;
    BrushSums sums_;
    FollowedPin<MapCell> followed_pin_;
    std::optional<MapCell> heard_;  // the cell that has the focus of the page's accessible elements
};

}  // namespace attn::ui
