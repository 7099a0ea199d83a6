// Lens Make it so: for given target weights, finds the smallest change of q, k or the projections that
// reaches them, or why there is none; and fits a painted pattern with an increasing number of components.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/theory/attention_pattern.hpp"
#include "analysis/theory/head_change.hpp"
#include "analysis/theory/pattern_fit.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/projections.hpp"

namespace attn::app {

// Sets all numbers of a change at once.
struct MakeItSo {
    std::vector<Command> edits;
    Status apply(State& state) const;
    std::string describe(const State&) const { return "the least change that makes it so"; }
};

}  // namespace attn::app

namespace attn::app::inverse {

inline constexpr std::size_t wish_limit = 32;
inline constexpr Index pattern_least = 2, pattern_limit = 16;  // tokens in a pattern
inline constexpr Index queries_on_page = 14, keys_on_page = 16, inputs_shown = 24;

struct State {
    ChangeOf of = ChangeOf::q;
    std::vector<CellWish> wishes = {};  // ordered by query, then by key
    Pattern pattern;
    Index components = 2;  // d_k of the fit that is shown
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();

    const CellWish* wish_of(Index query, Index key) const;
    // Add or replace a target, or remove it.
    void wish(Index query, Index key, double weight);
    void forget(Index query, Index key);
};
LinkRows links();
const char* change_name(ChangeOf of);  // on a button

// The lens's own numbers: weights, q, k and W under the change, the change itself, the search, and the fit to
// a pattern.
namespace cells {
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
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

struct ViewMemory;

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct HeadOf {
        std::string_view subject;
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        bool operator==(const HeadOf&) const = default;
    };
    struct Asked {
        HeadOf head;
        Range page;  // page of queries
        ChangeOf of = ChangeOf::q;
        std::vector<CellWish> wishes;
        bool operator==(const Asked&) const = default;
    };
    struct Key {
        std::optional<Asked> asked;  // none until the head's vectors are computed
        Pattern pattern;
        Index components;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {asked, state.pattern, state.components}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    // The page of the chosen row.
    Range queries_shown() const;
    // The page of the chosen key, with the keys of targets and the strongest keys of the chosen row.
    ShownTokens keys_shown() const;
    // Null until it is fitted.
    const FittedPattern* fitted(Index components) const;
    const Projections* edited() const;  // null: the projections cannot be edited
    const FittedPattern* fitted() const { return fitted(std::min(state.components, state.pattern.tokens)); }

    State state;
    ChosenRow row;
    std::optional<Index> key_chosen;
    std::optional<Asked> asked;
    // The inputs of W_Q and W_K, and the rotation after them; nothing if they are unavailable or a norm comes
    // between.
    struct Inputs {
        std::shared_ptr<const InputRows> q, k;
        std::optional<TokenTurns> turns;
        std::optional<Projections> edited;
    };
    Derived<HeadOf, std::optional<Inputs>> inputs;
    Derived<HeadOf, std::shared_ptr<const std::vector<double>>> keys;
    Derived<Asked, HeadChange> change;  // null until the head's vectors are computed
    // The chosen row, unchanged.
    struct Unchanged {
        ScoreRow scores;
        RowChain chain;
        Index heaviest;  // the key with the largest weight
    };
    Derived<ChosenRow, Unchanged> unchanged;
    // Its page: a row of weights for each query.
    Derived<std::pair<HeadOf, Range>, std::vector<std::vector<float>>> weights;
    Derived<Pattern, PatternFit> fit;
    // What the pattern wishes of the head.
    Derived<std::pair<HeadOf, Pattern>, std::vector<CellWish>> pattern_wishes;
    std::shared_ptr<ViewMemory> seen;
};

// Offers the step to q and k that can be edited, and keeps the fit while another lens is open.
class Lens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;

    void follow(const app::State& before, Change how) override;
    std::optional<Missing> missing(Subject& subject) const override;
    bool changes(const CellRef& cell) const override { return cell.is(Stage::weight); }
    bool shows(Subject& subject, const CellRef& cell) const override;
};

bool normalised(const Attention& attention, Index layer);  // q or k, by a norm
// The step that applies the change if the numbers can be edited, or gives a changed copy to a subject that
// can edit it, and a caveat. Nothing without a change.
struct Deed {
    std::string label, hint;
    Command command;
};
std::optional<Deed> deed(const Model& model, const Visit& visit, Subject& subject);
std::optional<Deed> take_pattern(const Model& model, const Visit& visit);

// Says how large the change is, and what else it moves.
std::string told(const Model& model, Subject& subject);
Sheet weights_sheet(const Model& model, Subject& subject, bool after);
std::vector<Sheet> matrix_sheets(const Model& model, Subject& subject);
std::vector<Sheet> pattern_sheets(const Model& model);
void set(const Drawing& drawing, State wanted);  // within the current gesture
void draw_pattern(Model& model, const Drawing& drawing, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::inverse
