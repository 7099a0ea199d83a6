// Lens Memory: the keys that a query sees as the patterns of a modern Hopfield network, in which attention is
// one update step, and the classical network beside it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/binary_memory.hpp"
#include "analysis/theory/pattern_plane.hpp"
#include "analysis/theory/query_moves.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::memory {

enum class Network { modern, classical };
enum class Plane { spread, query };  // the keys' principal components; the query and its strongest key

inline constexpr double least_beta = 0.1, most_beta = 100, most_flipped = 0.5;
inline constexpr Index least_bits = 8, most_bits = 400, most_patterns = 200, most_seed = 999'999;

struct State {
    Network network = Network::modern;
    std::optional<double> beta{};  // none: the head's own scale
    Plane plane = Plane::spread;
    std::optional<std::array<double, 2>> start{};  // in the plane, across and up; none: the query itself
    // Settings of the classical network.
    bool of_keys = false;             // stores the signs of the keys; otherwise seeded patterns
    Index bits = 100, patterns = 10;  // for seeded patterns
    double flipped = 0.1;             // share of the cue's bits
    Index stored = 0;                 // the pattern that the cue is made from
    Index seed = 1;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

struct Preset {
    const char* name;
    State (*make)(State now);
};
std::span<const Preset> presets(Network network);

std::string beta_text(double beta);  // "β = 0.2236"

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 2> steps_words{"one", "all"};
inline constexpr std::array<std::string_view, 2> network_words{"classical", "modern"};

inline constexpr CellKind energy{"energy", {CellAxis{"step"}}};
inline constexpr CellKind update_norm{"update_norm", {CellAxis{"step"}}};
inline constexpr CellKind effective_keys{"effective_keys", {CellAxis{"step"}}};
inline constexpr CellKind weight{"weight", {CellAxis{"step"}, {"key"}}};  // starts at step 1
inline constexpr CellKind state{"state", {CellAxis{"step"}, {"component"}}};
inline constexpr CellKind distance{"distance", {CellAxis{"steps", steps_words}, {"query"}}};  // to q
// Numbers of the classical network.
inline constexpr CellKind classical_energy{"classical_energy", {CellAxis{"flips"}}};
inline constexpr CellKind local_field{"local_field", {CellAxis{"bit"}}};
inline constexpr CellKind capacity{"capacity", {CellAxis{"network", network_words}, {"load"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

// A cue of the classical network on its way to rest.
struct Recall {
    Bits cue;
    BinaryRecall run;
    std::optional<Retrieval> modern;  // the same cue in the modern network; nothing without a β
};

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        ChosenRow row;
        State state;
        Index progress = 0;  // how far the networks have come
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool pending() const;
    bool step();  // true while there is more to do
    bool is_classical() const { return state.network == Network::classical; }
    // The steps in the grids: the first ones and the last.
    std::vector<Index> steps_shown() const;
    // Keys with the largest weight at any step, and the chosen one.
    std::vector<Index> heaviest_keys(Index most) const;
    // The largest difference between the first step's weights and the head's own; nothing with another start
    // or another β.
    std::optional<double> off_attention() const;
    Index pattern() const;  // the cue's, as far as it is stored
    // Wrong bits at the start and at the end.
    std::array<Index, 2> wrong_bits() const;

    State state;
    std::optional<Index> chosen_key;
    ChosenRow row;
    std::string refused;         // why the row has no patterns; empty if it has some
    std::string refused_beta;    // why there is no β
    std::optional<double> beta;  // the β in use
    double own_beta = 0;
    std::vector<double> query;  // [d_k]
    std::shared_ptr<const HopfieldPatterns> patterns;
    std::optional<PrincipalPlane> principal;
    std::optional<PlacedPatterns> plane;  // nothing until it is found
    std::optional<Retrieval> path;
    std::optional<Basins> basins;
    struct MovesOf {
        std::shared_ptr<const Record> record;
        Index head = 0;
        double beta = 0;
        bool operator==(const MovesOf&) const = default;
    };
    Derived<MovesOf, QueryMoves> moves;

    struct BitsOf {     // the classical network
        ChosenRow row;  // empty if its patterns are seeded
        Index bits = 0, patterns = 0, seed = 0;
        bool operator==(const BitsOf&) const = default;
    };
    Derived<BitsOf, std::shared_ptr<const BinaryMemory>> stored;
    std::shared_ptr<const BinaryMemory> bits;  // what is stored; null: nothing
    struct CueOf {
        std::shared_ptr<const BinaryMemory> bits;
        double flipped = 0;
        Index pattern = 0, seed = 0;
        double beta = 0;  // β of the modern network beside it; 0: none
        bool operator==(const CueOf&) const = default;
    };
    Derived<CueOf, Recall> recall;
    Derived<CapacityTrials::Setting, CapacityTrials> capacity;

    // The basins as colours, row by row from the top.
    struct Picture {
        std::uint64_t version = 0;      // version of the basins; 0: not painted yet
        std::vector<float> values;      // [side, side], indices into the legend
        std::vector<std::size_t> ends;  // ends with colours of their own, the largest first
        bool others = false, moving = false;
        std::uint64_t serial = 0;
    };
    Picture picture;

  private:
    void update_row(Subject& subject);
    void update_modern();
    void update_classical();
    bool plane_is_due() const;
    void find_plane();

    Plane plane_kind_ = Plane::spread;
    std::optional<double> basins_beta_;
    mutable Derived<Key, std::vector<Index>> ranked_;  // keys by their largest weight at any step
    mutable Derived<Key, double> off_attention_;
};

class Lens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;
    Guide guide(Subject& subject) const override;
};

std::string query_name(const Model& model, Subject& subject);
std::string key_name(Subject& subject, Index key);
// Names the keys that make up 90 % of the weight, three at most: "“animal” (98 %) and “street” (2 %)".
std::string mostly(const Model& model, Subject& subject, std::span<const double> weights);

Sheet path_sheet(const Model& model, Subject& subject);
Sheet weights_sheet(const Model& model, Subject& subject);  // steps after the start
Sheet states_sheet(const Model& model, Subject& subject);
std::array<Sheet, 3> bits_sheets(const Model& model);  // the stored pattern, its cue, and the present state
Table plane_table(const Model& model, Subject& subject);

double four_digits(double value);  // rounds dragged values
void set(const Model& model, const Drawing& drawing, const State& wanted);
void draw_plane(Model& model, const Drawing& drawing, Subject& subject, float width);
void draw_classical(Model& model, const Drawing& drawing, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

// Explain the numbers of the classical network.
std::optional<Explained> explain_flip(Model& model, Subject& subject, const LensCell& cell);
std::optional<Explained> explain_field(Model& model, Subject& subject, const LensCell& cell);
std::optional<Explained> explain_capacity(Model& model, Subject& subject, const LensCell& cell);

}  // namespace attn::app::memory
