// "Save": what a part of a lens shows, as files.
#pragma once

#include "app/svg.hpp"
#include "lenses/sentence_view.hpp"

namespace attn::lenses {

app::Colour rgb(ImU32 colour);
app::SvgInk svg_ink();

// The scales of pictures that every menu begins with; pictures take the landmark.
struct SavedPicture {
    const char* menu;      // its name
    const char* landmark;  // of what is saved
    std::string file;      // without its ending
};

// A map's window in view.
struct SavedMap {
    SavedPicture picture;
    MapPointer map;
    std::span<const std::string> names;  // of its queries, which are its keys
    Range queries, keys;
    app::MapChoice choice;
    ui::ColourScale scale;
    std::string title;
};
// True where a picture is wanted: what it shows has to be scrolled into view.
bool save_menu(SentenceView& view, const SavedMap& map);

// A flow; `svg` gives what is drawn, once it is asked for.
bool save_menu(SentenceView& view, const SavedPicture& picture,
               const std::function<Result<std::string>()>& svg);

}  // namespace attn::lenses
