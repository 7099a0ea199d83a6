// Lens Make it so: for given target weights, finds the smallest change of q, k or the projections that
// reaches them, or why there is none; and fits a painted pattern with an increasing number of components.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/pattern_fit.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/inverse/state.hpp"
#include "lenses/lens.hpp"
#include "subjects/projections.hpp"
#include "widgets/typing.hpp"

namespace attn::app {

inline constexpr Index inverse_queries_shown = 14, inverse_keys_shown = 16, inverse_inputs_shown = 24;

// The lens's own numbers: weights, q, k and W under the change, the change itself, the search, and the fit to
// a pattern.
namespace inverse_cells {
inline constexpr std::array<std::string_view, 2> measure_words{"residual", "length"};

inline constexpr CellKind weight{"weight", {CellAxis{"query"}, {"key"}}};
inline constexpr CellKind query{"query", {CellAxis{"query"}, {"component"}}};
inline constexpr CellKind key{"key", {CellAxis{"key"}, {"component"}}};
inline constexpr CellKind projection{"projection", {CellAxis{"input"}, {"component"}}};
inline constexpr CellKind change{"change", {CellAxis{"row"}, {"component"}}};  // the change of the matrix
inline constexpr CellKind iteration{"iteration", {CellAxis{"measure", measure_words}, {"step"}}};
inline constexpr CellKind target{"target", {CellAxis{"query"}, {"key"}}};
inline constexpr CellKind fitted_weight{"fitted_weight", {CellAxis{"query"}, {"key"}}};
inline constexpr CellKind fitted_query{"fitted_query", {CellAxis{"query"}, {"component"}}};
inline constexpr CellKind fitted_key{"fitted_key", {CellAxis{"key"}, {"component"}}};
inline constexpr CellKind error{"error", {CellAxis{"d_k"}}};
inline constexpr CellKind divergence{"divergence", {CellAxis{"d_k"}}};
}  // namespace inverse_cells
CellKinds inverse_numbers();
std::optional<CellRef> packed_inverse_cell(Index row, Index col);

class InverseLens final : public Lens {
  public:
    using Lens::Lens;

    void follow(const State& before, Change how) override;
    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject& subject, const CellRef& cell) const override;
    bool changes(const CellRef& cell) const override { return cell.stage == Stage::weight; }
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    Guide guide(Subject& subject) const override;

    // Returns the change for the chosen head's targets; null until its vectors are computed. Recomputed after
    // a change of its inputs.
    const HeadChange* change(Subject& subject);
    PatternFit& fit();
    const FittedPattern* fitted() { return fitted_at(state().of<InverseState>().components); }
    const FittedPattern* fitted_at(Index components);
    // The step that applies the change if the numbers can be edited, or gives a changed copy to a subject
    // that can edit it, and a caveat. Nothing without a change.
    struct Deed {
        std::string label, hint;
        Command command;
    };
    std::optional<Deed> deed(Subject& subject);
    std::optional<Deed> take_pattern();
    // Turns the pattern into targets for the chosen head: its painted cells share most of each row, as far as
    // the head sees them.
    std::vector<CellWish> pattern_as_wishes(const HeadChange& change) const;
    // The page of the chosen row.
    Range queries_shown(const Record& record) const;
    // The page of the chosen key, with the keys of targets and the strongest keys of the chosen row.
    ShownTokens keys_shown(const HeadChange& change) const;
    // The inputs of W_Q and W_K, and the rotation after them; nothing if they are unavailable or a norm comes
    // between.
    struct Inputs {
        std::shared_ptr<const Matrix> q, k;
        std::optional<TokenTurns> turns;
    };
    const std::optional<Inputs>& inputs(Subject& subject);
    static bool normalised(const Trace& trace, Index layer);  // q or k
    std::string why_not(Subject& subject, const HeadChange& change) const;
    Index chosen_query(const Record& record) const;

