// Lens Properties checks what attention must have on the numbers of the run: rows that sum to 1, masked keys
// that are never read, bits that repeat, and more, each with its largest error, the bound on it and the cell
// (analysis/properties/property.hpp). Three experiments stand beside them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/properties/properties.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"

namespace attn::app::properties {

enum class Scope : std::uint8_t { head, layer, all };  // which heads are checked

inline constexpr std::array<std::string_view, property_count> property_words{
    "rows", "masked", "hull",     "permutation", "shift",    "heads",
    "past", "bits",   "rounding", "lengths",     "parallel", "positions"};

struct State {
    Property shown = Property::rounding;  // whose errors are drawn
    Scope scope = Scope::head;
    double constant = 10;    // added to the scores
    std::uint32_t seed = 1;  // draws the order of the tokens
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers. Queries and heads are those of the run, and a layer is the number of an attention.
namespace cells {
inline constexpr CellAxis property_axis{"property", property_words};
inline constexpr CellKind error{"error", {property_axis}};
inline constexpr CellKind bound{"bound", {property_axis}};
inline constexpr CellKind count{"count", {property_axis}};
inline constexpr CellKind query{"query", {property_axis, {"query"}}};          // its worst error
inline constexpr CellKind limit{"limit", {property_axis, {"query"}}};          // the bound on that
inline constexpr CellKind head{"head", {property_axis, {"layer"}, {"head"}}};  // its worst error
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "Queries stay tokens: what must hold is said about the rows of single tokens.";
    }
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    // What is checked.
    struct Of {
        std::uint64_t version = 0;
        HeadIndex head;
        Scope scope = Scope::head;
        Index ready = 0;  // layers whose numbers are there
        bool operator==(const Of&) const = default;
    };
    struct Key {
        Of of;
        CheckOptions options;
        std::int64_t cells = 0;  // checked so far
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step() { return checks && checks->step(); }  // true while there is more to do
    const PropertyResult& result(Property property) const { return checks->result(property); }
    bool is_done() const;

    State state;
    Of of;
    std::optional<PropertyChecks> checks;  // none while the attention is computed
};

const char* name_of(Property property);        // "Masked keys are never read"
const char* brief_name_of(Property property);  // "masked keys", which fits beside a row
const char* way_of(Property property);         // how it is checked
const char* reason_of(Lacking lacking);        // why it cannot be checked, as the rest of a sentence
// "“It” on “the”", "component 3 of “It”".
std::string place_name(Subject& subject, Property property, const CheckedCell& cell);
// The number of the run that a check compared.
CellPlace place_of(Subject& subject, Property property, const CheckedCell& cell);

// The properties, or the experiments.
Sheet properties_sheet(const Model& model, Subject& subject, bool of_experiments);
Sheet heads_sheet(const Model& model, Subject& subject);
// What is not checked, and why; empty if everything is.
std::string unchecked(const Model& model);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::properties
