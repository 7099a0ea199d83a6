// Lens Scale: why scores are divided by √d_k. Dot products of d components have a spread of √d, and a row of
// softmax over such scores ends up on one key, where the gradient vanishes. It shows this on seeded normal
// vectors beside the theory, and on the chosen head's own q and k: how their products vary, and its rows
// under another scale.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "lenses/scale/products.hpp"
#include "lenses/scale/rows.hpp"
#include "lenses/scale/state.hpp"

namespace attn::ui {
struct ChartReply;
}

namespace attn::app {

// The lens's own numbers. A rule is one of four side by side, whose scales depend on what is shown.
namespace scale_cells {
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
}  // namespace scale_cells
CellKinds scale_numbers();
std::optional<CellRef> packed_scale_cell(Index row, Index col);

// A histogram of q · k, beside the theory of standard normal vectors.
struct ScaleHistogram {
    static constexpr Index bins = 41;

    ScaleHistogram(const DotProducts& products, bool of_head);
    double edge(Index bin) const {
        return reach * (2 * static_cast<double>(bin) / static_cast<double>(bins) - 1);
    }

    double reach;                          // the range is −reach to reach
    Index pairs;                           // in all bins
    std::vector<Index> counts;             // [bins]
    std::vector<double> expected, normal;  // [bins], exact and in the limit of large d
};

// number of keys of a row that are shown individually
inline constexpr std::size_t scale_keys_shown = 8;

class ScaleLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject&) const override { return std::nullopt; }
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }
    std::string spoken(Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    Guide guide(Subject& subject) const override;

    // The results on screen: for the head, if its vectors are chosen and available. Recomputed when their
    // inputs change.
    const DotProducts& products(Subject& subject);
    const std::vector<RuledRow>& rules(Subject& subject);  // for a long row, at first fewer than all
    const ScaleCurves& curves();                           // for seeded vectors
    // Says in one sentence why there are no q and k of the head; nothing if there are.
    std::optional<std::string> without_vectors(Subject& subject) const;
    const ComponentVariances* variances(Subject& subject);  // null: no head

  private:
    struct Source {
        std::shared_ptr<const Record> record;  // null: seeded vectors
        std::uint64_t version = 0;             // version of the attention
        Index layer = 0, head = 0;
        bool operator==(const Source&) const = default;
    };
    Source source(Subject& subject) const;
    Index query_of(const Source& source) const;  // the chosen one, or the predicted one

    // A result, and what it was computed from.
    template <class From, class What>
    struct Kept {
        From from;
        What what;
    };
    struct ProductsFrom {
        Source source;
        Index components = 0;
        std::uint32_t seed = 0;
        bool operator==(const ProductsFrom&) const = default;
    };
    struct RowFrom {
        Source source;
        Index query = 0;
        ScaleRow row = ScaleRow::seeded;
        Index keys = 0, components = 0;
        std::uint32_t seed = 0;
        bool operator==(const RowFrom&) const = default;
    };
    struct Row {
        RowOfHead row;
        std::array<std::string, scale_rules> rule_names;
        std::array<double, scale_rules> scales{};
        std::vector<std::string> names;  // names of the keys
        std::vector<RuledRow> rules;  // at least the first; for long rows, they are made one after the other
        std::vector<Index> keys;      // visible keys, the highest scores first
        bool step();                  // makes the next rule; true while there is more to do
    };
    struct CurvesFrom {
        Index keys = 0;
        std::uint32_t seed = 0;
        bool operator==(const CurvesFrom&) const = default;
    };
    Row made_row(const RowFrom& from, Subject& subject) const;
    const Row& row(Subject& subject);

    const ScaleHistogram& histogram(Subject& subject);
    SheetAxis rule_axis() const;
    Sheet weights_sheet(Subject& subject);
    Sheet measures_sheet(Subject& subject);

    void draw_presets();
    void draw_controls(Subject& subject);
    void draw_histogram(const Drawing& drawing, Subject& subject, float width);
    void draw_components(const Drawing& drawing, const ComponentVariances& of, float width);
    void draw_grown(const Drawing& drawing, const ComponentVariances& of, float width);
    void draw_row_controls(const Drawing& drawing, Subject& subject);
    void draw_rules(const Drawing& drawing, Subject& subject);
    void draw_curve(const Drawing& drawing, RowMeasure measure, float width);
    void set_components(const ui::ChartReply& reply);  // to where the chart's mark was dragged

    friend CellKinds scale_numbers();
    static const std::array<LensNumber<ScaleLens>, 6> declared;
    std::optional<Explained> explain_histogram(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_measure(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_curve(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_component(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_cumulative(Subject& subject, const LensCell& cell);

    std::optional<Kept<ProductsFrom, DotProducts>> products_;
    std::optional<Kept<Index, ScaleHistogram>> histogram_;  // counts the values of products_ so far
    std::optional<Kept<Source, ComponentVariances>> variances_;
    std::optional<Kept<RowFrom, Row>> row_;
    std::optional<Kept<CurvesFrom, ScaleCurves>> curves_;
};

}  // namespace attn::app
