// Shows one head as a ladder of matrices: inputs, scores, weights, output. Some can be edited.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/matrix.hpp"

namespace attn::app {

// A matrix of the ladder. Its cells are those of CellRef, starting at first_row and first_col.
struct Rung {
    Stage stage = Stage::weight;
    std::string title, notation;  // "Scaled  ÷ √4", "S[i, j] = R[i, j] / √d_k"
    const char* sign = "";        // between the previous matrix and this one
    Matrix values;
    Matrix before = {};  // before the last edit; empty if the shape was different
    Index first_row = 0, first_col = 0;
    std::vector<std::string> row_labels = {}, column_labels = {};  // may be fewer than rows and columns
    const char* row_axis = "";
    const char* column_axis = "";
    int decimals = 2;
    std::function<bool(Index row, Index col)> allowed = {};     // by the mask; none: every cell
    std::function<bool(Index row, Index col)> misprinted = {};  // by a tutorial; none: nowhere
};

// Returns what is written under the title of a matrix, with indices in brackets: "O[i, c] = A[i, j] V[j, c]".
// `scores` are the scores, after scaling and so on, that it follows from. Empty where subjects differ.
std::string notation_of(Stage stage, Stage scores);

// What can be changed instead of a computed cell.
struct Instead {
    std::string why;    // "Q is computed from X · W_Q."
    std::string label;  // of the button: "Change Q, K and V instead"
    Command command;    // one step of undo; after it, `cell` can be edited
    CellRef cell;
};

// The edits that a ladder allows; each returns the command that makes it, or none.
struct LadderEdits {
    bool (*may_edit)(const State&, Stage) = nullptr;
    double (*value)(const State&, const CellRef& cell) = nullptr;  // of an editable cell, as typed
    Command (*set)(const CellRef& cell, double value) = nullptr;
    std::optional<Command> (*reset)(const State&, const CellRef& cell) = nullptr;
    std::optional<Command> (*paint)(const State&, const CellRef& cell) = nullptr;    // paints the mask
    std::optional<Instead> (*instead)(const State&, const CellRef& cell) = nullptr;  // of a computed cell
};

// Returns the command that sets the cell to a number as somebody types it, with a point or a comma, or one
// sentence that says why the text is none.
Result<Command> set_as_typed(const LadderEdits& edits, const CellRef& cell, const std::string& text);

class Ladder {
  public:
    virtual ~Ladder() = default;
    // Returns the matrices of these queries and keys in rows, from top to bottom.
    virtual std::vector<std::vector<Rung>> rungs(Range queries, Range keys) const = 0;
    virtual Index queries() const = 0;
    virtual Index keys() const = 0;
    virtual std::string query_name(Index query) const = 0;
    virtual std::string key_name(Index key) const = 0;
    virtual float weight(Index query, Index key) const = 0;
    virtual const LadderEdits* edits() const { return nullptr; }
    // Returns a remark about the cell under the cursor; empty if there is none.
    virtual std::string remark(const CellRef&) const { return ""; }
};

}  // namespace attn::app
