// Names the numbers on the page. Some belong to a run: a stage of a head, with a row and a column. Others
// belong to a lens, which declares each kind of its numbers once, with the axes along which they are counted.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attention/stage.hpp"
#include "maps/sink.hpp"
#include "tensor/tensor.hpp"

namespace attn::app {

struct CellRef;

// An axis counts from 0, over these words or over whole numbers.
struct CellAxis {
    std::string_view name;
    std::span<const std::string_view> words = {};
    bool holds(Index at) const { return at >= 0 && (words.empty() || at < std::ssize(words)); }
};

// Describes a kind of number of one lens. It is a constant identified by its address, so it is never copied.
// kind(a, b) is the cell at these indices.
struct CellKind {
    std::string_view name;  // in links, after the lens's key: "weight"
    std::array<CellAxis, 3> axes = {};
    struct Identity {
        Identity() = default;
        Identity(const Identity&) = delete;
    };
    [[no_unique_address]] Identity identity = {};

    constexpr std::size_t rank() const {
        std::size_t count = 0;
        while (count < axes.size() && !axes[count].name.empty()) ++count;
        return count;
    }
    template <class... At>
    constexpr CellRef operator()(At... at) const;
};
using CellKinds = std::span<const CellKind* const>;

struct LensCell {
    const CellKind* kind = nullptr;  // null: not a lens's number
    std::array<Index, 3> at = {};
    bool operator==(const LensCell&) const = default;
    bool is_within() const {
        for (std::size_t i = 0; i < at.size(); ++i)
            if (i < kind->rank() ? !kind->axes[i].holds(at[i]) : at[i] != 0) return false;
        return true;
    }
};

// A number of the chosen layer and head (attention/stage.hpp says what its row and column are), or of the
// open lens.
struct CellRef {
    Stage stage = Stage::weight;
    Index row = 0;
    Index col = 0;
    bool second = false;      // the cell belongs to the text, run or head that the subject is compared with
    bool words = false;       // row and column count words, not tokens
    Sink sink = Sink::shown;  // applies to weights and contributions
    LensCell own = {};        // used with Stage::lens
    bool operator==(const CellRef&) const = default;
    bool is(const CellKind& kind) const { return own.kind == &kind; }
};

template <class... At>
constexpr CellRef CellKind::operator()(At... at) const {
    static_assert(sizeof...(At) <= 3);
    return {.stage = Stage::lens, .own = {this, {static_cast<Index>(at)...}}};
}

// Writes a cell as links spell it: "weight.0.1", "weight.0.1.second", "weight.0.1.words",
// "weight.0.1.nosink", or, with the key of its lens, "softmax.weight.sparsemax.3".
std::string write_cell(const CellRef& cell);
// Reads a cell. `lens` is the key of the open lens, because older links do not name a lens's numbers:
// "number.12.3".
std::optional<CellRef> read_cell(std::string_view text, std::string_view lens);

}  // namespace attn::app
