// Lens Circuits: what a head would do on any text, from the weights alone. It shows which key token each
// query token matches (QK), which tokens become more likely where the head attends to one (OV), what
// positions change about that, how heads read what earlier heads write, and where queries and keys of the
// present text, or of many texts, lie.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/heads/copying.hpp"
#include "analysis/heads/head_circuit.hpp"
#include "analysis/heads/virtual_head.hpp"
#include "analysis/heads/wires.hpp"
#include "analysis/theory/query_key_plane.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "maps/tiles.hpp"
#include "runs/corpus_plane.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::circuits {

enum class Part : std::uint8_t { qk, ov, positions, wiring, plane };
inline constexpr Index part_count = 5, distance_limit = 100'000;

struct State {
    Part part = Part::qk;
    // Tokens; none: the chosen query's, the one that it attends to most, and the latter again.
    std::optional<std::int32_t> query = {}, key = {}, output = {};
    Index distance = 1;  // distance of a key before its query, used if positions rotate q and k
    std::array<bool, composition_count> kinds{true, true, true};  // kinds of composition that are drawn
    std::optional<double> threshold = {};  // for composition; none: as many wires as can be told apart
    std::optional<Wire> wire = {};         // none: the strongest
    bool corpus = false;                   // the plane shows many texts
    bool by_position = false;              // colours the plane by position
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 3> circuit_words{"qk", "ov", "position"};
inline constexpr std::array<std::string_view, 2> of_words{"head", "virtual"}, part_words{"real", "imaginary"},
    end_words{"query", "key"}, axis_words{"x", "y"};
inline constexpr std::array<std::string_view, composition_count> composition_words{"q", "k", "v"};
inline constexpr CellAxis circuit_axis{"circuit", circuit_words};

// Rows and columns are tokens or positions.
inline constexpr CellKind map{"map", {circuit_axis, {"row"}, {"column"}}};
// Factors of the map: for a row and for a column, and what the head reads from each.
inline constexpr CellKind left_factor{"left_factor", {circuit_axis, {"row"}, {"component"}}};
inline constexpr CellKind right_factor{"right_factor", {circuit_axis, {"column"}, {"component"}}};
inline constexpr CellKind input{"input", {circuit_axis, {"row"}, {"component"}}};
inline constexpr CellKind distance{"distance", {CellAxis{"distance"}}};
inline constexpr CellKind eigenvalue{"eigenvalue",
                                     {CellAxis{"of", of_words}, {"part", part_words}, {"index"}}};
inline constexpr CellKind copying{"copying", {CellAxis{"layer"}, {"head"}}};
// The virtual head is the wire's.
inline constexpr CellKind virtual_copying{"virtual_copying"};
inline constexpr CellKind virtual_logit{"virtual_logit", {CellAxis{"token"}}};
inline constexpr CellKind plane{"plane", {CellAxis{"end", end_words}, {"axis", axis_words}, {"token"}}};
inline constexpr CellKind corpus_plane{"corpus_plane",
                                       {CellAxis{"end", end_words}, {"axis", axis_words}, {"point"}}};
// Heads are counted through all layers.
inline constexpr CellKind composition{"composition", {CellAxis{"kind", composition_words}, {"from"}, {"to"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

struct ViewMemory;
void forget_maps(ViewMemory& seen);  // frees what its maps show; they keep their places

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() { return nullptr; }
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);

    struct Tokens {
        std::int32_t query = 0, key = 0, output = 0;
        bool operator==(const Tokens&) const = default;
    };
    struct Key {
        std::shared_ptr<const Trace> trace;
        HeadIndex head;
        State state;
        Tokens tokens;
        Range placed;             // the tokens in the plane
        std::uint64_t texts = 0;  // version of the many texts
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step(Visit& visit, Subject& subject);  // true while there is more to do

    const Network& network() const { return trace->network(); }
    Index vocabulary_size() const;  // number of tokens that can be read and written
    bool uses_rope() const { return network().rotary_of(head.layer); }  // otherwise there are rows to embed
    Circuit shown_circuit() const;
    Index distance() const { return state.part == Part::qk && uses_rope() ? state.distance : 0; }
    // The token whose row, or column, of the circuit a list shows.
    std::int32_t list_token(bool of_row) const;
    // Results; null until they are known, and if this part has none.
    HeadCircuit* circuit();
    const CopyingJob* copying() const { return copying_job && copying_job->done() ? &*copying_job : nullptr; }
    std::optional<Wire> wire() const;         // the chosen one, or else the strongest
    const VirtualHead* virtual_head() const;  // the wire's two heads as one
    const QueryKeyPlane* plane() const { return placed ? &placed->search.plane() : nullptr; }
    const CorpusPlane* corpus_plane() const { return corpus && corpus->done() ? &*corpus : nullptr; }

    State state;
    std::shared_ptr<const Trace> trace;
    HeadIndex head;
    Tokens tokens;                                       // in question
    std::string refused;                                 // why the part has no result
    std::array<std::optional<HeadCircuit>, 3> circuits;  // the head's, indexed by Circuit
    std::optional<CopyingJob> copying_job;               // covers all heads of the model
    std::optional<CompositionJob> composition;
    Derived<std::pair<std::array<bool, composition_count>, std::optional<double>>, Wires> wires;
    std::optional<VirtualHead> both;
    struct PlaneOf {
        Range tokens;
        QueryKeyPlaneSearch search;
    };
    std::optional<PlaneOf> placed, placing;  // the finished one on screen, and the one in progress
    std::optional<CorpusPlane> corpus;
    CorpusPlane::End corpus_end;  // the pinned one, or else the first query
    Vocabulary vocabulary;
    std::vector<std::string> names;  // texts of all tokens, as far as they are read
    std::vector<std::string> position_names;

    std::array<TokenSearch, 2> searches;  // for the map's row and its column
    std::array<MapWindow, 3> in_view;     // what each circuit's map shows
    std::shared_ptr<ViewMemory> seen;

  private:
    void choose_tokens(Subject& subject);
    void find_circuit();
    void find_plane(Subject& subject);
    void find_corpus_plane(Subject& subject, const std::optional<CellRef>& pin);
    bool step_virtual();
    bool read_names(Subject& subject);
};

std::string token_name(const Model& model, Subject& subject, Index id);
std::string head_name(Subject& subject, HeadIndex head);
std::string wire_name(Subject& subject, const Wire& wire);  // "K-composition of 0.3 into 2.1"
std::string corpus_word(const Model& model, Subject& subject, const CorpusPlane::End& end);
// Names the token and its text.
std::string corpus_name(const Model& model, Subject& subject, const CorpusPlane::End& end);

std::string map_title(Part part);
Table map_table(Model& model, Subject& subject);
std::string list_title(const Model& model, Subject& subject, bool of_row);
Table list_table(Model& model, Subject& subject, bool of_row);
Sheet copying_sheet(const Model& model, Subject& subject);
Table wires_table(const Model& model, Subject& subject);
Table plane_table(const Model& model, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::circuits
