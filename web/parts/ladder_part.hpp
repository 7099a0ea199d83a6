// Draws one head as a ladder of matrices. Cells can be hovered over and pinned and, if the subject allows it,
// dragged, turned with the wheel and typed into.
#pragma once

#include <optional>
#include <string_view>

#include "parts/part.hpp"
#include "subjects/subject.hpp"
#include "widgets/matrix_grid.hpp"
#include "widgets/scroll.hpp"
#include "widgets/typing.hpp"

namespace attn::parts {

class LadderPart {
  public:
    // Draws these queries and keys at the cursor, across the window's width.
    void draw(const app::Drawing& drawing, app::Subject& subject, const app::Ladder& ladder, Range queries,
              Range keys);

  private:
    struct Frame;
    // A number being typed into a cell.
    struct CellTyping {
        app::RunCell cell;
        ui::Typing typing;
    };

    // A computed cell into which somebody tried to type.
    struct Refused {
        app::RunCell cell;
        ui::Typing typing;
    };

    void keyboard(const Frame& frame);
    static std::optional<app::Instead> instead_of(const Frame& frame, const app::RunCell& cell);
    void refuse(const Frame& frame, const app::RunCell& cell, bool typed);
    void offer_instead(const Frame& frame, ImVec2 at);
    void begin_typing(const app::RunCell& cell, std::string_view text);
    void typing_field(const Frame& frame, const app::Rung& rung, const ui::MatrixGrid& grid,
                      const ui::GridMetrics& metrics, ImVec2 at);
    void answer(const Frame& frame, const app::Rung& rung, const ui::GridReply& reply);

    std::optional<CellTyping> typed_;
    std::optional<app::RunCell> heard_;  // has the focus of screen readers
    std::optional<Refused> refused_;
    ui::FollowedPin<app::CellRef> followed_pin_;
};

}  // namespace attn::parts
