// Shows one head as a ladder of matrices: inputs, scores, weights, output. Some can be edited.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/matrix.hpp"

namespace attn::app {

// A matrix of the ladder. Its cells are those of RunCell, starting at first_row and first_col.
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
    // Whether the mask allows the cell; none: all cells.
    std::function<bool(Index row, Index col)> allowed = {};
    // Whether a tutorial misprints the cell; none: no cell.
    std::function<bool(Index row, Index col)> misprinted = {};
};

// Returns the formula under a matrix's title, with indices in brackets: "O[i, c] = A[i, j] V[j, c]". `scores`
// is the stage of the scores that feed the matrix, after scaling and so on. Empty where subjects differ.
std::string notation_of(Stage stage, Stage scores);

// Offers an input that can be changed instead of a computed cell.
struct Instead {
    std::string why;    // "Q is computed from X · W_Q."
    std::string label;  // label of the button: "Change Q, K and V instead"
    Command command;    // one undo step; after it, `cell` can be edited
    RunCell cell;
};

// The edits that a ladder allows; each returns its command, or none.
struct LadderEdits {
    bool (*may_edit)(const State&, Stage) = nullptr;
    // Returns an editable cell's value as typed.
    double (*value)(const State&, const RunCell& cell) = nullptr;
    Command (*set)(const RunCell& cell, double value) = nullptr;
    std::optional<Command> (*reset)(const State&, const RunCell& cell) = nullptr;
    std::optional<Command> (*paint)(const State&, const RunCell& cell) = nullptr;  // paints the mask
    // Returns the alternative to a computed cell.
    std::optional<Instead> (*instead)(const State&, const RunCell& cell) = nullptr;
};

// Returns the command that sets the cell to a typed number, with a point or a comma, or one sentence that
// says why the text is not a number.
Result<Command> set_as_typed(const LadderEdits& edits, const RunCell& cell, const std::string& text);

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
    virtual std::string remark(const RunCell&) const { return ""; }
};

}  // namespace attn::app
