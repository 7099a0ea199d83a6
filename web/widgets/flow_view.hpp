// The flow: who looks where, as arcs over one line of words or as curves between two columns of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/flow_shape.hpp"
#include "app/flows.hpp"
#include "widgets/token_line.hpp"

namespace attn::ui {

struct FlowSeries {
    app::HeadFlow* flow;
    ImU32 colour;
};

struct FlowPicture {
    std::uint64_t version;  // of the names: others have another number
    app::FlowForm form;
    float mass;                                     // edges that make up this share of each row are drawn
    std::span<const std::string> queries, keys;     // names; in arcs they are the same words
    std::span<const std::string> small_print;       // below the words of a line
    std::span<const FlowSeries> series;             // the first one lies on top
    std::optional<Index> query, key;                // whose edges alone are strong; the query before the key
    std::optional<Index> chosen_query, chosen_key;  // outlined
};

struct FlowTouch {
    struct Edge {
        std::size_t series;
        FlowEdge edge;
    };
    std::optional<Index> query, key;  // the word under the cursor
    std::optional<Edge> edge;         // or the edge
    bool clicked = false;
    Index cut = 0;  // rows in view of which fewer edges are kept than make up the share
};

class FlowView {
  public:
    // Draws at the cursor and advances it. Where there are more words than fit the wheel zooms and a drag pans; a double click
    // shows them at their size again.
    FlowTouch draw(const FlowPicture& picture, float width, float most_height);

    bool zooms() const { return fit_ < 1; }
    bool is_whole() const { return zoom_ <= fit_; }
    bool is_large() const { return zoom_ >= 1; }
    void zoom_by(float factor) { zoom_about(factor, room_ / 2); }

  private:
    struct Frame;
    struct Words {
        std::vector<float> places;  // of their middles at zoom 1, in points along the line or column
        std::uint64_t serial = 0;
    };

    void measure(const FlowPicture& picture);
    void zoom_about(float factor, float at);
    // Where the columns of queries and keys end and begin, in a window so wide.
    std::pair<float, float> columns(float width) const;
    Frame frame(const FlowPicture& picture, float width, float height) const;
    void act(const Frame& frame, FlowTouch& touch);
    void draw_edges(const FlowPicture& picture, const Frame& frame, FlowTouch& touch) const;
    void draw_line(const FlowPicture& picture, const Frame& frame) const;
    void draw_column(const FlowPicture& picture, const Frame& frame, bool of_keys) const;

    std::uint64_t version_ = 0;
    app::FlowForm form_ = app::FlowForm::arcs;
    float font_size_ = 0;
    TokenLine line_;
    float name_width_ = 0;  // of a column
    Words queries_, keys_;
    float total_ = 0, room_ = 0;  // along the line or column, at zoom 1; to be seen at once
    float zoom_ = 1, fit_ = 1, scrolled_ = 0;
    std::optional<float> scroll_;    // to, in the next frame
    std::optional<Index> followed_;  // the chosen word that was last scrolled to
};

}  // namespace attn::ui
