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
#include <vector>

#include "analysis/heads/composition.hpp"
#include "analysis/heads/copying.hpp"
#include "analysis/theory/query_key_plane.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/circuits/corpus_plane.hpp"
#include "lenses/circuits/head_circuit.hpp"
#include "lenses/lens.hpp"
#include "parts/part.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

enum class CircuitsPart : std::uint8_t { qk, ov, positions, wiring, plane };
inline constexpr Index circuits_part_count = 5;

// Connects a head to a later one that reads its output.
struct Wire {
    Composition kind = Composition::q;
    HeadIndex from, to;
    bool operator==(const Wire&) const = default;
};

// The query or the key of a point in the plane.
struct PlaneEnd {
    bool key = false;
    Index point = 0;
};

struct CircuitsState {
    CircuitsPart part = CircuitsPart::qk;
    // Tokens; none: the chosen query's, the one that it attends to most, and the latter again.
    std::optional<std::int32_t> query = {}, key = {}, output = {};
    Index distance = 1;  // distance of a key before its query, used if positions rotate q and k
    std::array<bool, 3> kinds{true, true, true};  // kinds of composition that are drawn
    std::optional<double> threshold = {};         // for composition; none: as many wires as can be told apart
    std::optional<Wire> wire = {};                // none: the strongest
    bool corpus = false;                          // the plane shows many texts
    bool by_position = false;                     // colours the plane by position
    bool operator==(const CircuitsState&) const = default;
    static const Fields<CircuitsState>& fields();
};
inline constexpr Index circuits_distance_limit = 100'000;
using SetCircuits = Set<CircuitsState>;

LinkRows circuits_links();
std::string write_wire(const Wire& wire);  // "k.0.3-2.1"
std::optional<Wire> read_wire(std::string_view text);

// The lens's own numbers.
namespace circuits_cells {
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
}  // namespace circuits_cells
CellKinds circuits_numbers();
std::optional<CellRef> packed_circuits_cell(Index row, Index col);

class CircuitsLens final : public Lens {
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

    // Results on screen; null until they are known, and if this part has none.
    HeadCircuit* circuit();
    const CopyingJob* copying() const { return copying_ && copying_->done() ? &*copying_ : nullptr; }
    const CompositionJob* composition() const { return composition_ ? &*composition_ : nullptr; }
    const QueryKeyPlane* plane() const { return plane_ ? &plane_->search.plane() : nullptr; }
    // For many texts; null until it is known.
    const CorpusPlane* corpus_plane() const {
        return corpus_plane_ && corpus_plane_->done() ? &*corpus_plane_ : nullptr;
    }
    // The tokens in question.
    std::int32_t query() const { return tokens_.query; }
    std::int32_t key() const { return tokens_.key; }
    std::int32_t output() const { return tokens_.output; }
    // The wires that are drawn, the strongest first; none until all are known.
    struct DrawnWire {
        Wire wire;
        double value = 0;
    };
    const std::vector<DrawnWire>& wires() const { return wires_.drawn; }
    std::optional<Wire> wire() const;
    // The wire's two heads as one: the product of both OV circuits; nothing until it is known.
    struct VirtualHead {
        Wire of;
        Tensor middle;  // [head_dim, head_dim]
        Copying copying;
        std::int32_t token = -1;                   // the attended token
        std::vector<float> carried;                // [head_dim], the later head's W_O maps it to the output
        std::unique_ptr<TokenDirections> outputs;  // along its output; null until they are known
    };
    const VirtualHead* virtual_head() const { return virtual_ ? &*virtual_ : nullptr; }
    bool step(Subject& subject);  // true while there is more to do

  private:
    const CircuitsState& now() const { return state().of<CircuitsState>(); }
    void set(const CircuitsState& next, std::uint64_t gesture = 0) {
        if (next != now()) visit().perform(SetCircuits{next}, gesture);
    }
    void update(Subject& subject);
    void forget();
    void choose_tokens(Subject& subject);
    void find_wires();
    void find_plane(Subject& subject);
    void find_corpus_plane(Subject& subject);
    using CorpusEnd = PlaneEnd;    // in the plane of many texts
    CorpusEnd corpus_end() const;  // the pinned one, or else the first query
    double corpus_score(const CorpusEnd& of, Index other) const;
    // The points of the other kind with the highest scores.
    std::vector<Index> corpus_best(const CorpusEnd& of) const;
    // The points of the other kind nearest in the plane.
    std::vector<Index> corpus_nearest(const CorpusEnd& of) const;
    std::string corpus_word(Subject& subject, const CorpusEnd& end) const;
    std::string corpus_name(Subject& subject, const CorpusEnd& end) const;  // names the token and its text
    bool step_virtual();
    bool read_names(Subject& subject);  // true while there is more to do
    Circuit circuit_of(CircuitsPart part) const;
    bool uses_rope() const;  // otherwise it has rows of an embedding
    // Distance in the shown map.
    Index distance() const { return now().part == CircuitsPart::qk && uses_rope() ? now().distance : 0; }
    const Network& network() const { return trace_->network(); }
    Index vocabulary_size() const;  // number of tokens that can be read and written
    const std::vector<double>* by_distance();
    Index distances() const;  // length of the curve

