// Lens Scale: why scores are divided by √d_k. Dot products of d components have a spread of √d, and a row of
// softmax over such scores ends up on one key, where the gradient vanishes. It shows this on seeded normal
// vectors beside the theory, and on the chosen head's own q and k: how their products vary, and its rows
// under another scale.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/sampled_products.hpp"
#include "analysis/theory/scaled_rows.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::scale {

inline constexpr Index components_limit = 4096, least_keys = 2, most_keys = 64;
inline constexpr double least_own = 1e-4, most_own = 10;

enum class Vectors { normal, head };
enum class Row { seeded, hundred, two, ninety };  // seeded q and k, or scores that a tutorial prints

struct State {
    Vectors vectors = Vectors::normal;
    Index components = 64;  // d; limited by the head's own
    std::uint32_t seed = 1;
    Row row = Row::seeded;
    Index keys = 8;     // in a seeded row
    double own = 0.25;  // the scale of the fourth rule
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// A row of scores in a tutorial, with its printed weights.
struct PrintedRow {
    std::string_view key, scores_text, tutorial;
    std::span<const double> scores;
    std::span<const std::string_view> weights;
};
const PrintedRow* printed_row(Row row);  // null: seeded

struct Preset {
    const char* title;
    State (*from)(State now);
};
std::span<const Preset> presets();

// Names for seeded vectors and given scores.
inline constexpr std::array<const char*, scale_rules> rule_names{"no scale", "1/√d_k", "1/d_k", "your own"};

// The lens's own numbers. A rule is one of four side by side, whose scales depend on what is shown.
namespace cells {
inline constexpr std::array<std::string_view, curve_measures> measure_words{"entropy", "max_weight",
                                                                            "jacobian_norm", "variance"};
inline constexpr std::array<std::string_view, scale_rules> scale_words{"unscaled", "inverse_sqrt", "inverse",
                                                                       "custom"};

inline constexpr CellKind histogram{"histogram", {CellAxis{"bin"}}};
inline constexpr CellKind weight{"weight", {CellAxis{"rule"}, {"key"}}};
inline constexpr CellKind measure{
    "measure", {CellAxis{"measure", std::span(measure_words).first<row_measures>()}, {"rule"}}};
inline constexpr CellKind curve{
    "curve",
    {CellAxis{"measure", measure_words}, {"scale", scale_words}, {"point"}}};  // ScaleCurves::points()
inline constexpr CellKind component_variance{"component_variance", {CellAxis{"component"}}};
inline constexpr CellKind cumulative_variance{"cumulative_variance", {CellAxis{"components"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

class Model {
  public:
    static std::optional<Missing> missing(Subject&) { return std::nullopt; }
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        ChosenRow row;
        State state;
        Index products, seeds;  // the numbers computed so far
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const {
        return {row, state, std::ssize(products.kept()->values()), curves.kept()->seeds_done()};
    }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    const ProductHistogram& histogram();

    State state;
    std::optional<std::string> without_vectors;  // says in one sentence why there are no q and k of the head
    ChosenRow row;                               // without a record: seeded vectors, or a tutorial's scores
    struct HeadOf {
        std::shared_ptr<const Record> record;
        HeadIndex head;
        bool operator==(const HeadOf&) const = default;
    };
    struct ProductsOf {
        HeadOf head;
        Index components = 0;
        std::uint32_t seed = 0;
        bool operator==(const ProductsOf&) const = default;
    };
    Derived<ProductsOf, DotProducts> products;
    Derived<HeadOf, ComponentVariances> variances;  // null: no head
    struct RulesOf {
        ChosenRow row;
        Row kind = Row::seeded;
        Index keys = 0, components = 0;
        std::uint32_t seed = 0;
        bool operator==(const RulesOf&) const = default;
    };
    Derived<RulesOf, RuledRows> rules;
    struct CurvesOf {
        Index keys = 0;
        std::uint32_t seed = 0;
        bool operator==(const CurvesOf&) const = default;
    };
    Derived<CurvesOf, ScaleCurves> curves;  // for seeded vectors

  private:
    Derived<std::pair<ProductsOf, Index>, ProductHistogram> histogram_;  // with the number of its values
};

std::vector<std::string> key_names(const Model& model, Subject& subject);
Sheet weights_sheet(const Model& model, Subject& subject);
Sheet measures_sheet(const Model& model);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::scale
