// Lens Order: what attention knows about the order of its tokens. When tokens are dragged, their outputs move
// along, and stay if only keys are dragged, unless a mask or a position scheme encodes positions. It shows
// six schemes on the same q and k, RoPE pair by pair, and scores over distance, also beyond the trained
// length.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "lenses/order/content.hpp"
#include "lenses/order/lengths.hpp"
#include "lenses/order/state.hpp"

namespace attn::app {

enum class TokenOrder { original, permuted };  // permuted: as arranged on screen
enum class Precision { f32, f64 };

// The lens's own numbers.
namespace order_cells {
inline constexpr std::array<std::string_view, 2> order_words{"original", "permuted"};
inline constexpr std::array<std::string_view, 2> precision_words{"f32", "f64"};
inline constexpr std::array<std::string_view, length_scalings> scaling_words{"plain", "linear", "ntk", "yarn",
                                                                             "llama3"};
inline constexpr CellAxis scheme_axis{"scheme", position_scheme_keys}, scaling_axis{"scaling", scaling_words};

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
}  // namespace order_cells
CellKinds order_numbers();
std::optional<CellRef> packed_order_cell(Index row, Index col);

inline constexpr Index order_pairs_shown = 32;

class OrderLens final : public Lens {
  public:
    using Lens::Lens;

    void follow(const State& before, Change how) override;
    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }
    std::string spoken(Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    Guide guide(Subject& subject) const override;

    // The results on screen, recomputed when their inputs change. Null while there are no inputs.
    const OrderContent* content(Subject& subject);
    struct Runs {
        PlacedRun before, after;
        CarriedError carried;
        std::optional<PlacedRun>
            shifted{};  // with all positions shifted; none: the scheme lacks such a position
        std::optional<ScoreChange> change{};  // caused by the shift
        bool along() const { return carried.most_f32() <= reorder_rounding(after); }
    };
    const Runs* runs(PositionScheme scheme) const;  // null: the scheme lacks these positions
    // The schemes available for this head, in order; the last one needs the head's own biases.
    std::span<const PositionScheme> offered() const;
    const std::vector<Index>& order() const { return order_; }
    // The same if queries and keys are the same tokens.
    const std::vector<Index>& key_order() const { return key_order_; }
    const DistanceCurves& distances();
    const LengthCurves& lengths();

  private:
    struct Seen {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        Range queries, keys;
        bool operator==(const Seen&) const = default;
    };
    struct RunsOf {
        std::vector<Index> order, key_order;
        bool masked = false, interleaved = false;
        Index shift = 0;
        std::uint32_t seed = 0;
        bool operator==(const RunsOf&) const = default;
    };
    struct CurvesOf {
        CurvePair pair;
        bool interleaved = false, masked = false;
        std::uint32_t seed = 0;
        Index reach = 0, trained = 0, factor = 0;
        bool operator==(const CurvesOf&) const = default;
    };
    const OrderState& now() const { return state().of<OrderState>(); }
    void update(Subject& subject);
    void forget();
    void compute();
    PositionRule rule_of(PositionScheme scheme) const;
    std::vector<Index> query_positions(Index shift = 0) const;  // indexed by place
    std::vector<Index> key_positions(Index shift = 0) const;
    bool in_own_order() const;
    Index place_of(Index query) const;  // its place in the order on screen
    Index key_place_of(Index key) const;
    // The tokens whose q and k are shown, as indices into the content.
    Index query() const;
    Index key() const;
    Index query_position() const { return content_->query_position(place_of(query())) + now().turn; }
    Index key_position() const { return content_->key_position(key_place_of(key())); }
    Index trained() const;
    std::string lacking() const;   // why there are no runs of the chosen scheme
    std::string why() const;       // why the outputs moved along, or did not
    std::string told() const;      // where q and k come from
    std::string standing() const;  // positions of queries and keys, if they are different tokens

    friend CellKinds order_numbers();
    static const std::array<LensNumber<OrderLens>, 10> declared;
    std::optional<Explained> explain_output(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_output_change(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_largest_change(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_shift(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_score(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_pair(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_distance(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_extrapolated(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_wavelength(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_change(PositionScheme scheme, Index token) const;
    CellPlace place(const CellRef& cell) const { return {content_->head(), cell}; }
    std::optional<CellPlace> content_place(Stage stage, Index token, Index component) const;
    std::optional<CellPlace> placed_place(const PositionRule& rule, Stage stage, Index token, Index component,
                                          Index position) const;
    bool has_own_weights(Index token) const;
    std::string name(Index query) const;
    std::string key_name(Index key) const;

    Sheet outputs_sheet(const Runs& shown, TokenOrder order) const;
    Sheet schemes_sheet() const;
    Table order_table(std::string title, bool keys) const;
    Sheet scores_sheet(const Runs& shown) const;

    void set(OrderState wanted) const;
    void draw_presets();
    void draw_controls(Subject& subject);
    void draw_tokens(const Drawing& drawing, float width, bool keys);
    void draw_outputs(const Drawing& drawing, float width);
    void draw_schemes(const Drawing& drawing, float width);
    void draw_scores(const Drawing& drawing, float width);
    void draw_pair_controls(const Drawing& drawing);
    void draw_dials(const Drawing& drawing);
    void draw_distances(const Drawing& drawing, float width);
    void draw_lengths(const Drawing& drawing);

    std::string refused_;  // why there is nothing to compute; empty if there is something
    Seen seen_;
    std::shared_ptr<const OrderContent> content_;
    RunsOf runs_of_;
    std::vector<Index> order_, key_order_;
    std::array<std::optional<Runs>, position_schemes> runs_;
    CurvesOf curves_of_;
    std::optional<DistanceCurves> distances_;
    std::optional<LengthCurves> lengths_;
};

}  // namespace attn::app
