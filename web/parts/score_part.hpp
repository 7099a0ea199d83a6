// Shows why one token attends to another: the query's q, the key's k, their product, and the steps to the
// weight.
#pragma once

#include <optional>

#include "parts/part.hpp"

namespace attn::parts {

class ScorePart {
  public:
    // Draws at the cursor, `width` points wide; draws nothing if there are no vectors.
    void draw(const app::Drawing& drawing, app::Attention& attention, float width);

  private:
    struct Scored;
    struct Strips;
    static Strips strips_of(const Scored& view, Index query, Index key);
    void draw_strips(const Scored& view, const Strips& v, float width, Index query, Index key);
    void draw_steps(const Scored& view, float width, Index query, Index key);

    std::optional<Index> lit_;  // the component under the cursor in the last frame
};

}  // namespace attn::parts
