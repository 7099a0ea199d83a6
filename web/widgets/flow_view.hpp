// Draws the flow, which shows where each word attends: as arcs over one line of words, or as curves between
// two columns of words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "maps/flow_shape.hpp"
#include "maps/flows.hpp"
#include "widgets/scroll.hpp"
#include "widgets/token_line.hpp"

namespace attn::render {
struct FlowCurves;
}

namespace attn::ui {

struct FlowSeries {
    HeadFlow* flow;
    ImU32 colour;
    std::string name = {};  // name of its head, if there are several
};

struct FlowPicture {
    std::uint64_t version;  // changes with the names
    FlowForm form;
    float mass;  // draw the strongest edges that make up this share of each row
    std::span<const std::string> queries, keys;  // the same words in arcs
    std::span<const std::string> small_print;    // below the words of a line
    std::span<const FlowSeries> series;          // the first one is drawn on top
    std::optional<Index> query, key;  // only their edges are drawn strong; the query takes precedence
    std::optional<Index> chosen_query, chosen_key;  // outlined
    std::optional<Look>
        look;  // what the chosen query attends to most: outlined too, or named where it would be
};

struct FlowTouch {
    struct Edge {
        std::size_t series;
        FlowEdge edge;
    };
    std::optional<Index> query, key;  // the word under the cursor
    std::optional<Edge> edge;         // or the edge under the cursor
    bool clicked = false;
    bool heard = false;  // reached without the cursor
    Index cut = 0;       // number of rows in view that keep fewer edges than the share requires
};

class FlowView {
  public:
    // Draws at the cursor and advances it. If there are more words than fit, the wheel zooms after a click on
    // the flow, or with Ctrl; a drag pans, and a double click restores the words' normal size. A newly chosen
    // query is brought into view with its `look`; for that the words become smaller as far as they stay
    // readable, unless the user has zoomed.
    FlowTouch draw(const FlowPicture& picture, float width, float most_height);

    bool zooms() const { return fit_ < 1; }
    bool is_whole() const { return zoom_ <= fit_; }
    bool is_large() const { return zoom_ >= 1; }
    float zoom() const { return zoom_; }  // 1: words at their full size
    void zoom_by(float factor) {
        zoomed_ = true;
        zoom_about(factor, room_ / 2);
    }

    // The words in view in the last frame, and the width of the picture.
    Range queries_in_view() const { return queries_in_view_; }
    Range keys_in_view() const { return keys_in_view_; }
    float width() const { return width_; }

  private:
    struct Frame;
    struct Words {
        std::vector<float> places;  // the words' middles at zoom 1, in points along the line or column
        std::uint64_t serial = 0;
    };

    // What was last brought into view, and in which view.
    struct Followed {
        std::optional<Index> query, key;
        Range look{};
        float total = 0, room = 0;
        bool operator==(const Followed&) const = default;
    };

    void measure(const FlowPicture& picture);
    void follow(const FlowPicture& picture);
    // Returns the place of these words along the line or column, at zoom 1.
    Stretch stretch(const Words& words, Range range) const;
    Stretch zoomed(Stretch words) const;
    // Returns the zoom at which both are in view; 1 if too few words would have room.
    float fitting_zoom(Stretch first, Stretch second) const;
    void zoom_about(float factor, float at);
    // Returns where the column of queries ends and the column of keys begins, in a window of this width.
    std::pair<float, float> columns(float width) const;
    Frame frame(const FlowPicture& picture, float width, float height) const;
    void act(const FlowPicture& picture, const Frame& frame, FlowTouch& touch);
    static void hear_edges(std::span<const FlowTouch::Edge> told, FlowTouch& touch);
    static std::size_t count_edges(const FlowPicture& picture, const Frame& frame, FlowTouch& touch);
    void draw_edges(const FlowPicture& picture, const Frame& frame, std::size_t crowd) const;
    void draw_lines(ImDrawList* list, const Frame& frame, const render::FlowCurves& curves) const;
    void find_edge(const FlowPicture& picture, const Frame& frame, std::size_t crowd, FlowTouch& touch) const;
    void tell_edges(const FlowPicture& picture, const Frame& frame,
                    std::span<const FlowTouch::Edge> told) const;
    void draw_line(const FlowPicture& picture, const Frame& frame) const;
    void draw_column(const FlowPicture& picture, const Frame& frame, bool of_keys) const;
    std::optional<Beyond> beyond(const FlowPicture& picture, const Frame& frame) const;

    std::uint64_t version_ = 0;
    FlowForm form_ = FlowForm::arcs;
    float font_size_ = 0;
    TokenLine line_;
    float name_width_ = 0;  // used by columns
    Words queries_, keys_;
    float total_ = 0, room_ = 0;  // length along the line or column at zoom 1, and the visible length
    float zoom_ = 1, fit_ = 1, scrolled_ = 0;
    Range queries_in_view_{}, keys_in_view_{};
    float width_ = 0;
    WheelTaker wheel_;
    bool zoomed_ = false;          // the user has zoomed
    std::optional<float> scroll_;  // target for the next frame
    Followed followed_;
};

}  // namespace attn::ui
