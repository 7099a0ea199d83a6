// A lens: one way of looking. It reads the Session, draws into the current ImGui window, and emits Commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/session.hpp"

namespace attn::lenses {

// What the cursor is over in this frame, shared by the lens, the inspector and the status line. Not State:
// it is gone with the cursor.
struct Hover {
    std::optional<app::CellRef> cell;
    // In lens Sentence: the head under the cursor, where it is not the chosen one.
    std::optional<Index> layer, head;
};

inline constexpr double frame_ms = 2;  // that a lens computes in a frame

// “big”, as people would quote it.
std::string quoted(const std::string& piece);

void worked_example(app::Session& session, Hover& hover);
void sentence(app::Session& session, Hover& hover);
void training(app::Session& session, Hover& hover);
void tensors(app::Session& session, Hover& hover);

}  // namespace attn::lenses
