// Lens Geometry: scores as a bilinear form. What W_Q W_Kᵀ reads and W_V W_O writes, direction by direction; the gauge
// that moves Q and K and no score; a metric of one's own between their components; and Einstein sums of the matrices
// in view.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lenses/geometry/form.hpp"
#include "lenses/geometry/moved.hpp"
#include "lenses/geometry/named.hpp"
#include "lenses/geometry/state.hpp"
#include "lenses/lens.hpp"

namespace attn::ui {
class Lines;
}

namespace attn::app {

inline constexpr Index geometry_tokens_shown = 12;

// The lens's own numbers, with what their row and column are.
enum class GeometryNumber : Index {
    whole,          // M[row, col]
    symmetric,      // ½ (M + Mᵀ)
    antisymmetric,  // ½ (M − Mᵀ)
    singular,       // σ, direction in the row
    left,           // u, direction and component
    right,          // v
    inner_left,     // (Lᵀ u)[a], direction and a
    inner_right,    // (Rᵀ v)[a]
    left_token,     // x · u, token and direction
    right_token,    // x · v
    left_word,      // of the vocabulary, id and direction
    right_word,
    gauge,  // G[a, b]
    dual,   // G⁻ᵀ
    moved_q,
    moved_k,
    moved_score,
    metric,  // g^{ab}
    inverse,
    raised,  // q^a
    metric_score,
    metric_weight,  // of the chosen query
    element,        // of the einsum: its leading indices as one, and the last
};
inline constexpr Index geometry_number_count = 23;
CellRef cell_of(GeometryNumber number, Index row, Index col);
struct GeometryCell {
    GeometryNumber number;
    Index row, col;
};
GeometryCell geometry_cell(const CellRef& cell);

class GeometryLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject& subject, const CellRef& cell) const override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    Guide guide(Subject& subject) const override;

    // What is shown, computed anew when that changes; null where the subject lacks it.
    const std::optional<HeadWeights>& weights(Subject& subject) const;
    HeadForm* form(Subject& subject) const;  // its directions take some steps
    const GaugedHead* gauged(Subject& subject) const;
    // One sentence if the metric has another size than the vectors.
    const Result<MetricHead>* metric(Subject& subject) const;
    // One sentence if the einsum does not fit these matrices.
    const Result<std::unique_ptr<NamedSum>>* sum(Subject& subject) const;
    FormPicture& picture(Subject& subject, const HeadForm& form, FormPart part) const;
    // Null where there is no vocabulary, and until the form's directions are found.
    TokenDirections* words(Subject& subject, bool right) const;

    FormOf form_of(Subject& subject) const;  // the chosen one, if this subject has it
    Index direction(Subject& subject) const;
    std::optional<VectorsInView> in_view(Subject& subject) const;

  private:
    const GeometryState& now() const { return state().of<GeometryState>(); }
    void set(const GeometryState& next, std::uint64_t gesture = 0) {
        if (next != now()) visit().perform(SetGeometry{next}, gesture);
    }
    std::shared_ptr<const Record> record(Subject& subject) const;
    Index query(const Record& record) const;  // the chosen one, or the predicted
    bool holds(Subject& subject, const GeometryCell& cell) const;

    void draw_presets();
    void draw_form(const Drawing& drawing, Subject& subject);
    void draw_form_controls(Subject& subject, const HeadForm& form);
    void draw_form_map(const Drawing& drawing, Subject& subject, const HeadForm& form, float width);
    void draw_singular(const Drawing& drawing, const HeadForm& form, Index direction, float width);
    void draw_reading(const Drawing& drawing, Subject& subject, const HeadForm& form, ui::Lines& lines);
    void draw_words(const Drawing& drawing, Subject& subject, const HeadForm& form, ui::Lines& lines);
    void draw_gauge(const Drawing& drawing, Subject& subject);
    void draw_gauge_controls(const GaugedHead& head);
    void draw_plane(const Drawing& drawing, Subject& subject, const GaugedHead& head, float width);
    void draw_metric(const Drawing& drawing, Subject& subject);
    void draw_metric_controls(const VectorsInView& shown);
    void draw_einsum(const Drawing& drawing, Subject& subject);
    void draw_einsum_text(Subject& subject);
    void draw_result(const Drawing& drawing, const NamedSum& sum, float width);
    std::optional<Explained> explain_form(Subject& subject, const CellPlace& place, const GeometryCell& cell);
    std::optional<Explained> explain_word(Subject& subject, const CellPlace& place, const GeometryCell& cell);
    std::optional<Explained> explain_gauge(Subject& subject, const CellPlace& place,
                                           const GeometryCell& cell);
    std::optional<Explained> explain_metric(Subject& subject, const CellPlace& place,
                                            const GeometryCell& cell);
    std::optional<Explained> explain_element(Subject& subject, const GeometryCell& cell);

    // What something was computed from: the head, and for some the tokens.
    struct From {
        std::uint64_t version = 0;  // of the attention
        HeadIndex head;
        std::optional<Index> query, key;
        bool operator==(const From&) const = default;
    };
    From from(Subject& subject, bool tokens) const;

    template <class With, class What>
    struct Kept {
        From from;
        With with;
        What what;
    };
    struct Nothing {
        bool operator==(const Nothing&) const = default;
    };
    struct MetricWith {
        MetricKind kind;
        Matrix own;
        bool operator==(const MetricWith&) const = default;
    };
    struct WordsWith {
        FormOf of;
        Index direction;
        bool operator==(const WordsWith&) const = default;
    };
    mutable std::optional<Kept<Nothing, std::optional<HeadWeights>>> weights_;
    mutable std::optional<Kept<FormOf, std::unique_ptr<HeadForm>>> form_;
    struct PictureWith {
        FormOf of;
        FormPart part;
        bool operator==(const PictureWith&) const = default;
    };
    mutable std::optional<Kept<PictureWith, std::unique_ptr<FormPicture>>> picture_;
    mutable std::optional<Kept<Gauge, GaugedHead>> gauged_;
    mutable std::optional<Kept<MetricWith, Result<MetricHead>>> metric_;
    mutable std::optional<Kept<std::string, Result<std::unique_ptr<NamedSum>>>> sum_;
    mutable std::optional<Kept<WordsWith, std::unique_ptr<TokenDirections>>> words_[2];

    struct Typed {
        std::string text, of, fault;  // what stands in the field, the State's text that it began with
    };
    Typed typed_metric_, typed_einsum_;
};

}  // namespace attn::app
