// Implements the palette that Ctrl+K opens, which finds subjects, lenses, examples, commands, settings, heads
// and tokens by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/visit.hpp"
#include "widgets/typing.hpp"

namespace attn::app {

struct PaletteEntry {
    std::string label;      // "layer 3 · head 2"
    std::string_view kind;  // "head"
    std::function<void(Visit&)> act;
};

// Returns everything that can be found now.
std::vector<PaletteEntry> palette_entries(Visit& visit);
// Returns the entries that contain every word of the text, best first, at most `most`.
std::vector<PaletteEntry> found_in(std::vector<PaletteEntry> entries, std::string_view text,
                                   std::size_t most);

class Palette {
  public:
    void open() { opens_ = true; }
    void draw(Visit& visit);

  private:
    void close();

    bool opens_ = false, open_ = false;
    ui::Typing typing_;
    std::string searched_;
    std::vector<PaletteEntry> found_;
    std::size_t at_ = 0;
};

}  // namespace attn::app
