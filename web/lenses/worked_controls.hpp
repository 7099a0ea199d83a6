// What can be set in lens Worked example besides the cells: example, source, sizes, scale, mask.
#pragma once

#include <optional>

#include "app/session.hpp"

namespace attn::lenses {

void worked_controls(app::Session& session);

// The menu of a row's or column's name: rename, remove.
void open_label_menu(app::Session& session, app::MatrixId matrix, std::optional<Index> row,
                     std::optional<Index> column);
void label_menu(app::Session& session);

}  // namespace attn::lenses
