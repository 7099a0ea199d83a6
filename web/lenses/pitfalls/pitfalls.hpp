// Lens Pitfalls: what people get wrong when they implement attention (analysis/check/mistakes), as switches
// on any head: what each does to scores, weights, output and gradient, and which of them no map shows; and a
// small network that learns with one, beside the same network without.
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
#include "runs/mistake_effects.hpp"
#include "runs/mistaken_training.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::pitfalls {

inline constexpr Index mistake_count = std::ssize(mistake_keys), variants_limit = 16;
inline constexpr Index forgotten_scale =
    std::ranges::find(mistake_keys, "scale_missing") - mistake_keys.begin();
// A map's colours have 255 steps from 0 to 1.
inline constexpr double colour_steps = 255;

enum class Train : std::uint8_t { none, chosen, all };

struct State {
    Index mistake = forgotten_scale;  // its place in mistakes()
    Index variant = 0;                // where there are fewer, the last one
    Train train = Train::none;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

using Of = MistakeEffect::Of;
enum class Measure { score, weight, output, gradient, map };
inline constexpr std::size_t measure_count = 5;
enum class Side { right, mistaken, change };
inline constexpr std::array<const char*, 3> side_names{"right", "with the mistake", "difference"};
// The rows of what was learned: without a mistake, and with each.
inline constexpr auto run_keys = [] {
    std::array<std::string_view, 1 + mistake_keys.size()> keys{"right"};
    std::ranges::copy(mistake_keys, keys.begin() + 1);
    return keys;
}();

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, measure_count> measure_words{"score", "weight", "output",
                                                                           "gradient", "map"};
inline constexpr std::array<std::string_view, side_names.size()> side_words{"right", "mistaken", "change"};
inline constexpr CellAxis side_axis{"side", side_words};

inline constexpr CellKind effect{"effect", {CellAxis{"mistake", mistake_keys}, {"measure", measure_words}}};
inline constexpr CellKind score{"score", {side_axis, {"query"}, {"key"}}};
inline constexpr CellKind weight{"weight", {side_axis, {"query"}, {"key"}}};
inline constexpr CellKind output{"output", {side_axis, {"query"}, {"component"}}};
inline constexpr CellKind gradient{"gradient", {side_axis, {"component"}}};

// The loss of a step's batch, and what a network has learned in the end.
inline constexpr std::array<std::string_view, learned_count> learned_words{
    "loss", "predicted", "share", "half", "right_predicted", "right_loss"};
inline constexpr CellAxis run_axis{"run", run_keys};
inline constexpr CellKind loss{"loss", {run_axis, {"step"}}};
inline constexpr CellKind learned{"learned", {run_axis, {"number", learned_words}}};
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        CheckedRows rows;
        State state;
        std::size_t effects = 0;  // how many are known
        std::int64_t trained = 0;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const {
        return {rows, state, effects_ ? effects_->count() : 0, trainings ? trainings->steps_taken() : 0};
    }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step();  // true while there is more to compute

    // A mistake as this head can make it.
    const PossibleMistake& at(Index mistake) const {
        return made_.kept()->possible[static_cast<std::size_t>(mistake)];
    }
    const PossibleMistake& chosen() const { return at(state.mistake); }
    // The variant whose effects are shown.
    std::size_t variant_of(Index mistake) const;
    const MistakeEffect* effect(Index mistake) const;  // null until it is computed
    const MistakenHead* right() const { return effects_ ? effects_->right() : nullptr; }
    const MistakenHead* mistaken() const {
        return effects_ ? effects_->mistaken(state.mistake, variant_of(state.mistake)) : nullptr;
    }
    const MistakenHead* of(Side side) const { return side == Side::right ? right() : mistaken(); }
    bool all_known() const;
    // The mistakes that the head can make: the largest change of the output first once all are known.
    std::vector<Index> listed() const;

    // ---- Training -------------------------------------------------------------------------------------
    // The implementation of a run; none: the network cannot make that mistake.
    std::optional<Implementation> trained_how(Index mistake) const;
    const MistakenTraining* training(Index run) const;  // a run is an index of run_keys; null: not begun
    // The runs that have begun, the right one first.
    std::vector<Index> runs() const;
    std::optional<double> learned(Index run, Learned number) const;

    State state;
    HeadIndex head;
    MistakenTrainings* trainings = nullptr;  // the visit's, so that they outlast the lens
    std::shared_ptr<const Record> record;
    CheckedRows rows;
    std::optional<Index> key_chosen;
    std::string refused;  // why there is nothing to show; empty if there is

  private:
    bool step_training();
    struct Origin {
        std::shared_ptr<const Record> record;
        std::shared_ptr<const Trace> trace;
        bool operator==(const Origin&) const = default;
    };
    struct Made {
        std::shared_ptr<const AttentionCase> given;
        std::vector<PossibleMistake> possible;
        std::string refused;
    };
    Derived<Origin, Made> made_;
    std::optional<MistakeEffects> effects_;  // none before the first rows
};

// Texts.
std::string change_text(double change);  // "0.43", "NaN"
std::string window_text(const Model& model);
bool is_seen(const MistakeEffect& effect);               // in a map of the rows shown
std::string name_of(const Model& model, Index mistake);  // with its variant

Sheet effects_sheet(const Model& model, Subject& subject);
Sheet weights_sheet(const Model& model, Subject& subject, Side side);
Sheet scores_sheet(const Model& model, Subject& subject);
Sheet output_sheet(const Model& model, Subject& subject);
Sheet gradient_sheet(const Model& model, Subject& subject);
Sheet impossible_sheet(const Model& model);
Sheet learned_sheet(const Model& model);
std::string run_name(const Model& model, Index run);
std::string training_headline(const Model& model);
std::optional<Explained> explain_loss(Model& model, Subject& subject, const LensCell& cell);
std::optional<Explained> explain_learned(Model& model, Subject& subject, const LensCell& cell);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::pitfalls
