// Names the numbers on the page. A cell is a number of a run (a stage of a head, with a row and a column), a
// sum over a map, or a number of a lens, which declares each kind of its numbers once, with the axes along
// which they are counted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "attention/stage.hpp"
#include "maps/sink.hpp"
#include "tensor/tensor.hpp"
#include "text/units.hpp"

namespace attn::app {

struct CellRef;
class State;

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

// Heads whose weights a map shows: the chosen one, or the mean over those of its layer or of all layers with
// the same queries and keys.
enum class HeadMean : std::uint8_t { one, layer, all };

// A number of the chosen layer and head; attention/stage.hpp says what its row and column are.
struct RunCell {
    Stage stage = Stage::weight;
    Index row = 0;
    Index col = 0;
    bool second = false;            // belongs to the text, run or head that the subject is compared with
    Unit unit = Unit::tokens;       // what row and column count
    Sink sink = Sink::shown;        // applies to weights and contributions
    HeadMean mean = HeadMean::one;  // applies to weights
    bool operator==(const RunCell&) const = default;
    // Says whether it is made of several weights: of larger units, or of several heads.
    bool is_merged() const { return unit != Unit::tokens || mean != HeadMean::one; }
    // Says whether it is a number of the first run and of one head, between tokens, over all keys.
    bool is_plain() const { return !second && !is_merged() && sink == Sink::shown; }
};

// A sum over the map of a stage of pairs: of a row, of a column, or of the part that is marked.
enum class MapTotal : std::uint8_t {
    row_entropy,  // −Σ w ln w of a row of weights
    row_total,
    column_total,
    marked_total,
};
struct MapSum {
    MapTotal total = MapTotal::row_total;
    Index at = 0;  // the row or column; 0 for marked_total
    Stage of = Stage::weight;
    bool second = false;  // this and the following are those of RunCell
    Unit unit = Unit::tokens;
    Sink sink = Sink::shown;
    HeadMean mean = HeadMean::one;
    bool operator==(const MapSum&) const = default;
    bool is_of_row() const { return total == MapTotal::row_entropy || total == MapTotal::row_total; }
    bool is_of_column() const { return total == MapTotal::column_total; }
};

// A number of the lens that declares its kind.
struct LensCell {
    const CellKind* kind;
    std::array<Index, 3> at = {};
    bool operator==(const LensCell&) const = default;
    bool is_within() const {
        for (std::size_t i = 0; i < at.size(); ++i)
            if (i < kind->rank() ? !kind->axes[i].holds(at[i]) : at[i] != 0) return false;
        return true;
    }
};

struct CellRef : std::variant<RunCell, MapSum, LensCell> {
    using variant::variant;
    // A cell of one sort can be compared with any cell.
    friend constexpr bool operator==(const CellRef& a, const CellRef& b) {
        return static_cast<const variant&>(a) == static_cast<const variant&>(b);
    }
    // Each returns null for a cell of another sort.
    const RunCell* run() const { return std::get_if<RunCell>(this); }
    const MapSum* sum() const { return std::get_if<MapSum>(this); }
    const LensCell* own() const { return std::get_if<LensCell>(this); }
    bool is(const CellKind& kind) const { return own() && own()->kind == &kind; }
    bool is(Stage stage) const { return run() && run()->stage == stage; }
    // Says whether a cell belongs to what the subject is compared with.
    bool second() const { return run() ? run()->second : sum() && sum()->second; }
    Unit unit() const { return run() ? run()->unit : sum() ? sum()->unit : Unit::tokens; }
    HeadMean mean() const { return run() ? run()->mean : sum() ? sum()->mean : HeadMean::one; }
};

template <class... At>
constexpr CellRef CellKind::operator()(At... at) const {
    static_assert(sizeof...(At) <= 3);
    return LensCell{this, {static_cast<Index>(at)...}};
}

// Writes a cell as links spell it: "weight.0.1", "weight.0.1.second", "weight.0.1.words",
// "weight.0.1.nosink", "weight.0.1.layer_mean", or, with the key of its lens, "softmax.weight.sparsemax.3".
std::string write_cell(const CellRef& cell);
// Reads a cell. Older links do not name a lens's numbers ("number.12.3"): the open lens of `state` does.
std::optional<CellRef> read_cell(std::string_view text, const State& state);

}  // namespace attn::app