    std::string token_name(Subject& subject, Index id) const {
        return vocabulary_.name(subject, static_cast<std::int32_t>(id));
    }
    std::string head_name(Subject& subject, HeadIndex head) const;
    std::string wire_name(Subject& subject, const Wire& wire) const;  // "K-composition of 0.3 into 2.1"
    std::string qk_spoken(Subject& subject);
    std::string ov_spoken(Subject& subject);
    std::string positions_spoken(Subject& subject);
    std::string wiring_spoken(Subject& subject);
    std::string plane_spoken(Subject& subject);
    std::string corpus_spoken(Subject& subject);

    Explained begin(Subject& subject, std::string title) const;
    friend CellKinds circuits_numbers();
    static const std::array<LensNumber<CircuitsLens>, 12> declared;
    // Returns the shown circuit if the cell belongs to its map or its factors.
    HeadCircuit* circuit_with(const LensCell& cell);
    std::optional<Explained> explain_map(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_factor(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_input(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_distance(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_eigenvalue(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_copying(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_virtual_copying(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_virtual_logit(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_plane(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_corpus_plane(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_composition(Subject& subject, const LensCell& cell);
    Explained copying_score(Subject& subject, const Copying& of, const std::string& name, bool of_virtual);
    std::string end_name(Subject& subject, Circuit of, Index i) const;

    // Returns the token whose row, or column, of the circuit a list shows.
    std::int32_t list_token(bool of_row) const {
        return now().part == CircuitsPart::ov ? (of_row ? key() : output()) : (of_row ? query() : key());
    }
    std::string map_title() const;
    Table map_table(Subject& subject);
    std::string list_title(Subject& subject, bool of_row) const;
    Table list_table(Subject& subject, bool of_row);
    Sheet copying_sheet(Subject& subject) const;
    Table wires_table(Subject& subject) const;
    Table plane_table(Subject& subject) const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_presets(Subject& subject);
    void draw_token_controls(CircuitsState& next);
    void draw_tokens(const Drawing& drawing, Subject& subject);
    void draw_map(const Drawing& drawing, Subject& subject, float width);
    void draw_list(const Drawing& drawing, Subject& subject, bool of_row, float width);
    void draw_eigenvalues(const Drawing& drawing, const Copying& copying, bool of_virtual, float width);
    void draw_copying(const Drawing& drawing, Subject& subject);
    void draw_positions(const Drawing& drawing, Subject& subject);
    void draw_wiring(const Drawing& drawing, Subject& subject);
    void draw_diagram(const Drawing& drawing, Subject& subject, float width);
    void draw_wire_list(const Drawing& drawing, Subject& subject, float width);
    void draw_virtual(const Drawing& drawing, Subject& subject);
    void draw_carried(const Drawing& drawing, Subject& subject, float width);
    void draw_plane(const Drawing& drawing, Subject& subject);
    void draw_plane_controls(Subject& subject);
    Index draw_points(const Drawing& drawing, Subject& subject, Index query, float width);
    void draw_products(const Drawing& drawing, Subject& subject, Index query, float width);
    void draw_corpus_plane(const Drawing& drawing, Subject& subject);
    std::optional<CorpusEnd> draw_corpus_points(const Drawing& drawing, Subject& subject,
                                                const CorpusEnd& pinned, float width);
    void draw_corpus_products(const Drawing& drawing, Subject& subject, const CorpusEnd& of, float width);
    void choose_wire(const Drawing& drawing, const Wire& wire);
    CellRef wire_cell(const Wire& wire) const;

    std::shared_ptr<const Trace> trace_;
    HeadIndex head_;
    std::array<std::optional<HeadCircuit>, 3> circuits_;  // indexed by Circuit, for that head
    std::string refused_;                                 // why the part has no result
    std::optional<std::vector<double>> by_distance_;
    std::optional<CopyingJob> copying_;  // covers all heads of the model
    std::optional<CompositionJob> composition_;
    struct {
        std::vector<DrawnWire> drawn;
        double strongest = 0, threshold = 0;
        Index left_out = 0;  // wires beyond those that can be drawn
        std::optional<CircuitsState> of;
    } wires_;
    std::optional<VirtualHead> virtual_, coming_;  // the shown one, and the one in progress
    std::optional<EigenvalueSearch> coming_search_;
    struct PlaneOf {
        std::shared_ptr<const Trace> trace;
        HeadIndex head;
        Range tokens;
        QueryKeyPlaneSearch search;
    };
    std::optional<PlaneOf> plane_, coming_plane_;  // the finished one on screen, and the one in progress
    std::optional<CorpusPlane> corpus_plane_;
    struct {
        std::int32_t query = 0, key = 0, output = 0;
    } tokens_;
    Vocabulary vocabulary_;
    std::vector<std::string> names_;  // texts of all tokens, as far as they are read
    std::vector<std::string> position_names_;
    std::array<TokenSearch, 2> search_;  // for the map's row and its column
    std::array<ui::MapView, 3> views_;   // indexed by Circuit
    struct Shown {
        const Map* map = nullptr;
        Index row = -1, col = -1;
    };
    std::array<Shown, 3> shown_;  // what each view last moved to
    parts::MapClicks clicks_;
};

}  // namespace attn::app
