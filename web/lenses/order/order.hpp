// Lens Order: what attention knows about the order of its tokens. When tokens are dragged, their outputs move
// along, and stay if only keys are dragged, unless a mask or a position scheme encodes positions. It shows
// six schemes on the same q and k, RoPE pair by pair, and scores over distance, also beyond the trained
// length.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heads/distance_curves.hpp"
#include "analysis/heads/reordering.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"

namespace attn::app::order {

inline constexpr Index tokens_limit = 12, turn_limit = 4096, reach_limit = 512, trained_limit = 1'000'000,
                       factor_limit = 64;

struct State {
    PositionScheme scheme = PositionScheme::none;
    // The token at each place, counted from the first in view; empty: the original order. If keys are
    // different tokens, this orders the queries.
    std::vector<Index> order{};
    std::optional<Index> first{};    // the first token in view; none: chosen so that the query is in view
    std::vector<Index> key_order{};  // order of the keys, if they are different tokens
    std::optional<Index> first_key{};
    bool masked = false;       // applies the head's own mask
    bool interleaved = false;  // RoPE pairs components (2a, 2a + 1); otherwise (a, a + d_k/2)
    Index shift = 1000;        // added to all positions
    Index turn = 0;            // added to the position of the dials' query
    Index reach = 128;         // the largest distance on the curves
    bool mean = false;         // curves of the tokens' mean q and k, not of the chosen pair
    Index trained = 0;         // length in tokens; 0: the model's own
    Index factor = 4;          // factor of the context extension
    Index far = 0;             // the distance in question there; 0: the trained length
    Index pair = 0;            // the pair whose wavelength is shown
    std::uint32_t seed = 1;    // for parameters that a scheme would have learned
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

std::string_view scheme_name(PositionScheme scheme);
inline constexpr std::array scaling_names{"plain RoPE", "linear", "NTK-aware", "YaRN", "Llama 3"};

// Returns an order of this many tokens: the given one if its length matches.
std::vector<Index> order_of(const std::vector<Index>& order, Index tokens);
// Returns the order after moving a token from one place to another.
std::vector<Index> with_moved(std::vector<Index> order, Index from, Index to);

enum class TokenOrder { original, permuted };  // permuted: as arranged on screen
enum class Precision { f32, f64 };

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, position_schemes> scheme_words{
    "none", "learned", "sinusoidal", "rope", "alibi", "t5", "own"};
inline constexpr std::array<std::string_view, 2> order_words{"original", "permuted"};
inline constexpr std::array<std::string_view, 2> precision_words{"f32", "f64"};
inline constexpr std::array<std::string_view, length_scalings> scaling_words{"plain", "linear", "ntk", "yarn",
                                                                             "llama3"};
inline constexpr CellAxis scheme_axis{"scheme", scheme_words}, scaling_axis{"scaling", scaling_words};

inline constexpr CellKind output{"output", {CellAxis{"order", order_words}, {"token"}, {"component"}}};
inline constexpr CellKind output_change{"output_change", {CellAxis{"token"}}};  // caused by the reordering
inline constexpr CellKind largest_output_change{"largest_output_change", {scheme_axis}};
inline constexpr CellKind equal_scores{"equal_scores", {scheme_axis}};  // bitwise, after a shift
inline constexpr CellKind largest_score_change{"largest_score_change",  // caused by a shift
                                               {scheme_axis, {"precision", precision_words}}};
inline constexpr CellKind score{"score",
                                {CellAxis{"place of the query"}, {"place of the key"}}};  // on screen
inline constexpr CellKind rotary_pair{"rotary_pair", {CellAxis{"pair"}}};
inline constexpr CellKind score_at_distance{"score_at_distance", {scheme_axis, {"distance"}}};
inline constexpr CellKind extrapolated_score{"extrapolated_score", {scaling_axis, {"bin"}}};
inline constexpr CellKind wavelength{"wavelength", {scaling_axis, {"pair"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

// The queries or the keys in view.
struct Tokens {
    Range in_view;
    std::vector<std::string> names;
    std::vector<Index> order = {};  // the token at each place
    Index first_position = 0;
    Index chosen = 0;  // the token whose q or k is shown

    Index size() const { return in_view.size(); }
    const std::string& name(Index token) const { return names[static_cast<std::size_t>(token)]; }
    const std::string& chosen_name() const { return name(chosen); }
    Index token_at(Index place) const { return order[static_cast<std::size_t>(place)]; }
    Index place_of(Index token) const { return std::ranges::find(order, token) - order.begin(); }
    Index position(Index place) const { return first_position + place; }
};

struct Curves {
    DistanceCurves distances;
    LengthCurves lengths;
    bool done() const { return distances.done() && lengths.done(); }
    bool step() { return distances.step() || lengths.step(); }
};

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    // What the numbers are about.
    struct Seen {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        Range queries, keys;
        bool operator==(const Seen&) const = default;
    };
    struct Key {
        Seen seen;
        Index query = 0, key = 0;
        State state;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {seen, queries.chosen, keys.chosen, state}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    // Null: the scheme lacks these positions.
    const Reordering* run(PositionScheme scheme) const;
    const Reordering* run() const { return run(state.scheme); }
    PositionRule rule(PositionScheme scheme) const;
    // The schemes available for this head, in order; the last one needs the head's own biases.
    std::span<const PositionScheme> offered() const;
    bool in_own_order() const;
    // The positions of the chosen tokens.
    Index query_position() const { return queries.position(queries.place_of(queries.chosen)) + state.turn; }
    Index key_position() const { return keys.position(keys.place_of(keys.chosen)); }
    Index trained() const;
    struct CurvesOf {
        Seen seen;
        CurvePair pair;
        bool interleaved = false, masked = false;
        std::uint32_t seed = 0;
        Index reach = 0, trained = 0, factor = 0;
        bool operator==(const CurvesOf&) const = default;
    };
    CurvesOf curves_of() const;
    Curves& curves();

    State state;
    std::string refused;  // why there is nothing to compute; empty if there is something
    Seen seen;
    std::shared_ptr<const UnplacedRows> content;  // null: there are no tokens
    Tokens queries, keys;
    struct RunsOf {
        Seen seen;
        std::vector<Index> order, key_order;
        bool masked = false, interleaved = false;
        Index shift = 0;
        std::uint32_t seed = 0;
        bool operator==(const RunsOf&) const = default;
    };
    Derived<RunsOf, std::array<std::optional<Reordering>, position_schemes>> runs;
    Derived<CurvesOf, Curves> kept_curves;
};

// Why there are no runs of the chosen scheme.
std::string lacking(const Model& model);
// Where q and k come from, how queries and keys stand to each other, and why the outputs moved along or not.
std::string told(const Model& model);

// Writes as few digits as a change needs: "2e-08", "0.31".
std::string brief(double change);
Sheet outputs_sheet(const Model& model, const Reordering& run, TokenOrder order);
Sheet schemes_sheet(const Model& model);
Sheet scores_sheet(const Model& model, const Reordering& run);

void draw_model(Model& model, const Drawing& drawing, Subject& subject);
// Draws RoPE as dials, and the scores over distance.
void draw_curves(Model& model, const Drawing& drawing, Subject& subject);
// Belongs to the current gesture.
void set(Model& model, const Drawing& drawing, Subject& subject, State wanted);

}  // namespace attn::app::order
