// Lens Memory: the keys that a query sees as the patterns of a modern Hopfield network, in which attention is
// one update step, and the classical network beside it.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/cue_recall.hpp"
#include "analysis/theory/row_memory.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::memory {

enum class Network { modern, classical };
using Plane = RowMemory::Plane;

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

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() { return nullptr; }
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
    // Keys with the largest weight at any step, and the chosen one.
    std::vector<Index> heaviest_keys(Index most) const;
    // The largest difference between the first step's weights and the head's own; nothing with another start
    // or another β.
    std::optional<double> off_attention() const;
    Index pattern() const { return std::min(state.stored, bits->count() - 1); }  // the cue's
    // Null where there is none, or not yet.
    const HopfieldPatterns* patterns() const { return modern ? modern->patterns.get() : nullptr; }
    const PlacedPatterns* plane() const { return modern && modern->plane ? &*modern->plane : nullptr; }
    const Retrieval* path() const { return modern && modern->path ? &*modern->path : nullptr; }
    const Basins* basins() const { return modern && modern->basins ? &*modern->basins : nullptr; }

    State state;
    std::optional<Index> chosen_key;
    ChosenRow row;
    std::string refused;         // why the row has no patterns; empty if it has some
    std::string refused_beta;    // why there is no β
    std::optional<double> beta;  // the β in use
    double own_beta = 0;
    std::optional<RowMemory> modern;
    struct MovesOf {
        std::shared_ptr<const Record> record;
        Index head = 0;
        double beta = 0;
        bool operator==(const MovesOf&) const = default;
    };
    Derived<MovesOf, QueryMoves> moves;

    // The classical network.
    struct BitsOf {
        ChosenRow row;  // empty if the patterns are seeded
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
    Derived<CueOf, CueRecall> recall;
    Derived<CapacityTrials::Setting, CapacityTrials> capacity;

    // The picture of the basins that was drawn last.
    struct PictureOf {
        ChosenRow row;
        std::optional<double> beta;
        Plane plane = Plane::spread;
        std::uint64_t version = 0;  // version of the basins
        bool operator==(const PictureOf&) const = default;
    };
    struct Picture {
        BasinPicture basins;
        std::uint64_t serial = 0;
    };
    Derived<PictureOf, Picture> picture;

  private:
    void update_row(Subject& subject);
    void update_modern();
    void update_classical();

    mutable Derived<Key, std::vector<Index>> ranked_;  // keys, the heaviest first
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

}  // namespace attn::app::memory
