// Declares what the files that draw lens Masks share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lenses/masks/masks.hpp"
#include "parts/part.hpp"
#include "widgets/map_view.hpp"

namespace attn::app::masks {

// What a person's hand has begun, and how the picture of the mask is zoomed.
struct ViewMemory {
    ui::MapView view;
    parts::MapClicks clicks;
    // A stroke in progress: once it has ended, all its cells get the state of the first.
    struct Stroke {
        bool allowed = false;
        CellRegion cells = {};
        std::vector<MapWindow> squares = {};
    };
    std::optional<Stroke> stroke = {};
    Join joins = Join::all;  // how the next term is added
    // The typed text, and the mask that it stands for, or last stood for while it was valid.
    std::string text = {}, fault = {};
    std::optional<Mask> typed = {};  // nothing: the text was not set yet
};

void set_mask(const Model& model, const Drawing& drawing, Mask mask, std::uint64_t gesture = 0);
void draw_terms(Model& model, const Drawing& drawing);
void draw_map(Model& model, const Drawing& drawing, float width);
void draw_counts(Model& model, const Drawing& drawing, float width);
void draw_empty_rows(Model& model, const Drawing& drawing, float width);
void draw_losses(const Model& model, const Drawing& drawing, float width);
void draw_predictions(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::masks
