// Lens Steer: a direction is added to the residual stream of a run, as far as a dial says. It shows the next
// token and the continuation before and after, and the logits along the dial. The direction and its dial are
// a change of the run, so that the whole page shows the steered run.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/logits_under.hpp"
#include "analysis/heads/steering.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "model/generate.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::steer {

using Kind = SteeringDirection::Kind;

enum class Measure : std::uint8_t { probability, logit };  // along the dial

struct State {
    Measure measure = Measure::probability;
    std::optional<std::int32_t> follow = {};  // a token to follow along the dial beside the usual ones
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The dial's positions in the chart.
inline constexpr Index dial_points = 17;
inline constexpr double most_dial = 2;
constexpr double dial_at(Index point) {
    return most_dial * static_cast<double>(2 * point - dial_points + 1) /
           static_cast<double>(dial_points - 1);
}
inline constexpr std::size_t most_written = 12;  // tokens of a continuation

enum class Side { before, after };

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 3> length_words{"stream", "direction", "added"};
inline constexpr std::array<std::string_view, 2> side_words{"before", "after"},
    measure_words{"probability", "logit"};

inline constexpr CellKind length{"length", {CellAxis{"length", length_words}}};
inline constexpr CellKind next{"next", {CellAxis{"run", side_words}, {"token"}}};
inline constexpr CellKind dial{"dial", {CellAxis{"measure", measure_words}, {"point"}, {"token"}}};
inline constexpr CellKind written{"written", {CellAxis{"run", side_words}, {"place"}}};
}  // namespace cells
CellKinds numbers();

// A row of logits, and the logarithm of the sum of their exponentials.
struct NextToken {
    std::vector<float> logits = {};  // [vocabulary]
    double log_sum = 0;

    explicit NextToken(std::span<const float> of);
    double logit(std::int32_t id) const { return static_cast<double>(logits[static_cast<std::size_t>(id)]); }
    double probability(std::int32_t id) const;
    bool is_finite() const;
};

// A run under interventions, what comes next in it, and how the likeliest tokens continue it.
class SteeredText {
  public:
    using Traces = std::array<std::shared_ptr<const Trace>, 2>;
    struct Written {
        std::int32_t id = 0;
        double logit = 0, log_sum = 0;
        double probability() const;
    };

    SteeredText(std::vector<Intervention> by, Index row) : by_(std::move(by)), row_(row) {}

    // Does a slice of the run, which begins at the first of `known` unless one of these is the run.
    bool step_next(const Traces& known);
    bool step_written();  // does a slice of the continuation; both return whether there is more to do
    const std::vector<Intervention>& by() const { return by_; }
    const std::optional<NextToken>& next() const { return next_; }
    std::span<const Written> written() const { return written_; }

  private:
    void write();

    std::vector<Intervention> by_;
    Index row_;
    std::shared_ptr<const Trace> trace_;
    std::optional<ForwardPass> pass_;
    std::optional<NextToken> next_;
    std::optional<Generator> generator_;
    std::vector<Written> written_;
    bool ended_ = false;
};

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "Positions stay tokens: the direction is added to the stream of each of them.";
    }
    static bool suits(Subject& subject) { return subject.text_model() != nullptr; }
    static Guide guide(Subject& subject);

    // What the direction and the changes around it follow from.
    struct Of {
        Steering steering;  // at dial 0
        std::uint64_t version = 0;
        std::shared_ptr<const Trace> unchanged, second;
        std::uint64_t texts = 0;  // version of the texts that the direction is taken from
        Index row = -1;           // whose logits are read
        bool operator==(const Of&) const = default;
    };
    struct Key {
        Of of;
        double dial = 0, shown_dial = 0;
        std::size_t done = 0;  // counts what is computed
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step(Subject& subject);                // true while there is more to do
    const SteeredText* side(Side which) const;  // null until its next token is known
    const NextToken& next(Side which) const { return *side(which)->next(); }
    bool is_ready() const { return refused.empty() && side(Side::before); }
    std::int32_t likeliest(Side which) const;
    std::string token_name(Subject& subject) const;  // the direction's token
    std::string direction_name(Subject& subject) const;
    std::string place_name(Subject& subject) const;  // "before layer 2"

    State state;
    Of of;
    Steering steering;      // in the run, or the one to try
    bool steers = false;    // a change of the run has a direction
    double dial_shown = 0;  // the dial of the numbers after
    std::string refused;    // why there are no numbers; empty if there are some
    std::optional<SteeredRun> run;
    std::optional<LogitsUnder> sweep;
    std::vector<double> sweep_sums;              // log_sum for each run done
    std::vector<std::int32_t> listed, followed;  // tokens in the bars, and in the chart
    Vocabulary vocabulary;
    TokenSearch search;
    std::vector<std::int32_t> typed;  // tokens found by typing

  private:
    Steering usual(const Attention& attention, Index row) const;
    void find_run(TextModel& model, bool same_row);
    void find_sides();
    void list_tokens();
    std::vector<Intervention> changes_at(double dial) const;

    SteeredText::Traces known_;
    std::optional<SteeredText> before_, after_, coming_;
};

Sheet lengths_sheet(const Model& model, Subject& subject);
Sheet written_sheet(const Model& model, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::steer
