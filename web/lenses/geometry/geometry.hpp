// Lens Geometry: scores as a bilinear form. It shows what W_Q W_Kᵀ reads and W_V W_O writes, direction by
// direction; the gauge, which changes Q and K but no score; a metric of the user's own between their
// components; and Einstein sums of the matrices in view.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/heads/head_form.hpp"
#include "analysis/heads/named_sum.hpp"
#include "analysis/heads/token_directions.hpp"
#include "analysis/linalg/form_picture.hpp"
#include "analysis/theory/moved_scores.hpp"
#include "app/fields.hpp"
#include "app/matrix.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::geometry {

enum class Part : std::uint8_t { form, gauge, metric, einsum };
enum class MetricKind : std::uint8_t {
    identity,
    divided,    // δ / √d_k
    axis,       // 4 for the first component, 1 for the others
    minkowski,  // −1 for the first component, 1 for the others
    own,
};

inline constexpr Index form_tokens_limit = 512;  // queries and keys of Q Kᵀ, the ones up to the chosen query
inline constexpr double gauge_reach = 8;         // limits |t|
inline constexpr Index own_metric_limit = 24;
inline constexpr double metric_reach = 1e6;

struct State {
    Part part = Part::form;
    FormOf form = FormOf::scores;
    FormPart shown = FormPart::whole;
    Index direction = 0;
    Gauge gauge;
    MetricKind metric = MetricKind::identity;
    Matrix own;  // for MetricKind::own; otherwise empty
    std::string einsum = "ik,jk->ij with Q, K";
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

struct Preset {
    const char *name, *title;
    State (*from)(State now);
};
std::span<const Preset> presets();

// Returns the metric for this many components; `own` may have another size.
Matrix metric_of(const State& state, Index size);

// The lens's own numbers.
namespace cells {
using Axes = std::array<CellAxis, 3>;
inline constexpr Axes matrix{{{"row"}, {"column"}}}, along{{{"direction"}, {"component"}}},
    of_token{{{"token"}, {"direction"}}}, of_word{{{"id"}, {"direction"}}},
    of_query{{{"query"}, {"component"}}}, pair{{{"query"}, {"key"}}};

inline constexpr CellKind bilinear_form{"bilinear_form", matrix};  // M
inline constexpr CellKind symmetric_part{"symmetric_part", matrix};
inline constexpr CellKind antisymmetric_part{"antisymmetric_part", matrix};
inline constexpr CellKind singular_value{"singular_value", {CellAxis{"direction"}}};
inline constexpr CellKind left_singular_vector{"left_singular_vector", along};    // u
inline constexpr CellKind right_singular_vector{"right_singular_vector", along};  // v
inline constexpr CellKind left_projection{"left_projection", along};              // Lᵀ u
inline constexpr CellKind right_projection{"right_projection", along};            // Rᵀ v
inline constexpr CellKind left_token{"left_token", of_token};                     // x · u
inline constexpr CellKind right_token{"right_token", of_token};
inline constexpr CellKind left_vocabulary{"left_vocabulary", of_word};
inline constexpr CellKind right_vocabulary{"right_vocabulary", of_word};
inline constexpr CellKind gauge{"gauge", matrix};            // G
inline constexpr CellKind dual_gauge{"dual_gauge", matrix};  // G⁻ᵀ
inline constexpr CellKind gauged_query{"gauged_query", of_query};
inline constexpr CellKind gauged_key{"gauged_key", {CellAxis{"key"}, {"component"}}};
inline constexpr CellKind gauged_score{"gauged_score", pair};
inline constexpr CellKind metric{"metric", matrix};  // g^{ab}
inline constexpr CellKind inverse_metric{"inverse_metric", matrix};
inline constexpr CellKind raised_query{"raised_query", of_query};  // q^a
inline constexpr CellKind metric_score{"metric_score", pair};
inline constexpr CellKind metric_weight{"metric_weight", pair};
inline constexpr CellKind einsum{"einsum", {CellAxis{"leading"}, {"last"}}};  // leading indices count as one
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    // The head, and the chosen tokens.
    struct Place {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        Index query = 0;
        std::optional<Index> key;
        bool operator==(const Place&) const = default;
    };
    struct Key {
        Place place;
        State state;
        bool is_compared = false;  // the einsum's result, with the head's own matrices
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    // Directions and an einsum are computed only while they are shown; then they stay.
    bool holds(const LensCell& cell);

    State state;
    Place place;
    std::shared_ptr<const Record> record;  // null until it is computed
    // The following belong to the record.
    std::shared_ptr<const HeadWeights> weights;  // null if only q, k and v are known
    bool one_line = true;                        // queries and keys are the same words
    ShownTokens queries, keys;                   // in view
    FormOf form_of() const;                      // the chosen one, if this subject has it
    HeadForm& form() { return shown_form().form; }
    FormPart form_part();                // the chosen one, if the form has it
    FormPicture& picture();              // shows that part
    Index direction();                   // the chosen one, if the form has it
    TokenDirections* words(bool right);  // null without a vocabulary, and until there are directions
    const GaugedScores& gauged();
    const Result<MetricScores>& metric();  // one sentence if the metric's size differs from the vectors'
    Result<NamedSum>& sum();               // one sentence if the einsum does not fit these matrices
    NamedHead named_head() const;          // whose matrices an einsum names

    struct Typed {
        std::string text, of, fault;  // contents of the field, and the State's text that they started from
    };
    Typed typed_metric, typed_einsum;

  private:
    // A form, and what was computed from it.
    struct ShownForm {
        HeadForm form;
        Derived<FormPart, FormPicture> picture = {};
        // The left side's and the right side's, by direction.
        std::array<Derived<Index, std::optional<TokenDirections>>, 2> words = {};
    };
    ShownForm& shown_form();

    std::optional<Place> in_view_;  // whose tokens are in view
    Derived<std::pair<std::uint64_t, HeadIndex>, std::shared_ptr<const HeadWeights>> weights_;
    Derived<std::pair<Place, FormOf>, ShownForm> form_;
    Derived<std::pair<Place, Gauge>, GaugedScores> gauged_;
    Derived<std::pair<Place, std::pair<MetricKind, Matrix>>, Result<MetricScores>> metric_;
    Derived<std::pair<Place, std::string>, Result<NamedSum>> sum_;
};

std::optional<Explained> explain_einsum(Model& model, Subject& subject, const LensCell& cell);
Sheet form_sheet(Model& model, Subject& subject);
std::vector<Sheet> gauge_sheets(Model& model, Subject& subject);
std::vector<Sheet> metric_sheets(Model& model, Subject& subject);  // for a metric that fits
Sheet result_sheet(const Model& model, const NamedSum& sum);

inline constexpr float least_column = 330;
// Draws the sheets side by side, after a picture.
void draw_sheets(const Drawing& drawing, const std::vector<Sheet>& sheets,
                 const std::function<void(float width)>& first = {});
void set(const Drawing& drawing, const State& next, std::uint64_t gesture = 0);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);
void draw_form_controls(Model& model, const Drawing& drawing);
void draw_form(Model& model, const Drawing& drawing, Subject& subject);
void draw_gauge(Model& model, const Drawing& drawing, Subject& subject);
void draw_metric(Model& model, const Drawing& drawing, Subject& subject);
void draw_einsum(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::geometry
