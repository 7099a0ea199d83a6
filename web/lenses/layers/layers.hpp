// Lens Layers: how the residual stream becomes the answer. The stream is decoded after each attention and
// MLP, and the logit of a token is split into the contributions of all parts of the model.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attention_gradient.hpp"
#include "analysis/attribution/direct_attribution.hpp"
#include "analysis/attribution/effects.hpp"
#include "analysis/attribution/logit_lens.hpp"
#include "analysis/attribution/rollout.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/lens.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

struct LayersState {
    std::optional<std::int32_t> token;  // the token whose logit is followed; none: the most likely at the end
    std::optional<Index> place;         // where the stream is decoded; none: at the end
    bool operator==(const LayersState&) const = default;
    static const Fields<LayersState>& fields();
};
using SetLayers = Set<LayersState>;

LinkRows layers_links();

enum class TokenMeasure { direct, rollout, gradient, exact };
inline constexpr Index token_measure_count = 4;

// The lens's own numbers. A place is an index into LogitLens::places.
namespace layers_cells {
inline constexpr std::array<std::string_view, token_measure_count> measure_words{"direct", "rollout",
                                                                                 "gradient", "ablation"};
inline constexpr CellAxis measure_axis{"measure", measure_words};

inline constexpr CellKind likeliest{"likeliest", {CellAxis{"place"}, {"position"}}};
inline constexpr CellKind probability{"probability", {CellAxis{"place"}, {"token"}}};
inline constexpr CellKind rank{"rank", {CellAxis{"place"}, {"token"}}};
inline constexpr CellKind logit{"logit", {CellAxis{"place"}, {"token"}}};
inline constexpr CellKind norm{"norm", {CellAxis{"place"}}};
inline constexpr CellKind cosine{"cosine", {CellAxis{"place"}}};
// Index into DirectAttribution::shares.
inline constexpr CellKind attribution{"attribution", {CellAxis{"part"}}};
inline constexpr CellKind token{"token", {measure_axis, {"position"}}};
inline constexpr CellKind encoder_token{"encoder_token", {measure_axis, {"position"}}};
}  // namespace layers_cells
CellKinds layers_numbers();
std::optional<CellRef> packed_layers_cell(Index row, Index col);

// Writes "after the embedding", "after the attention of layer 2"; short: "embedding", "attention 2".
std::string place_in_words(const StreamPlace& place);
std::string place_name(const StreamPlace& place);

class LayersLens final : public Lens {
  public:
    using Lens::Lens;