  private:
    struct Asked {
        std::string_view subject;
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        Range page;  // page of queries
        ChangeOf of = ChangeOf::q;
        std::vector<CellWish> wishes;
        bool operator==(const Asked&) const = default;
    };
    // The row of the selection, unchanged.
    struct Chosen {
        std::uint64_t version = 0;
        HeadIndex head;
        Index query = 0;
        ScoreRow row;
        RowChain now;
        bool is_of(std::uint64_t of_version, HeadIndex of_head, Index of_query) const {
            return version == of_version && head == of_head && query == of_query;
        }
    };
    struct InputsOf {
        std::string_view subject;
        std::uint64_t version = 0;
        Index layer = 0;
        bool operator==(const InputsOf&) const = default;
    };
    struct Typed {
        Index query, key;
        ui::Typing typing;
    };

    const Chosen& chosen(Subject& subject, const HeadChange& change);

    friend CellKinds inverse_numbers();
    static const std::array<LensNumber<InverseLens>, 12> declared;
    struct Around;
    std::optional<Around> begin_change(Subject& subject);  // nothing if there is no change
    std::optional<Explained> explain_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_query(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_key(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_projection(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_change(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_iteration(Subject& subject, const LensCell& cell);
    Explained begin_pattern(const LensCell& cell, std::string_view title, double value);
    std::optional<Explained> explain_target(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_fitted_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_fitted_vector(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_fit(Subject& subject, const LensCell& cell);

    Matrix weights_shown(const HeadChange& change, bool after) const;
    // The shown part of a matrix under the change: the projection or, if that is large or unavailable, Q or
    // K.
    struct MovedMatrix {
        Stage stage;
        const CellKind* kind;
        ShownTokens rows;
        std::vector<std::string> row_names;
        Matrix values;
    };
    MovedMatrix moved_matrix(Subject& subject, const HeadChange& change) const;
    Matrix matrix_before(Subject& subject, const HeadChange& change, const MovedMatrix& moved) const;
    std::optional<MovedMatrix> change_matrix(Subject& subject, const HeadChange& change) const;
    Sheet weights_sheet(Subject& subject, const HeadChange& change, bool after) const;
    std::vector<Sheet> matrix_sheets(Subject& subject, const HeadChange& change) const;
    std::vector<Sheet> pattern_sheets();

    void set(InverseState wanted) const;
    void wish(const Drawing& drawing, Index query, Index key, double weight);
    // An invalid weight is refused with a message that repeats the text.
    void wish_as_typed(const Drawing& drawing, Index query, Index key, std::optional<double> weight,
                       const std::string& text);
    void draw_presets(Subject& subject, const HeadChange& change);
    void draw_controls(const Drawing& drawing, Subject& subject, const HeadChange& change);
    void draw_wishes(const Drawing& drawing, Subject& subject, const HeadChange& change);
    void draw_weights(const Drawing& drawing, Subject& subject, const HeadChange& change, float width);
    void forget(Index query, Index key) const;
    struct Placed;
    void type_into(const Drawing& drawing, const HeadChange& change, const Placed& cells);
    void draw_found(const Drawing& drawing, Subject& subject);
    void draw_deed(const Drawing& drawing, Subject& subject);
    void draw_told(Subject& subject, const HeadChange& change) const;
    void draw_row(const Drawing& drawing, Subject& subject, const HeadChange& change, float width);
    void draw_search(const Drawing& drawing, const HeadChange& change, float width) const;
    void draw_pattern(const Drawing& drawing, Subject& subject);
    void draw_pattern_steps(const Drawing& drawing, Subject& subject);
    void draw_pattern_controls();
    void draw_fits(const Drawing& drawing, float width, bool divergence);

    std::optional<Asked> asked_;
    std::optional<HeadChange> change_;
    std::optional<Chosen> chosen_;
    std::shared_ptr<const std::vector<double>> keys_;  // for the present request
    std::optional<InputsOf> inputs_of_;
    std::optional<Inputs> inputs_;
    std::optional<Pattern> fitted_of_;
    std::optional<PatternFit> fit_;
    std::optional<Typed> typed_;
    std::optional<CellRef> heard_;
};

}  // namespace attn::app
