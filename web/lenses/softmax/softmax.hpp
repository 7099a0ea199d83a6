// Lens Softmax: one row of scores as a Gibbs distribution, with its temperature as a dial, beside maps that
// were proposed to replace softmax; and how many of its visible keys each head uses.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "lenses/softmax/row.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

// What to show of the row through all maps.
enum class SoftmaxShown { weights, outputs };

struct SoftmaxState {
    double temperature = 1;  // 0 … ∞, relative to the head's own
    SoftmaxShown shown = SoftmaxShown::weights;
    bool operator==(const SoftmaxState&) const = default;
};

template <>
const Fields<SoftmaxState>& fields_of();
using SetSoftmax = Set<SoftmaxState>;

LinkRows softmax_links();

// Writes "T → 0", "T = 0.417" or "T → ∞".
std::string temperature_text(double temperature);

enum class GibbsNumber { energy, entropy, keys, free_energy, heat_capacity };
inline constexpr Index gibbs_number_count = 5;
double gibbs_number(const Gibbs& gibbs, GibbsNumber number);
enum class GibbsPlace { zero, dial, peak, infinity };
inline constexpr Index gibbs_place_count = 4;
enum class MapMeasure { sum, support, difference };
inline constexpr Index map_measure_count = 3;

// The lens's own numbers.
namespace softmax_cells {
inline constexpr std::array<std::string_view, gibbs_number_count> gibbs_words{"energy", "entropy", "keys",
                                                                              "free_energy", "heat_capacity"};
inline constexpr std::array<std::string_view, gibbs_place_count> place_words{"zero", "dial", "peak",
                                                                             "infinity"};
inline constexpr std::array<std::string_view, map_measure_count> measure_words{"sum", "support",
                                                                               "difference"};
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
}  // namespace softmax_cells
CellKinds softmax_numbers();
std::optional<CellRef> packed_softmax_cell(Index row, Index col);

class SoftmaxLens final : public Lens {
  public:
    using Lens::Lens;

    void follow(const State& before, Change how) override;
    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    Guide guide(Subject& subject) const override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }

  private:
    struct HeadsOf {
        std::string_view subject;
        std::uint64_t version = 0;  // version of the attention
        double temperature = 1;
        bool operator==(const HeadsOf&) const = default;
    };
    // The row in double, and what was requested of it through the maps.
    struct Exact {
        ChosenRow row;
        EnergyLevels levels;
        double temperature = 1;
        std::optional<RowMaps> maps{};
    };
    struct Kept {
        ChosenRow row;
        double temperature;
        CellRef cell;
        std::optional<Explained> why;
    };

    void update(Subject& subject);
    void forget();
    bool step(const Attention& attention);  // true while there is more to do
    double temperature() const { return state().of<SoftmaxState>().temperature; }
    // Nothing until the peak is found, and if there is none.
    std::optional<Gibbs> gibbs_at(GibbsPlace place) const;
    std::string query_name(Subject& subject) const;

    friend CellKinds softmax_numbers();
    static const std::array<LensNumber<SoftmaxLens>, 7> declared;
    std::optional<Explained> explain_gibbs(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_curve(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_query(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_measure(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_output(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_head(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_number(Subject& subject, GibbsNumber number, double temperature,
                                            Index query);
    const EnergyLevels& exact_levels(Subject& subject);
    // Holds softmax and this map; null if the run has no such map.
    const RowMaps* exact_maps(Subject& subject, ScoreMap map);
    CellPlace place_of(const CellRef& cell) const { return {row_.head, cell}; }

    std::vector<ScoreMap> maps_shown() const;
    SheetAxis map_axis() const;
    std::string row_about(Subject& subject) const;
    Sheet gibbs_sheet(Subject& subject) const;
    Sheet weights_sheet(Subject& subject) const;
    Sheet outputs_sheet(Subject& subject) const;
    Sheet measures_sheet(Subject& subject) const;
    Sheet heads_sheet(Subject& subject) const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_numbers(const Drawing& drawing, Subject& subject, float width);
    void draw_curves(const Drawing& drawing, float width);
    void draw_queries(const Drawing& drawing, const Attention& attention, float width);
    void draw_maps(const Drawing& drawing, Subject& subject, float width);
    void draw_heads(const Drawing& drawing, Subject& subject, float width);
    void set(SoftmaxState wanted) const;

    ChosenRow row_;
    std::string refused_;  // why the row has no numbers; empty if it has some
    bool with_vectors_ = false, with_values_ = false;
    std::optional<RowCurves> curves_;
    Gibbs now_, coldest_, hottest_;  // at the dial's temperature, and at the limits
    std::optional<RowMaps> maps_;
    double maps_at_ = 1;
    std::optional<EffectiveKeys> queries_;  // belong to the chosen head
    HeadsOf heads_of_;
    std::optional<HeadKeys> heads_;
    std::optional<Exact> exact_;
    std::optional<Kept> kept_;
};

}  // namespace attn::app
