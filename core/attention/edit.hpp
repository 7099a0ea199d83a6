// What is done to some numbers of a run, and to the scores and weights of one attention.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

class Record;

enum class Operation {
    zero,
    scale,
    add,
    set,
    mean,  // over the vectors of all tokens; for scores and weights, over the keys that their query sees
    mean_of_texts,  // over other runs
    patch,          // another run's
};

struct Edit {
    std::optional<Index> head{};   // none: all
    std::vector<Index> rows{};     // ascending; empty: all, those of tokens that come later too
    std::vector<Index> columns{};  // likewise: components of a vector, or keys
    Operation operation = Operation::zero;
    // The factor; or what is added or set: one number, one for each column, or one for each row and column.
    std::vector<float> values{};
    std::vector<Index> from_rows{};  // in a patch, the other run's row for each row; empty: the same
    bool operator==(const Edit&) const = default;

    bool touches(Index of_head, Index row) const;
};

// What an edit makes of numbers [heads, rows, columns] whose first row is that one. Means and patches have to
// be values.
void change(const Edit& edit, HeadsView<float> numbers, Index first_row);
// The same of one number in double; none: the edit does not touch it.
std::optional<double> changed(const Edit& edit, double computed, Index head, Index row, Index column);
// How fast what is left of that number grows with it: 1 where the edit does not touch it, 0 where it becomes
// another.
float slope_of(const Edit& edit, Index head, Index row, Index column);
// Makes of the gradient by what the edit left of numbers that by the numbers themselves.
void change_back(const Edit& edit, HeadsView<float> gradient, Index first_row);

// Scores are changed as they are scaled, capped and with their bias, before the mask and the softmax. Weights
// are changed behind the softmax, as a hook on them does: their sum may then be another than 1, and a key
// that the query does not see keeps its 0.
struct CellEdit {
    enum class Of { score, weight };
    Of of = Of::weight;
    Edit edit;
    std::vector<std::shared_ptr<const Record>> from{};  // used by mean_of_texts and patch
    bool operator==(const CellEdit&) const = default;
};
using CellEdits = std::vector<CellEdit>;

bool touches(const CellEdits& edits, CellEdit::Of of, Index head, Index query);
// Whether a number in the row follows from all the others, so that it has to be changed as a whole.
bool needs_whole_row(const CellEdits& edits, Index head, Index query);
// Changes the scores or the weights of a part of a row, in place. `seen` says of each key whether the query
// sees it.
void change_cells(const CellEdits& edits, CellEdit::Of of, Index head, Index query, Index first_key,
                  std::span<float> row, std::span<const std::uint8_t> seen);
void change_cells(const CellEdits& edits, CellEdit::Of of, Index head, Index query, Index first_key,
                  std::span<double> row, std::span<const std::uint8_t> seen);
// Makes of the gradient by what all edits left of a whole row that by its scores or weights themselves.
// Numbers of other runs are constants.
void change_cells_back(const CellEdits& edits, CellEdit::Of of, Index head, Index query,
                       std::span<float> gradient, std::span<const std::uint8_t> seen);
void change_cells_back(const CellEdits& edits, CellEdit::Of of, Index head, Index query,
                       std::span<double> gradient, std::span<const std::uint8_t> seen);

}  // namespace attn
