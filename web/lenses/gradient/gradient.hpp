// Lens Gradient: the backward pass of one row of attention, below its forward pass. Given an objective for
// the row's output, or for one of a model's logits, it shows for every number on the way how much raising it
// would help.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/logit_pass.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/lens.hpp"
#include "runs/row_slopes.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::gradient {

inline constexpr Index most_keys = 16;
inline constexpr Index most_components = 16;  // components of a model's X
inline constexpr double rate_limit = 10'000;  // a confident head has gradients of about a thousandth

// The objective: raise a component of the output, bring the output closer to V[key], or, in a model, raise a
// logit of the token that it predicts, alone or relative to another.
enum class Aim : std::uint8_t { component, value, logit };

struct State {
    Aim aim = Aim::component;
    Index component = 0, key = 0;
    // Tokens; without them, the most likely token, and its logit alone.
    std::optional<std::int32_t> raise = {}, over = {};
    Index from = 0;     // the first component of a model's X in view
    double rate = 0.5;  // step size
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// One step along the gradient: all inputs at once or, in a model, the query's q.
struct StepAlong {
    std::vector<Command> edits;
    Status apply(app::State& state) const;
    std::string describe(const app::State&) const { return "a step along the gradient"; }
};

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, slope_count> slope_words{
    "output", "weight", "score", "raw_score", "query", "key",
    "value",  "input",  "w_q",   "w_k",       "w_v",   "jacobian"};
inline constexpr CellKind derivative{"derivative", {CellAxis{"of", slope_words}, {"row"}, {"column"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

// Compares the inputs in view with central differences.
struct Check {
    std::vector<SlopeCell> cells;
    std::size_t done = 0;
    double worst = 0;  // the largest difference so far
};

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    // What the gradients are computed from.
    struct Given {
        std::uint64_t version = 0;  // version of the attention
        ChosenRow row;
        Index from = 0;
        RowLoss loss;
        bool operator==(const Given&) const = default;
    };
    struct Key {
        Given given;
        std::size_t differences = 0;  // finite differences of the logit
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {given, logit.differences().size()}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    // The gradients for the row; null until they and the backward pass from a logit are computed.
    const Slopes* slopes() const { return job && job->done() ? &*job : nullptr; }
    std::optional<LogitLoss> logit_loss() const;  // nothing if no token is likely
    // Describes L in words: "the logit of “ sat”"; empty if it has no name.
    std::string logit_name(Subject& subject) const;
    bool check_some();  // true while there is more to do

    State state;
    Aim aim = Aim::component;  // the objective for this subject, which may have no model
    std::optional<CellRef> pin;
    std::optional<ChosenRow> row;  // with a record that has values; nothing until it is computed
    LogitPass logit;
    Given given;
    std::optional<Slopes> job;
    // The keys in view: those that the headline names, the query, and those before it.
    ShownTokens keys;
    std::optional<Check> check;  // nothing until it begins

  private:
    std::optional<RowLoss> loss_now(const Attention& attention);
};

class Lens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;
    bool shows(Subject& subject, const CellRef& cell) const override;
};

// Returns the edits of one step, or says why there is none.
Result<StepAlong> step_along(const Slopes& slopes, const State& asked, const app::State& page,
                             Subject& subject);
// Returns how much L grows with a step of rate 1, to first order.
double gain_of_step(const Slopes& slopes, Subject& subject);

// The rows and columns of a gradient in view.
std::vector<Index> rows_shown(const Slopes& slopes, Slope slope, const ShownTokens& keys);
std::vector<Index> columns_shown(const Slopes& slopes, Slope slope, const ShownTokens& keys);
// Names a key or, for the last row of X in cross-attention, the query.
std::string input_name(const Attention& attention, const Slopes& slopes, Index row);
// The matrices of the forward pass, each followed by its gradient; the Jacobian is the last.
std::vector<Sheet> sheets(const Model& model, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::gradient
