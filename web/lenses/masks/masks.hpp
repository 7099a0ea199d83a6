// Lens Masks: which keys a query may attend to, as an expression that is composed or typed; what the mask
// leaves of attention, what it saves, what every query loses by it, and what a model predicts under it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/empty_row_example.hpp"
#include "analysis/theory/mask_counts.hpp"
#include "analysis/theory/row_losses.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "attention/mask_terms.hpp"
#include "lenses/lens.hpp"
#include "runs/kernel_race.hpp"
#include "runs/masked_run.hpp"

namespace attn::app::masks {

inline constexpr Index size_limit = 16'384;

struct State {
    Mask mask = Mask::causal();
    Index size = 0;     // queries and keys; 0: the subject's
    Index shift = 0;    // −1, 0 or 1: shifts the diagonal edges by this many keys
    bool runs = false;  // the model runs under the mask, too
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

enum class Share { kept, skipped, multiply_adds, without_key, time };
enum class LostOf { all, own };  // a query's weights without any mask, and under its own

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 5> share_words{"kept_cells", "skipped_tiles", "multiply_adds",
                                                             "empty_rows", "kernel_time"};
inline constexpr std::array<std::string_view, 2> lost_words{"unmasked", "own"};
inline constexpr std::array<std::string_view, empty_row_count> convention_words{"zeros", "uniform", "nan",
                                                                                "sink"};
inline constexpr CellAxis query_axis{"query"}, key_axis{"key"},
    convention_axis{"convention", convention_words};

inline constexpr CellKind mask{"mask", {query_axis, key_axis}};
inline constexpr CellKind share{"share", {CellAxis{"of", share_words}}};
inline constexpr CellKind hidden_weight{"hidden_weight", {CellAxis{"of", lost_words}, query_axis}};
// Next token, or the predicted position's.
inline constexpr CellKind probability{"probability", {CellAxis{"token"}}};
inline constexpr CellKind empty_row{"empty_row", {convention_axis, query_axis, key_axis}};  // weights
inline constexpr CellKind sink{"sink", {convention_axis, query_axis}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

// The inputs: the effective mask, and what it applies to.
struct Looked {
    Mask mask;
    Index queries = 0, keys = 0;
    HeadIndex head;
    std::uint64_t version = 0;  // version of the attention if its size is used; otherwise 0
    bool operator==(const Looked&) const = default;

    bool is_of_subject() const { return version != 0; }
};

struct ViewMemory;

class Model {
  public:
    static std::optional<Missing> missing(Subject&) { return std::nullopt; }
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        Looked looked;
        std::uint64_t version = 0;                  // version of the attention
        std::optional<Index> query = {}, key = {};  // chosen
        Index done = 0;                             // how many of the jobs
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool has_empty_row() const { return counting->done() && counting->counts().rows_without_key() > 0; }
    bool pending() const;
    bool step();  // true while there is more to do
    void start_race() { race.emplace(looked.mask, looked.head.head, looked.queries, looked.keys, d_k, d_v); }
    // A query without a key, if there is one, otherwise the query in view.
    const EmptyRowExample& empty_example();
    std::string query_name(Index query) const;
    std::string key_name(Index key) const;

    State state;
    Selection selection;
    Looked looked;
    std::uint64_t version = 0;             // version of the attention
    std::shared_ptr<const Record> record;  // the subject's, if its size is used and it has vectors
    Index d_k = 64, d_v = 64;
    std::vector<std::string> query_names, key_names;
    MapPointer map;
    std::optional<MaskCounting> counting;
    std::optional<RowLosses> lost_of_all, lost_of_own;
    std::optional<KernelRace> race;
    MaskedRun masked_run;
    std::shared_ptr<ViewMemory> seen;

  private:
    struct ExampleOf {
        Looked looked;
        std::shared_ptr<const Record> record;
        Index query = 0, key = -1;
        bool operator==(const ExampleOf&) const = default;
    };
    Derived<ExampleOf, EmptyRowExample> example_;
};

class Lens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;
    // The picture keeps its zoom, and the kernel's time stays measured.
    void follow(const app::State&, Change) override {}
};

Table map_table(const Model& model);
Sheet empty_sheet(Model& model);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::masks
