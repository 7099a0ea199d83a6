// Lens Layers: the residual stream as it becomes the answer. It is read after every half of every block, and the logit of a
// token is taken apart into what every part of the model adds to it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attention_gradient.hpp"
#include "analysis/direct_attribution.hpp"
#include "analysis/effects.hpp"
#include "analysis/logit_lens.hpp"
#include "analysis/rollout.hpp"
#include "lenses/lens.hpp"
#include "subjects/shown_tokens.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

struct LayersState {
    std::optional<std::int32_t> token;  // whose logit is followed; none: the likeliest at the end
    std::optional<Index> place;         // where the stream is read; none: at the end
    bool operator==(const LayersState&) const = default;
};

struct SetLayers {
    LayersState layers;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

LinkRows layers_links();

inline constexpr Index layers_places_limit = 1000;

// The rows of the lens's own cells, Stage::lens.
namespace layers_rows {
inline constexpr Index likeliest = 0;       // + place; the column is a position
inline constexpr Index probability = 1000;  // + place; the column is a token of the vocabulary, as below
inline constexpr Index rank = 2000;
inline constexpr Index logit = 3000;
inline constexpr Index norm = 4000;     // + place; the column is 0
inline constexpr Index cosine = 5000;   // likewise
inline constexpr Index share = 6000;    // the column counts the parts
inline constexpr Index tokens = 6001;   // + TokenMeasure; the column is a token of the text
inline constexpr Index encoded = 6011;  // + TokenMeasure; of what the encoder read
}  // namespace layers_rows

enum class TokenMeasure { direct, rollout, gradient, exact };
inline constexpr Index token_measure_count = 4;

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
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }

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
        CellRef cell;
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
    std::string after_words(Subject& subject) const;  // "after “It”"
    std::string part_name(const Attention& attention, const LogitShare& share) const;
    // What the text has where the logits say what comes, if it goes on.
    std::optional<std::int32_t> token_in_text() const;

    std::optional<Explained> explain_own(Subject& subject, const CellRef& cell);
    std::optional<Explained> explain_likeliest(Subject& subject, Index place, Index position);
    Explained explain_probability(Subject& subject, Index place, Index position, std::int32_t id,
                                  double logit, double probability);
    Explained explain_rank(Subject& subject, Index place, std::int32_t id);
    Explained explain_logit(Subject& subject, Index place, std::int32_t id);
    Explained explain_state(Subject& subject, Index place, bool of_cosine);
    Explained explain_share(Subject& subject, const LogitShare& share);
    std::optional<Explained> explain_token(Subject& subject, TokenMeasure measure, bool encoded, Index token);
    // Where the numbers of the stream stand at a place.
    CellPlace stream_cell(Subject& subject, const StreamPlace& place, Index row, Index column) const;
    Explained begin(Subject& subject, std::string title) const;

    void draw_controls(const Drawing& drawing);
    void draw_places(const Drawing& drawing, Subject& subject, float width);
    void draw_said(const Drawing& drawing, Subject& subject, float width);
    void draw_curves(const Drawing& drawing, Subject& subject, float width);
    void draw_sum(const Drawing& drawing, Subject& subject, float width);
    void draw_parts(const Drawing& drawing, Subject& subject, float width);
    void draw_heads(const Drawing& drawing, Subject& subject, float width);
    void draw_tokens(const Drawing& drawing, Subject& subject, float width);
    ShownTokens tokens_shown(Index tokens, bool encoded, Index fit, std::optional<Index> chosen) const;
    struct TokenRow {
        ShownTokens tokens;
        std::vector<std::string> words;
        std::string position;
        bool encoded = false;
    };
    void draw_token_row(const Drawing& drawing, const TokenRow& row, TokenMeasure measure, float width);
    void choose(const Drawing& drawing, Index position) const;
    void set(LayersState wanted) const;

    std::shared_ptr<const Trace> trace_;
    std::string refused_;  // why another token is followed than the one asked for
    // Of another row of the same text, or of another token, the next one: what is on screen stays until it is complete.
    Read read_, next_;
    std::optional<Rollout> rollout_;
    std::optional<AttentionGradient> gradient_;
    std::string no_gradient_;  // why there is none; empty: there is one, or will be
    std::optional<Effects> taken_out_;
    std::vector<Index> taken_order_;    // of the variants that are run, in without_tokens
    std::optional<TokenShares> exact_;  // what is known of them
    bool tokens_in_view_ = false;       // in the last frame
    Range shown_;                       // the positions in view
    std::map<Index, States> others_;    // what is read at other positions
    std::optional<LogitLens> other_;    // the one at work
    std::optional<Kept> kept_;
    Vocabulary vocabulary_;
    TokenSearch search_;
};

}  // namespace attn::app
