// Describes a matrix to screen readers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "widgets/matrix_grid.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

inline std::string label_of(std::span<const std::string> labels, Index i) {
    return i < std::ssize(labels) ? labels[static_cast<std::size_t>(i)] : std::to_string(i);
}

// Returns the matrix for screen readers, as a part of the whole grid.
std::shared_ptr<const CellGrid> told_cells(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at,
                                           std::optional<CellAt> focus);

}  // namespace attn::ui
