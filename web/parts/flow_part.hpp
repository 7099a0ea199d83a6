// Shows which words attend to which: the edges of the chosen head and of the heads kept for comparison.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maps/flows.hpp"
#include "parts/part.hpp"
#include "subjects/reading.hpp"
#include "widgets/flow_view.hpp"

namespace attn::parts {

class FlowPart {
  public:
    // Draws at the cursor, `width` points wide.
    void draw(const app::Drawing& drawing, app::Attention& attention, float width, float most_height);
    void forget() { *this = {}; }  // frees the numbers of a closed subject

  private:
    struct Frame;
    void draw_controls(const Frame& frame, float width);
    void draw_zoom(float right);
    void draw_heads(const Frame& frame);
    static std::string title(const Frame& frame);
    Result<std::string> svg(const Frame& frame);
    void act(const Frame& frame, const ui::FlowTouch& touch, std::span<const HeadIndex> heads);
    // Returns what the sentence above the picture says that the chosen query looks at.
    std::optional<ui::Look> look(const Frame& frame);
    const std::vector<std::string>& small_print(const app::Attention& attention, const app::MapChoice& map,
                                                std::uint64_t source);

    Flows flows_;
    ui::FlowView view_;
    // The edge that was hovered over in the last frame. Its words are highlighted, but the other words' edges
    // stay as they are.
    std::optional<ui::FlowTouch::Edge> pointed_edge_;
    Index cut_ = 0;
    bool picture_wanted_ = false;
    // What the flow shows; another one has another serial.
    struct Source {
        app::MapChoice map;
        std::uint64_t version = 0, serial = 0;
    } source_;
    std::uint64_t small_print_of_ = 0;
    std::vector<std::string> small_print_;
    app::RowReader reader_;
};

}  // namespace attn::parts
