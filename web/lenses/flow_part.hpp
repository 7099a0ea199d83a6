// Who looks where, as a part of a lens: the chosen head's edges, and beside them those of the heads that are kept to compare
// with.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/clock.hpp"
#include "app/flows.hpp"
#include "app/word_axis.hpp"
#include "lenses/lens.hpp"
#include "widgets/flow_view.hpp"

namespace attn::lenses {

// What a lens keeps of it from frame to frame, at one place in memory.
struct FlowMemory {
    app::Flows flows;
    ui::FlowView view;
    // Of the last frame: an edge that is pointed at lights its words, but leaves the others' edges as they are.
    std::optional<ui::FlowTouch::Edge> pointed_edge;
    Index cut = 0;
    bool picture_wanted = false;
};

struct FlowPart {
    app::Session& session;
    Hover& hover;
    const app::Deadline& deadline;
    FlowMemory& memory;

    std::uint64_t source;  // of maps and names: others have another number
    Index layers, heads;   // heads of a layer
    std::function<MapPointer(HeadIndex)> weights;
    app::ShownAxis queries, keys;              // tokens or words, both sides the same
    std::span<const std::string> small_print;  // below the words of a line
    bool one_line;                             // queries and keys are the same words: there may be arcs

    app::FlowChoice choice;
    void (*choose)(app::Session&, app::FlowChoice, std::uint64_t gesture);
    // Tokens, in the frame before, anywhere on the lens.
    std::optional<Index> pointed_query, pointed_key;
    std::function<void(std::optional<Index> query, std::optional<Index> key)> point;

    HeadIndex chosen() const {
        const app::Selection& s = session.state().selection;
        return {s.layer, s.head};
    }
};

// Draws itself at the cursor, `width` points wide.
void draw_flow(FlowPart& part, float width, float most_height);

}  // namespace attn::lenses