    void follow(const State& before, Change how) override;
    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject& subject) const override { return subject.runs_model(); }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    Guide guide(Subject& subject) const override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.own.kind != nullptr; }

    // The results on screen; null until all are complete.
    const LogitLens* reading() const { return read_.complete ? read_.stream.get() : nullptr; }
    const DirectAttribution* parts() const { return read_.complete ? &read_.followed->parts : nullptr; }
    const TokenShares* measured(TokenMeasure measure) const;
    // How far the logit falls without each token, as far as known; NaN elsewhere.
    const TokenShares* falls_so_far() const { return exact_ ? &*exact_ : nullptr; }
    // Rank correlation between a measure of tokens and the exact effects, over the tokens that can affect the
    // position. Rollout has no signs, so it is compared with the size of the effect. Nothing until both are
    // there.
    std::optional<double> agreement(TokenMeasure measure) const;
    std::int32_t token() const { return parts()->token(); }  // the followed token
    Index place() const;                                     // where the stream is decoded
    bool step(Subject& subject);                             // true while there is more to do

  private:
    using States = std::vector<LogitLens::State>;
    struct Kept {
        std::shared_ptr<const Trace> trace;
        Index row;
        std::int32_t token;
        LensCell cell;
        std::optional<Explained> why;
    };
    // A token that is followed through a row's residual stream.
    struct Followed {
        DirectAttribution parts;
        std::vector<Index> ranks;  // ranks at the places, as far as known
    };
    struct Read {
        std::shared_ptr<LogitLens> stream;
        std::optional<Followed> followed = {};
        bool complete = false;
    };
    void update(Subject& subject);
    std::int32_t token_of(const LogitLens& stream) const;  // the token to follow there
    bool step(Read& read) const;                           // true while there is more to do
    void show(Read read);
    bool measure();
    bool take_tokens_out();  // ablates tokens one after another; true while there is more to do
    std::vector<Index> by_importance(Index tokens, bool encoded) const;  // the most important first
    Index row() const { return read_.stream->row(); }
    const std::vector<Index>& ranks() const { return read_.followed->ranks; }
    const States* states_at(Index position) const;  // null until they are decoded

    // The attention whose queries are the stream's rows, and the one whose queries are the encoder's.
    static Attention& stream_text(Subject& subject);
    static Attention* encoder_text(Subject& subject);
    static Index row_of(Subject& subject);
    std::string after_words(Subject& subject) const;    // "after “It”"
    std::string followed_name(Subject& subject) const;  // "“tired” after “It”"
    std::string part_name(const Attention& attention, const LogitShare& share) const;
    // The token that the text has where the logits predict one, if it continues.
    std::optional<std::int32_t> token_in_text() const;

    friend CellKinds layers_numbers();
    static const std::array<LensNumber<LayersLens>, 9> declared;
    // Says whether there is such a place and, if the cell belongs to a token, such a token.
    bool is_read(const LensCell& cell) const;
    std::optional<Explained> explain_likeliest(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_probability(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_rank(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_logit(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_state(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_attribution(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_token(Subject& subject, const LensCell& cell);
    Explained probability_of(Subject& subject, Index place, Index position, std::int32_t id, double logit,
                             double probability);
    // The cells of the stream's numbers at a place.
    CellPlace stream_cell(Subject& subject, const StreamPlace& place, Index row, Index column) const;
    Explained begin(Subject& subject, std::string title) const;

    Range positions() const;  // positions at which the stream is decoded
    SheetAxis place_axis() const;
    Sheet places_sheet(Subject& subject);
    Sheet heads_sheet() const;
    Sheet tokens_sheet(Subject& subject, bool encoded) const;
    Table followed_table(Subject& subject) const;
    Table sum_table(Subject& subject) const;

    void draw_controls(const Drawing& drawing);
    void draw_places(const Drawing& drawing, Subject& subject, float width);
    void draw_said(const Drawing& drawing, Subject& subject, float width);
    void draw_curves(const Drawing& drawing, Subject& subject, bool of_token, float width, float height);
    void draw_sum(const Drawing& drawing, Subject& subject);
    void draw_parts(const Drawing& drawing, Subject& subject, float width);
    void draw_heads(const Drawing& drawing, float width);
    void draw_tokens(const Drawing& drawing, Subject& subject, float width);
    void choose(const Drawing& drawing, Index position) const;
    void read_at(std::optional<Index> place) const;
    void set(LayersState wanted) const;

    std::shared_ptr<const Trace> trace_;
    std::string refused_;  // why another token than the requested one is followed
    // The next result, for another row or another token: the one on screen stays until it is complete.
    Read read_, next_;
    std::optional<Rollout> rollout_;
    std::optional<AttentionGradient> gradient_;
    std::string no_gradient_;  // why there is none; empty if there is one, or will be
    std::optional<AblationEffects> taken_out_;
    std::vector<Index> taken_order_;    // variants of without_tokens in the order in which they run
    std::optional<TokenShares> exact_;  // what is known of the exact effects
    bool tokens_in_view_ = false;       // in the last frame
    std::map<Index, States> others_;    // results at other positions
    std::optional<LogitLens> other_;    // the one in progress
    std::optional<Kept> kept_;
    Vocabulary vocabulary_;
    TokenSearch search_;
};

}  // namespace attn::app
