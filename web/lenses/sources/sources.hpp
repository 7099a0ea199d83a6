// Lens Sources: why a query attends to a key. The score is a sum over pairs of sources, one of the query's
// residual stream and one of the key's; a head among them opens into the tokens that it read from, and these
// into their own sources (analysis/attribution/score_terms.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/row_sources.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/other_score.hpp"

namespace attn::app::sources {

using attn::Source;  // not the worked example's

// What to show: the score, how it differs from another key's, from the other text's or from that before a
// change, what decides between the keys of the row, or between those of many texts.
enum class Part { score, key, text, change, row, texts };
inline constexpr std::size_t part_count = 6;

struct State {
    Part part = Part::score;
    std::optional<Index> against = {};  // the key of the contrast; none: the next strongest
    ScoreSide side = ScoreSide::query;
    // The opened heads, each in the stream of the token before it. None: the strongest head; empty: nothing.
    std::optional<std::vector<OpenedHead>> path = {};
    std::optional<Index> with = {};  // the source of the other side in the opened term; none: all of them
    std::optional<Index> out = {};   // the source to take out while nothing is open; none: the strongest
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers. Sources are numbered as ScoreTerms does it.
namespace cells {
inline constexpr std::array<std::string_view, 3> taken_words{"all", "held", "live"};
inline constexpr std::array<std::string_view, 2> number_words{"score", "weight"};

inline constexpr CellKind term{"term", {CellAxis{"query_source"}, {"key_source"}}};
inline constexpr CellKind opened{"opened", {CellAxis{"part"}}};
inline constexpr CellKind without{"without", {CellAxis{"norms", taken_words}, {"number", number_words}}};
inline constexpr CellKind deciding{"deciding", {CellAxis{"rank"}}};
inline constexpr CellKind added{"added", {CellAxis{"rank"}, {"key"}}};  // past the last rank: all sources
inline constexpr CellKind texts{"texts", {CellAxis{"rank"}}};
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "Query and key stay tokens: a larger unit has no q and k, and so no score.";
    }
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);

    struct Key {
        ScorePlace place, against = {};  // `against` has no trace if nothing is compared
        State state;
        std::uint64_t texts = 0;  // version of the texts
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return of; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step();  // true while there is more to do
    bool is_ready() const { return terms && terms->done(); }
    bool contrasts() const { return of.against.trace != nullptr; }
    Index taken_out() const;  // the source that the path begins with, or the one taken out

    Key of;
    std::string refused;         // why there is no score; empty if there is one
    std::string lacking;         // what the open part lacks
    std::optional<Offer> offer;  // the step that provides it
    std::optional<ScoreTerms> terms;
    std::vector<OpenedHead> path;  // the heads that are open, as far as they exist
    std::optional<OpenedTerm> opened;
    std::optional<WithoutSource> without;
    std::optional<RowSources> row;
    std::optional<TextSources> texts;
    Derived<Versions, Pairings> pairings;

  private:
    void choose_place(Subject& subject);
    void find_other(Subject& subject);
    void choose_path();
};

std::string source_name(Subject& subject, const Source& source);                         // "head 1.3"
std::string source_at(Subject& subject, const Source& source, const std::string& word);  // "MLP 0 at “It”"
// "MLP 0 at “It”", "all sources of “It”".
std::string number_name(const Model& model, Subject& subject, ScoreSide side, Index which);
std::string token_name(const Model& model, Subject& subject, ScoreSide side);  // "“It”"
std::string key_name(Subject& subject, Index attention, Index token);
std::string part_name(const Model& model, Subject& subject, const OpenedTerm::Part& part);
// The token to whose stream the last opened head belongs.
Index reading_token(const Model& model);

// The whole matrix, or what a picture shows.
Sheet terms_sheet(const Model& model, Subject& subject, bool is_whole);
Sheet without_sheet(const Model& model, Subject& subject);
Sheet added_sheet(const Model& model, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::sources
