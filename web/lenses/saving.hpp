// "Save": what a part of a lens shows, as files.
#pragma once

#include "app/all_heads.hpp"
#include "app/svg.hpp"
#include "lenses/sentence_view.hpp"
#include "widgets/map_view.hpp"

namespace attn::lenses {

app::Colour rgb(ImU32 colour);
app::SvgInk svg_ink();

// The scales of pictures that every menu begins with; pictures take the landmark.
struct SavedPicture {
    const char* menu;      // its name
    const char* landmark;  // of what is saved
    std::string file;      // without its ending
};

// A map that has just been drawn; `all_heads` gives all of its kind, once they are to be saved.
// True where a picture is wanted: what it shows has to be scrolled into view.
struct SavedMap {
    const ui::MapView& view;
    const ui::MapPicture& picture;
    app::MapStage stage;
    bool of_words;
    std::function<app::AllHeads()> all_heads;
};
bool save_menu(app::Session& session, const SavedMap& map);

// A flow; `svg` gives what is drawn, once it is asked for.
bool save_menu(app::Session& session, const SavedPicture& picture,
               const std::function<Result<std::string>()>& svg);

}  // namespace attn::lenses
