// Lens Numerics: the chain of a head with every step rounded as in a format of 64 to 8 bits, emulated bit by
// bit (analysis/numerics): the largest error by stage and format, the error of each cell, what the order of
// sums and the subtracted maximum do to it, where overflow began, and how much of each format's range the
// head's largest activations use.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/numerics/rounded_chain.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::numerics {

inline constexpr std::size_t format_count = number_formats.size();
inline constexpr std::size_t order_count = 4;

struct State {
    NumberFormat format = NumberFormat::f16;
    RoundedSteps steps = RoundedSteps::all;
    SumOrder order = SumOrder::in_order;
    bool without_max = false;  // the maximum is not subtracted
    ChainStage stage = ChainStage::weight;
    ErrorMeasure measure = ErrorMeasure::absolute;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();

    Arithmetic arithmetic() const { return {format, steps, order, !without_max}; }
};
LinkRows links();

// The lens's own numbers.
namespace cells {
inline constexpr auto format_words = [] {
    std::array<std::string_view, format_count> words;
    for (std::size_t i = 0; i < format_count; ++i) words[i] = number_formats[i].key;
    return words;
}();
inline constexpr std::array<std::string_view, order_count> order_words{"in_order", "pairs", "compensated",
                                                                       "online"};
inline constexpr std::array<std::string_view, extreme_count> extreme_words{
    "q", "k", "v", "raw", "score", "exponential", "sum", "least_exponential", "least_weight"};
inline constexpr CellAxis stage_axis{"stage", chain_stage_keys}, format_axis{"format", format_words};

inline constexpr CellKind largest{"largest", {stage_axis, format_axis}};
inline constexpr CellKind error{"error", {stage_axis, {"row"}, {"column"}}};
inline constexpr CellKind order{"order", {CellAxis{"order", order_words}, {"query"}}};
inline constexpr CellKind range{"range", {CellAxis{"activation", extreme_words}, format_axis}};
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        ChainWindow window;
        State state;
        Index query = 0;
        std::size_t chains = 0;  // finished ones
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step();  // true while there is more to compute
    // Null until it is computed.
    const RoundedChain* chain(const Arithmetic& how) const;
    const RoundedChain* chosen() const { return chain(state.arithmetic()); }
    Arithmetic with_format(std::size_t format) const;
    Arithmetic with_order(std::size_t order) const;
    const StageErrors* errors(const RoundedChain* of, ChainStage stage) const {
        return of ? &of->errors()[number_of(stage)] : nullptr;
    }
    const ExtremeAt* extreme(std::size_t which);  // null: there is none, or not yet
    // The chosen stage, or the weights if the head has no such stage.
    ChainStage shown_stage() const;
    // Where nothing is added to the scores, or no cap is put on them, the last stage before that.
    ChainStage on_screen(ChainStage stage) const;
    // The stage whose error depends on the order of sums.
    ChainStage summed_stage() const;

    State state;
    HeadIndex head;
    Index query = 0;
    std::optional<Index> key_chosen;
    ChainWindow window;
    bool with_values = false;
    std::vector<ChainStage> stages;
    std::string refused;  // why there is nothing to show; empty if there is

  private:
    std::vector<Arithmetic> wanted() const;
    std::vector<std::shared_ptr<RoundedChain>> chains_;
    Derived<ChainWindow, std::array<std::optional<ExtremeAt>, extreme_count>> extremes_;
};

// Texts.
const char* stage_name(ChainStage stage);  // "weights"
std::string arithmetic_text(const Arithmetic& how);
std::string place_text(Subject& subject, const ChainCell& cell);  // "“It” × “animal”"
// Says what made a number infinite, NaN or 0.
std::string cause_text(const RoundedChain& chain, const ChainCell& made);

// The logarithm of an activation over that of the largest, or of the least, number of a format: above 1 it
// does not fit.
double range_used(const ExtremeAt& extreme, std::size_t which, const FormatInfo& format);
double log2_of_end(std::size_t which, const FormatInfo& format);  // the largest number, or the least
Sheet largest_sheet(const Model& model, Subject& subject);
Sheet errors_sheet(const Model& model, Subject& subject);
Sheet range_sheet(Model& model, Subject& subject);
// The way from the first number that is not finite to the last stage; none if all are finite.
std::optional<Sheet> way_sheet(const Model& model, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::numerics
