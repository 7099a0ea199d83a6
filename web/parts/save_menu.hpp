// Draws the "Save" menu, which saves what a part shows as files.
#pragma once

#include "parts/all_heads.hpp"
#include "parts/part.hpp"
#include "parts/svg.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

SvgInk svg_ink();

// Every menu begins with pictures at several scales, which capture the part with the landmark.
struct SavedPicture {
    const char* menu;      // name of the menu
    const char* landmark;  // landmark of the saved part
    std::string file;      // without extension
    std::string title = {};
};

// Offers the map just drawn and all heads at that stage. Returns true if a picture is requested, for which
// the part has to be scrolled into view.
struct SavedMap {
    const ui::MapView& view;
    const ui::MapPicture& picture;
    const app::Attention& attention;
    app::MapChoice choice;
};
bool save_menu(app::Visit& visit, const SavedMap& map);

// Offers a flow; `svg` is called only for its figure.
bool save_menu(app::Visit& visit, const SavedPicture& picture,
               const std::function<Result<std::string>()>& svg);

}  // namespace attn::parts
