// Draws what a map's rows and columns count, the heads that it is about, and the names of spans.
#pragma once

#include <optional>
#include <string>

#include "parts/part.hpp"
#include "runs/attention.hpp"

namespace attn::parts {

class UnitControls {
  public:
    // Draws the choices in the row of the map's controls, and below it the spans where these are chosen.
    // Returns a changed choice.
    std::optional<app::MapChoice> draw(const app::Drawing& drawing, const app::Attention& attention,
                                       const app::MapChoice& choice);

  private:
    void draw_spans(const app::Drawing& drawing, const app::Attention& attention,
                    const app::MapChoice& choice);
    void draw_naming(const app::Drawing& drawing, const app::Attention& attention,
                     const app::MapChoice& choice);
    void draw_tokens(const TextUnits& text);

    // The span that is about to be named.
    bool naming_ = false;
    std::optional<Index> first_, last_;
    bool of_queries_ = false;  // where they are another text
    std::string name_;
};

}  // namespace attn::parts
