// Lens Order: what attention knows of the order of its tokens. Tokens are dragged to other places; their outputs move
// along, and stay where keys alone are dragged, unless a mask or a position scheme says where they stand. Six schemes on the same q and k, RoPE pair by pair,
// scores over distance, and beyond the trained length.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lenses/lens.hpp"
#include "lenses/order/content.hpp"
#include "lenses/order/lengths.hpp"
#include "lenses/order/state.hpp"

namespace attn::ui {
struct ChartReply;
}

namespace attn::app {

// The lens's own numbers are the rows of Stage::lens; what the columns are:
enum class OrderNumber : Index {
    before,      // token · d_v + component: outputs of the tokens in their own order
    after,       // the same, in the order on screen
    off,         // token: how far its output is from the one before
    scheme_off,  // scheme: the largest of these
    equal,       // scheme: scores that a shift leaves equal in all bits
    shift_f32,   // scheme: the largest difference that it makes
    shift_f64,   // scheme
    score,       // query's place · keys + key's place, in the order on screen
    pair,        // pair of components
    distance,    // scheme · (order_reach_limit + 1) + distance
    length,      // scaling · bins + bin
    wavelength,  // scaling · pairs + pair
};
CellRef cell_of(OrderNumber number, Index column);

inline constexpr Index order_pairs_shown = 32, order_components_shown = 16;

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

    // What is shown; computed anew when that changes. Null while there is nothing to compute with.
    const OrderContent* content(Subject& subject);
    struct Runs {
        PlacedRun before, after;
        CarriedError carried;
        std::optional<PlacedRun>
            shifted{};  // after, all positions shifted; none: the scheme knows no such place
        std::optional<ScoreChange> change{};  // by the shift
        bool along() const { return carried.most_f32() <= reorder_rounding(after); }
    };
    const Runs* runs(PositionScheme scheme) const;  // null: the scheme does not know these positions
    // The schemes that this head has, in their order: the last one needs biases of its own.
    std::span<const PositionScheme> offered() const;
    const std::vector<Index>& order() const { return order_; }
    const std::vector<Index>& key_order() const { return key_order_; }  // the same where there is one line
    const DistanceCurves& distances();
    const LengthCurves& lengths();

  private:
    struct Seen {
        std::uint64_t version = 0;  // of the attention
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
    std::vector<Index> query_positions(Index shift = 0) const;  // of the places
    std::vector<Index> key_positions(Index shift = 0) const;
    bool in_own_order() const;
    Index place_of(Index query) const;  // where it stands in the order on screen
    Index key_place_of(Index key) const;
    // The tokens whose q and k are looked at, counted in the content.
    Index query() const;
    Index key() const;
    Index query_position() const { return content_->query_position(place_of(query())) + now().turn; }
    Index key_position() const { return content_->key_position(key_place_of(key())); }
    Index trained() const;
    std::string lacking() const;   // why there are no runs of the chosen scheme
    std::string why() const;       // why the outputs moved along, or not
    std::string told() const;      // where q and k come from
    std::string standing() const;  // where queries and keys stand, if they are other tokens

    std::optional<Explained> explain_output(OrderNumber which, Index token, Index component) const;
    std::optional<Explained> explain_off(PositionScheme scheme, Index token) const;
    std::optional<Explained> explain_shift(OrderNumber which, PositionScheme scheme) const;
    std::optional<Explained> explain_score(Index query_place, Index key_place) const;
    std::optional<Explained> explain_pair(Index pair) const;
    std::optional<Explained> explain_distance(PositionScheme scheme, Index distance);
    std::optional<Explained> explain_length(std::size_t scaling, Index bin);
    std::optional<Explained> explain_wavelength(std::size_t scaling, Index pair);
    CellPlace place(OrderNumber number, Index column) const;
    std::optional<CellPlace> content_place(Stage stage, Index token, Index component) const;
    std::optional<CellPlace> placed_place(const PositionRule& rule, Stage stage, Index token, Index component,
                                          Index position) const;
    bool has_own_weights(Index token) const;
    std::string name(Index query) const;
    std::string key_name(Index key) const;

    void set(OrderState wanted) const;
    void draw_presets();
    void draw_controls(Subject& subject);
    void draw_tokens(const Drawing& drawing, float width, bool keys);
    void draw_outputs(const Drawing& drawing, float width);
    void draw_shift();
    void draw_schemes(const Drawing& drawing, float width);
    void draw_scores(const Drawing& drawing, float width);
    void draw_dials(const Drawing& drawing);
    void draw_distances(const Drawing& drawing, float width);
    void draw_lengths(const Drawing& drawing);
    void answer(const Drawing& drawing, const ui::ChartReply& reply,
                const std::optional<CellRef>& cell) const;

    std::string refused_;  // why there is nothing to compute; empty if there is
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
