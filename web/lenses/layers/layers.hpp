// Lens Layers: how the residual stream becomes the answer. The stream is decoded after each attention and
// MLP, and the logit of a token is split into the contributions of all parts of the model.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/followed_token.hpp"
#include "analysis/attribution/nearby_rows.hpp"
#include "analysis/attribution/token_measures.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::layers {

struct State {
    std::optional<std::int32_t> token;  // the token whose logit is followed; none: the most likely at the end
    std::optional<Index> place;         // where the stream is decoded; none: at the end
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers. A place is an index into LogitLens::places.
namespace cells {
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
// Sums over the tokens of a larger unit.
inline constexpr CellKind unit{"unit", {measure_axis, {"unit"}}};
inline constexpr CellKind encoder_unit{"encoder_unit", {measure_axis, {"unit"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);
    static const char* tokens_alone() { return nullptr; }

    struct Key {
        std::shared_ptr<const Trace> trace;
        Index row = 0;
        std::int32_t token = 0;
        MapChoice units;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {trace, row(), reading() ? token() : 0, units}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step(Subject& subject);  // true while there is more to do
    // The results on screen; null until all are complete.
    const LogitLens* reading() const { return read && read->done() ? read->stream().get() : nullptr; }
    const DirectAttribution* parts() const { return read && read->done() ? &read->parts() : nullptr; }
    Index row() const { return read->stream()->row(); }
    std::int32_t token() const { return parts()->token(); }  // the followed token
    const std::vector<Index>& ranks() const { return read->ranks(); }
    Index place() const;  // where the stream is decoded
    const StreamPlace& place_at(Index i) const {
        return read->stream()->places()[static_cast<std::size_t>(i)];
    }
    // The likeliest token; null until the stream is decoded there, and where a logit is not finite.
    const Candidate* likeliest(Index place, Index position) const;
    // A measure of all tokens, for the ablation as far as it is known (NaN elsewhere); null until there is
    // one.
    const TokenShares* shares(TokenMeasure measure) const {
        return measure == TokenMeasure::exact && tokens.ablation() ? &tokens.ablation()->falls()
                                                                   : tokens.measured(measure);
    }

    State state;
    MapChoice units;  // weights between the units by which maps are shown
    std::shared_ptr<const Trace> trace;
    std::string refused;  // why another token than the requested one is followed
    // `next` is the result for another row or another token: the one on screen stays until it is complete.
    std::optional<FollowedToken> read, next;
    TokenMeasures tokens;
    bool tokens_in_view = false;  // in the last frame
    std::optional<NearbyRows> nearby;
    Vocabulary vocabulary;
    TokenSearch search;

  private:
    void show(FollowedToken shown);
};

// The attention whose queries are the stream's rows, and the one whose queries are the encoder's.
Attention& stream_text(Subject& subject);
Attention* encoder_text(Subject& subject);

// The units of a text, or null for tokens. A share of a unit is the sum of its tokens' shares, which an
// ablation does not have: without several tokens at once, the run is another one.
const UnitAxis* units_of(const Model& model, const Attention& text);
constexpr bool adds_up(TokenMeasure measure) { return measure != TokenMeasure::exact; }

std::string place_in_words(const StreamPlace& place);           // "after the attention of layer 2"
std::string place_name(const StreamPlace& place);               // "attention 2"
std::string after_words(const Model& model, Subject& subject);  // "after “It”"
std::string part_name(const Model& model, Subject& subject, const LogitShare& share);

Sheet places_sheet(const Model& model, Subject& subject);
Sheet heads_sheet(const Model& model);
Sheet tokens_sheet(const Model& model, Subject& subject, bool encoded);
Table sum_table(const Model& model, Subject& subject);
void draw_sum(const Model& model, const Drawing& drawing, Subject& subject);
void draw_tokens(Model& model, const Drawing& drawing, Subject& subject, float width);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::layers
