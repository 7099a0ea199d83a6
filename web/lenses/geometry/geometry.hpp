// Lens Geometry: scores as a bilinear form. It shows what W_Q W_Kᵀ reads and W_V W_O writes, direction by
// direction; the gauge, which changes Q and K but no score; a metric of the user's own between their
// components; and Einstein sums of the matrices in view.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/sheet.hpp"
#include "lenses/geometry/form.hpp"
#include "lenses/geometry/moved.hpp"
#include "lenses/geometry/named.hpp"
#include "lenses/geometry/state.hpp"
#include "lenses/lens.hpp"

namespace attn::app {

inline constexpr Index geometry_tokens_shown = 12;

// The lens's own numbers.
namespace geometry_cells {
inline constexpr CellKind bilinear_form{"bilinear_form", {CellAxis{"row"}, {"column"}}};  // M
inline constexpr CellKind symmetric_part{"symmetric_part", {CellAxis{"row"}, {"column"}}};
inline constexpr CellKind antisymmetric_part{"antisymmetric_part", {CellAxis{"row"}, {"column"}}};
inline constexpr CellKind singular_value{"singular_value", {CellAxis{"direction"}}};
inline constexpr CellKind left_singular_vector{"left_singular_vector",
                                               {CellAxis{"direction"}, {"component"}}};  // u
inline constexpr CellKind right_singular_vector{"right_singular_vector",
                                                {CellAxis{"direction"}, {"component"}}};               // v
inline constexpr CellKind left_projection{"left_projection", {CellAxis{"direction"}, {"component"}}};  // Lᵀ u
inline constexpr CellKind right_projection{"right_projection",
                                           {CellAxis{"direction"}, {"component"}}};      // Rᵀ v
inline constexpr CellKind left_token{"left_token", {CellAxis{"token"}, {"direction"}}};  // x · u
inline constexpr CellKind right_token{"right_token", {CellAxis{"token"}, {"direction"}}};
inline constexpr CellKind left_vocabulary{"left_vocabulary", {CellAxis{"id"}, {"direction"}}};
inline constexpr CellKind right_vocabulary{"right_vocabulary", {CellAxis{"id"}, {"direction"}}};
inline constexpr CellKind gauge{"gauge", {CellAxis{"row"}, {"column"}}};            // G
inline constexpr CellKind dual_gauge{"dual_gauge", {CellAxis{"row"}, {"column"}}};  // G⁻ᵀ
inline constexpr CellKind gauged_query{"gauged_query", {CellAxis{"query"}, {"component"}}};
inline constexpr CellKind gauged_key{"gauged_key", {CellAxis{"key"}, {"component"}}};
inline constexpr CellKind gauged_score{"gauged_score", {CellAxis{"query"}, {"key"}}};
inline constexpr CellKind metric{"metric", {CellAxis{"row"}, {"column"}}};  // g^{ab}
inline constexpr CellKind inverse_metric{"inverse_metric", {CellAxis{"row"}, {"column"}}};
inline constexpr CellKind raised_query{"raised_query", {CellAxis{"query"}, {"component"}}};  // q^a
inline constexpr CellKind metric_score{"metric_score", {CellAxis{"query"}, {"key"}}};
inline constexpr CellKind metric_weight{"metric_weight", {CellAxis{"query"}, {"key"}}};
// Its leading indices are combined into one.
inline constexpr CellKind einsum{"einsum", {CellAxis{"leading"}, {"last"}}};
}  // namespace geometry_cells
CellKinds geometry_numbers();
std::optional<CellRef> packed_geometry_cell(Index row, Index col);

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

    // Results on screen, recomputed when their inputs change; null if the subject lacks the inputs.
    const std::optional<HeadWeights>& weights(Subject& subject) const;
    HeadForm* form(Subject& subject) const;  // its directions take some steps
    const GaugedHead* gauged(Subject& subject) const;
    // One sentence if the metric's size differs from the vectors'.
    const Result<MetricHead>* metric(Subject& subject) const;
    // One sentence if the einsum does not fit these matrices.
    const Result<std::unique_ptr<NamedSum>>* sum(Subject& subject) const;
    FormPicture& picture(Subject& subject, const HeadForm& form, FormPart part) const;
    // Null if there is no vocabulary, and until the form's directions are found.
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
    Index query(const Record& record) const;  // the chosen one, or the predicted one
    bool holds(Subject& subject, const LensCell& cell) const;

    Sheet form_sheet(Subject& subject, const HeadForm& form) const;
    std::vector<Sheet> gauge_sheets(Subject& subject) const;
    std::vector<Sheet> metric_sheets(Subject& subject) const;  // for a metric that fits
    Sheet result_sheet(const NamedSum& all) const;

    void draw_presets();
    void draw_form(const Drawing& drawing, Subject& subject);
    void draw_form_controls(Subject& subject, const HeadForm& form);
    void draw_form_map(const Drawing& drawing, Subject& subject, const HeadForm& form, float width);
    void draw_singular(const Drawing& drawing, const HeadForm& form, Index direction, float width);
    void draw_tokens(const Drawing& drawing, Subject& subject, const HeadForm& form, bool right, float width);
    void draw_words(const Drawing& drawing, Subject& subject, const HeadForm& form, bool right, bool low,
                    float width);
    void draw_gauge(const Drawing& drawing, Subject& subject);
    void draw_gauge_controls(const GaugedHead& head);
    void draw_plane(const Drawing& drawing, Subject& subject, const GaugedHead& head, float width);
    void draw_metric(const Drawing& drawing, Subject& subject);
    void draw_metric_controls(const VectorsInView& shown);
    void draw_einsum(const Drawing& drawing, Subject& subject);
    void draw_einsum_text(Subject& subject);

    friend CellKinds geometry_numbers();
    static const std::array<LensNumber<GeometryLens>, 23> declared;
    std::optional<Explained> explain_form(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_part(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_singular_value(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_singular_vector(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_projection(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_token(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_word(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_gauge(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_gauged_vector(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_gauged_score(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_metric(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_raised_query(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_metric_score(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_metric_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_einsum(Subject& subject, const LensCell& cell);

    // What a result was computed from: the head, and for some results the tokens.
    struct From {
        std::uint64_t version = 0;  // version of the attention
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
        std::string text, of, fault;  // contents of the field, and the State's text that they started from
    };
    Typed typed_metric_, typed_einsum_;
};

}  // namespace attn::app
