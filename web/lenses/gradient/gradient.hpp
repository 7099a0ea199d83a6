// Lens Gradient: the backward pass of one row of attention, below its forward pass. Given an objective for
// the row's output, or for one of a model's logits, it shows for every number on the way how much raising it
// would help.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/gradient/logit_pass.hpp"
#include "lenses/gradient/slopes.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

inline constexpr Index gradient_keys_shown = 16;
inline constexpr Index gradient_components_shown = 16;  // components of a model's X
inline constexpr double gradient_rate_limit = 10'000;  // a confident head has gradients of about a thousandth

// The objective: raise a component of the output, bring the output closer to V[key], or, in a model, raise a
// logit of the token that it predicts, alone or relative to another.
enum class GradientAim : std::uint8_t { component, value, logit };

struct GradientState {
    GradientAim aim = GradientAim::component;
    Index component = 0, key = 0;
    // Tokens; without them, the most likely token, and its logit alone.
    std::optional<std::int32_t> raise = {}, over = {};
    Index from = 0;     // the first component of a model's X in view
    double rate = 0.5;  // step size
    bool operator==(const GradientState&) const = default;
    static const Fields<GradientState>& fields();
};
using SetGradient = Set<GradientState>;
// One step along the gradient: all inputs at once or, in a model, the query's q.
struct StepAlong {
    std::vector<Command> edits;
    Status apply(State& state) const;
    std::string describe(const State&) const { return "a step along the gradient"; }
};

LinkRows gradient_links();
CellKinds gradient_numbers();
std::optional<CellRef> packed_gradient_cell(Index row, Index col);

class GradientLens final : public Lens {
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

    // The gradients for the chosen row; null until its vectors and the backward pass from a logit are
    // computed. Recomputed after a change.
    const Slopes* slopes(Subject& subject) const;
    // Returns the objective for this subject, which may have no model.
    GradientAim aim(Subject& subject) const;
    const LogitPass& logit() const { return logit_; }
    // Describes L in words: "the logit of “ sat”"; empty if it has no name.
    std::string logit_name(Subject& subject) const;
    // The keys in view: the query and those before it, or those around the selected key.
    ShownTokens keys_shown(const Slopes& slopes) const;
    // Returns the edits of one step, or says why there is none.
    Result<StepAlong> step(Subject& subject) const;
    // Returns how much L grows with a step of rate 1, to first order.
    double gain_of_step(Subject& subject, const Slopes& slopes) const;
    // The largest difference so far from a central difference, over the inputs in view.
    struct Check {
        std::vector<SlopeCell> cells;
        std::size_t done = 0;
        double worst = 0;
    };
    const Check& check() const { return check_; }

  private:
    struct Shown {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        Index query = 0, from = 0;
        RowLoss loss;
        bool operator==(const Shown&) const = default;
    };
    // The row in question, with a record that has values; nothing until it is computed.
    std::optional<ChosenRow> row(Subject& subject) const;
    std::optional<Projections> projections_of(Subject& subject, Index query) const;
    std::optional<Projections> projections_of(const Trace& trace, HeadIndex head, Index query) const;
    std::optional<LogitLoss> logit_loss() const;  // nothing if no token is likely
    friend CellKinds gradient_numbers();
    static const std::array<LensNumber<GradientLens>, 1> declared;
    std::optional<Explained> explain_derivative(Subject& subject, const LensCell& cell);
    bool check_some(const Slopes& slopes);  // true while there is more to do
    void draw_controls(const Drawing& drawing, Subject& subject, const ChosenRow& row);
    void draw_tokens(Subject& subject, GradientState& next);
    void draw_presets(Subject& subject, const ChosenRow& row);
    void draw_way_back(Subject& subject);
    void draw_step(const Drawing& drawing, Subject& subject, const Slopes& slopes);
    void draw_check(const Drawing& drawing, const Slopes& slopes);
    Sheet slope_sheet(Subject& subject, const Slopes& slopes, Slope slope) const;
    // The matrices of the forward pass, each followed by its gradient; the Jacobian is the last.
    std::vector<Sheet> sheets(Subject& subject, const Slopes& slopes) const;

    mutable LogitPass logit_;
    mutable std::optional<Shown> shown_;
    mutable std::optional<Slopes> slopes_;
    mutable bool check_begun_ = false;  // a check of these gradients has begun
    Check check_;
    // The cell that was explained last.
    struct Kept {
        Shown shown;
        CellRef cell;
        std::size_t differences = 0;  // finite differences of the logit
        std::optional<Explained> why;
    };
    std::optional<Kept> kept_;
};

// The rows of a gradient in view.
std::vector<Index> rows_shown(const Slopes& slopes, Slope slope, const ShownTokens& keys);
std::vector<Index> columns_shown(const Slopes& slopes, Slope slope, const ShownTokens& keys);
// Names a key or, for the last row of X in cross-attention, the query.
std::string input_name(const Attention& attention, const Slopes& slopes, Index row);

}  // namespace attn::app
