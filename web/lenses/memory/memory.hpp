// Lens Memory: the keys that a query sees as the patterns of a modern Hopfield network, in which attention is
// one update step, and the classical network beside it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/binary_memory.hpp"
#include "analysis/theory/pattern_plane.hpp"
#include "analysis/theory/query_moves.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "lenses/memory/state.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

// The lens's own numbers.
namespace memory_cells {
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
}  // namespace memory_cells
CellKinds memory_numbers();
std::optional<CellRef> packed_memory_cell(Index row, Index col);

double four_digits(double value);  // rounds dragged values

class MemoryLens final : public Lens {
  public:
    using Lens::Lens;

    void follow(const State& before, Change how) override;
    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    Guide guide(Subject& subject) const override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }

    // ---- For tests ----------------------------------------------------------------------------------------
    const Retrieval* path() const { return path_ ? &*path_ : nullptr; }
    const PatternPlane* plane() const { return plane_ ? &*plane_ : nullptr; }
    const Basins* basins() const { return basins_ ? &*basins_ : nullptr; }

  private:
    struct BasinsOf {
        std::optional<double> beta;
        MemoryPlane plane = MemoryPlane::spread;
        bool operator==(const BasinsOf&) const = default;
    };
    struct MovesOf {
        std::shared_ptr<const Record> record;
        Index head = 0;
        double beta = 0;
        bool operator==(const MovesOf&) const = default;
    };
    struct StoredBits {  // in the classical network
        ChosenRow row;   // empty if they are seeded
        Index bits = 0, patterns = 0, seed = 0;
        bool operator==(const StoredBits&) const = default;
    };
    struct CueOf {
        double flipped = 0;
        Index stored = 0, seed = 0;
        double beta = 0;  // β of the modern network beside it; 0: none
        bool operator==(const CueOf&) const = default;
    };
    struct Kept {
        CellRef cell;
        std::optional<Explained> why;
    };

    const MemoryState& now() const { return state().of<MemoryState>(); }
    void set(MemoryState wanted) const;
    void forget();
    void update(Subject& subject);
    void update_row(Subject& subject);
    bool plane_is_due() const;
    void find_plane();
    void update_modern();
    void update_classical();
    bool step();  // true while there is more to do
    bool pending() const;
    std::string query_name(Subject& subject) const;
    std::string modern_sentence(Subject& subject) const;
    std::string classical_sentence() const;
    // Names the keys that make up 90 % of the weight, three at most: "“animal” (98 %) and “street” (2 %)".
    std::string mostly(Subject& subject, std::span<const double> weights) const;
    std::string key_name(Subject& subject, Index key) const;
    // The steps in the grids: the first ones and the last.
    std::vector<Index> steps_shown() const;
    // Keys with the largest weight at any step, and the chosen one.
    std::vector<Index> heaviest_keys(Index most);
    // The largest difference between the first step's weights and the head's own; nothing with another start
    // or another β.
    std::optional<double> off_attention();
    Sheet path_sheet(Subject& subject) const;
    Sheet weights_sheet(Subject& subject);  // steps after the start
    Sheet states_sheet(Subject& subject) const;
    std::array<Sheet, 3> bits_sheets() const;  // the stored pattern, its cue, and the present state
    Table plane_table(Subject& subject) const;
    std::string path_about(Subject& subject) const;
    CellPlace place_of(const CellRef& cell) const { return {row_.head, cell}; }
    Index stored() const;  // the cue's pattern, as far as there is one
    // Wrong bits at the start and at the end.
    std::array<Index, 2> wrong_bits() const;

    friend CellKinds memory_numbers();
    static const std::array<LensNumber<MemoryLens>, 9> declared;
    bool has_step(Index step) const;
    bool recalls() const { return now().network == MemoryNetwork::classical && recall_; }
    std::optional<Explained> explain_energy(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_moved(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_effective(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_state(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_query(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_flip(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_field(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_capacity(Subject& subject, const LensCell& cell);
    std::optional<CellPlace> state_place(Index step, Index component) const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_beta();
    void draw_modern(const Drawing& drawing, Subject& subject, float width);
    void draw_plane(const Drawing& drawing, Subject& subject, float width);
    struct Square;  // the plane's square on the screen
    void move_start(const Square& square, std::array<double, 2> start, bool held);
    void draw_basins(const Square& square);
    std::optional<Index> draw_keys(const Square& square, Index drawn) const;
    void draw_steps(const Square& square, std::array<double, 2> start) const;
    void tell_place(const Drawing& drawing, Subject& subject, const Square& square,
                    std::optional<Index> over) const;
    void paint_basins();
    void draw_legend(Subject& subject, float width) const;
    void draw_path(const Drawing& drawing, Subject& subject, float width);
    void draw_end(Subject& subject);
    void draw_moves(const Drawing& drawing, Subject& subject, float width);
    void draw_classical(const Drawing& drawing, Subject& subject);
    void draw_bits(const Drawing& drawing);
    void draw_flips(const Drawing& drawing, float width);
    void draw_capacity(const Drawing& drawing, float width);

    ChosenRow row_;
    std::string refused_;         // why the row has no patterns; empty if it has some
    std::string refused_beta_;    // why there is no β
    std::optional<double> beta_;  // the β in use
    double own_beta_ = 0;
    std::vector<double> query_;  // [d_k]
    std::shared_ptr<const HopfieldPatterns> patterns_;
    std::optional<PrincipalPlane> principal_;
    std::optional<PatternPlane> plane_;  // nothing until it is found
    Basins::Box box_;                    // extent of the picture
    MemoryPlane plane_kind_ = MemoryPlane::spread;
    std::vector<std::array<double, 2>> places_;  // patterns in the plane
    std::optional<Retrieval> path_;
    std::optional<double> off_attention_;
    // Keys by their largest weight at any step, for this many looks of this path.
    struct Ranked {
        std::uint64_t path = 0;
        Index looks = -1;
        std::vector<Index> keys;
    };
    Ranked ranked_;
    std::uint64_t paths_made_ = 0;
    BasinsOf basins_of_;
    std::optional<Basins> basins_;
    std::uint64_t basins_made_ = 0;
    MovesOf moves_of_;
    std::optional<QueryMoves> moves_;

    StoredBits stored_bits_;
    std::shared_ptr<const BinaryMemory> bits_;
    CueOf cue_of_;
    Bits cue_;
    std::optional<BinaryRecall> recall_;
    std::optional<Retrieval> beside_;  // the same cue in the modern network
    CapacityTrials::Setting capacity_of_;
    std::optional<CapacityTrials> capacity_;

    std::optional<Kept> kept_;
    // The basins as colours, row by row from the top.
    struct Picture {
        std::uint64_t made = 0, version = 0;  // versions of the basins
        std::vector<float> values;            // [side, side], indices into the legend
        std::vector<std::size_t> ends;        // ends with colours of their own, the largest first
        bool others = false, moving = false;
        std::uint64_t serial = 0;
    };
    Picture picture_;
};

}  // namespace attn::app
