// Lens Layers: the residual stream as it becomes the answer. It is read after every half of every block, and the logit of a
// token is taken apart into what every part of the model adds to it.
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
    std::optional<std::int32_t> token;  // whose logit is followed; none: the likeliest at the end
    std::optional<Index> place;         // where the stream is read; none: at the end
    bool operator==(const LayersState&) const = default;
};

template <>
const Fields<LayersState>& fields_of();
using SetLayers = Set<LayersState>;

LinkRows layers_links();

enum class TokenMeasure { direct, rollout, gradient, exact };
inline constexpr Index token_measure_count = 4;

// The lens's own numbers. A place is one of LogitLens::places.
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
inline constexpr CellKind attribution{"attribution", {CellAxis{"part"}}};  // of DirectAttribution::shares
inline constexpr CellKind token{"token", {measure_axis, {"position"}}};
inline constexpr CellKind encoder_token{"encoder_token", {measure_axis, {"position"}}};
}  // namespace layers_cells
CellKinds layers_numbers();
std::optional<CellRef> packed_layers_cell(Index row, Index col);

// "after the embedding", "after the attention of layer 2"; short: "embedding", "attention 2".
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

    // What is on screen; null until it is complete, together.
    const LogitLens* reading() const { return read_.complete ? read_.stream.get() : nullptr; }
    const DirectAttribution* parts() const { return read_.complete ? &read_.followed->parts : nullptr; }
    const TokenShares* measured(TokenMeasure measure) const;
    // What the logit falls by without each token, as far as that is done; NaN where it is not.
    const TokenShares* falls_so_far() const { return exact_ ? &*exact_ : nullptr; }
    // How alike a measure of tokens and the exact effects are in their order, over the tokens that the position reaches.
    // Rollout knows no signs, so it is compared with how far the logit moves. Nothing until both are there.
    std::optional<double> agreement(TokenMeasure measure) const;
    std::int32_t token() const { return parts()->token(); }  // that is followed
    Index place() const;                                     // where the stream is read
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
    // A token that is followed through a row's stream.
    struct Followed {
        DirectAttribution parts;
        std::vector<Index> ranks;  // at the places, as far as they are known
    };
    struct Read {
        std::shared_ptr<LogitLens> stream;
        std::optional<Followed> followed = {};
        bool complete = false;
    };
    void update(Subject& subject);
    std::int32_t token_of(const LogitLens& stream) const;  // that is to be followed there
    bool step(Read& read) const;                           // true while there is more to do
    void show(Read read);
    bool measure();
    bool take_tokens_out();  // one after another; true while there is more to do
    std::vector<Index> by_importance(Index tokens, bool encoded) const;  // the most important first
    Index row() const { return read_.stream->row(); }
    const std::vector<Index>& ranks() const { return read_.followed->ranks; }
    const States* states_at(Index position) const;  // null until they are read

    // The attention whose queries the stream's rows are, and the one whose queries the encoder's are.
    static Attention& stream_text(Subject& subject);
    static Attention* encoder_text(Subject& subject);
    static Index row_of(Subject& subject);
    std::string after_words(Subject& subject) const;    // "after “It”"
    std::string followed_name(Subject& subject) const;  // "“tired” after “It”"
    std::string part_name(const Attention& attention, const LogitShare& share) const;
    // What the text has where the logits say what comes, if it goes on.
    std::optional<std::int32_t> token_in_text() const;

    friend CellKinds layers_numbers();
    static const std::array<LensNumber<LayersLens>, 9> declared;
    // Says whether there is such a place, and if the cell is of a token, such a token.
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
    // Where the numbers of the stream stand at a place.
    CellPlace stream_cell(Subject& subject, const StreamPlace& place, Index row, Index column) const;
    Explained begin(Subject& subject, std::string title) const;

    Range positions() const;  // at which the stream is read
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
    std::string refused_;  // why another token is followed than the one asked for
    // Of another row of the same text, or of another token, the next one: what is on screen stays until it is complete.
    Read read_, next_;
    std::optional<Rollout> rollout_;
    std::optional<AttentionGradient> gradient_;
    std::string no_gradient_;  // why there is none; empty: there is one, or will be
    std::optional<AblationEffects> taken_out_;
    std::vector<Index> taken_order_;    // of the variants that are run, in without_tokens
    std::optional<TokenShares> exact_;  // what is known of them
    bool tokens_in_view_ = false;       // in the last frame
    std::map<Index, States> others_;    // what is read at other positions
    std::optional<LogitLens> other_;    // the one at work
    std::optional<Kept> kept_;
    Vocabulary vocabulary_;
    TokenSearch search_;
};

}  // namespace attn::app
