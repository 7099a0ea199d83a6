// Lens Softmax: one row of scores as a Gibbs distribution, with its temperature as a dial, beside maps that
// were proposed to replace softmax; and how many of its visible keys each head uses.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/effective_keys.hpp"
#include "analysis/theory/softmax_row.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::softmax {

enum class Shown { weights, outputs };  // what to show of the row through all maps

struct State {
    double temperature = 1;  // 0 … ∞, relative to the head's own
    Shown shown = Shown::weights;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// Writes "T → 0", "T = 0.417" or "T → ∞".
std::string temperature_text(double temperature);

enum class GibbsNumber { energy, entropy, keys, free_energy, heat_capacity };
inline constexpr Index gibbs_number_count = 5;
double gibbs_number(const Gibbs& gibbs, GibbsNumber number);
enum class GibbsPlace { zero, dial, peak, infinity };
inline constexpr Index gibbs_place_count = 4;
enum class MapMeasure { sum, support, difference };

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, gibbs_number_count> gibbs_words{"energy", "entropy", "keys",
                                                                              "free_energy", "heat_capacity"};
inline constexpr std::array<std::string_view, gibbs_place_count> place_words{"zero", "dial", "peak",
                                                                             "infinity"};
inline constexpr std::array<std::string_view, 3> measure_words{"sum", "support", "difference"};
inline constexpr std::array<std::string_view, score_map_count> map_words{
    "softmax", "softmax_one", "sparsemax", "entmax", "sigmoid", "relu_squared", "linear"};
inline constexpr CellAxis gibbs_axis{"number", gibbs_words}, map_axis{"map", map_words};

inline constexpr CellKind gibbs{"gibbs", {gibbs_axis, {"temperature", place_words}}};
inline constexpr CellKind curve{"curve", {gibbs_axis, {"point"}}};  // curve_temperature(point)
inline constexpr CellKind weight{"weight", {map_axis, {"key"}}};
inline constexpr CellKind measure{"measure", {map_axis, {"measure", measure_words}}};
inline constexpr CellKind output{"output", {map_axis, {"component"}}};
// Effective number of keys, of the chosen head.
inline constexpr CellKind query{"query", {CellAxis{"query"}}};
inline constexpr CellKind head{"head", {CellAxis{"layer"}, {"head"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

// The effective number of keys of every head.
class HeadKeys {
  public:
    static constexpr Index rows_a_head = 32;

    HeadKeys(const Attention& attention, double temperature);

    // True while there is more to do. Heads whose run is not complete yet wait.
    bool step(const Attention& attention);
    const EffectiveKeys* of(HeadIndex head) const;  // null until it is measured

  private:
    double temperature_;
    Index heads_;
    std::vector<std::optional<EffectiveKeys>> all_;  // [layers · heads]
};

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        ChosenRow row;
        double temperature = 1;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {row, state.temperature}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step(const Attention& attention);  // true while there is more to do
    // Nothing until the peak is found, and if there is none.
    std::optional<Gibbs> gibbs_at(GibbsPlace place) const;

    State state;
    ChosenRow row;
    std::string refused;  // why the row has no numbers; empty if it has some
    bool with_vectors = false, with_values = false;
    std::optional<RowCurves> curves;
    std::vector<Index> by_score;  // the keys, that with the highest score first
    Gibbs now, coldest, hottest;  // at the dial's temperature, and at the limits
    std::optional<RowMaps> maps;
    std::optional<EffectiveKeys> queries;  // belong to the chosen head
    struct HeadsOf {
        std::string_view subject;
        std::uint64_t version = 0;  // version of the attention
        double temperature = 1;
        bool operator==(const HeadsOf&) const = default;
    };
    HeadsOf heads_of;
    std::optional<HeadKeys> heads;
    Derived<ChosenRow, EnergyLevels> exact_levels;  // in double
    Derived<Key, RowMaps> exact_maps;
};

Sheet gibbs_sheet(const Model& model, Subject& subject);
Sheet weights_sheet(const Model& model, Subject& subject);
Sheet outputs_sheet(const Model& model, Subject& subject);
Sheet measures_sheet(const Model& model, Subject& subject);
Sheet heads_sheet(const Model& model, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::softmax
