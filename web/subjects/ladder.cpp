#include "subjects/ladder.hpp"

#include <algorithm>

#include "app/format.hpp"

namespace attn::app {

Result<Command> set_as_typed(const LadderEdits& edits, const CellRef& cell, const std::string& text) {
    // The keypads of many phones have a comma instead of the point.
    std::string number = text;
    std::ranges::replace(number, ',', '.');
    if (const auto value = read_number(number)) return edits.set(cell, *value);
    return Error{"'" + text + "' is not a number; the cell keeps its value."};
}

}  // namespace attn::app
