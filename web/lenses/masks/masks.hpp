// Lens Masks: which keys a query may attend to, as an expression that is composed or typed; what the mask
// leaves of attention, what it saves, what every query loses by it, and what a model predicts under it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/theory/empty_rows.hpp"
#include "analysis/theory/mask_counts.hpp"
#include "analysis/theory/row_losses.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "attention/mask_program.hpp"
#include "attention/mask_terms.hpp"
#include "lenses/lens.hpp"
#include "parts/part.hpp"
#include "runs/kernel_race.hpp"
#include "runs/masked_run.hpp"
#include "widgets/map_view.hpp"

namespace attn::app {

inline constexpr Index mask_size_limit = 16'384;

struct MasksState {
    Mask mask = Mask::causal();
    Index size = 0;     // queries and keys; 0: the subject's
    Index shift = 0;    // −1, 0 or 1: shifts the diagonal edges by this many keys
    bool runs = false;  // the model runs under the mask, too
    bool operator==(const MasksState&) const = default;
    static const Fields<MasksState>& fields();
};
using TryMask = Set<MasksState>;

LinkRows masks_links();

// An instructive mask, for this many queries and keys.
struct MaskPreset {
    const char* name;
    Mask (*make)(Index size);
};
std::span<const MaskPreset> mask_presets();
// Terms that can be added, with their initial numbers.
std::span<const MaskPreset> mask_atoms();
// The squares of a brush, `side` cells wide and aligned to multiples of that, that a straight stroke passes
// over; their number depends on the stroke's length, not on the map's size.
std::vector<MapWindow> stroke_squares(ui::MapCell from, ui::MapCell to, Index side);

enum class MaskNumber { kept, skipped, multiply_adds, without_key, time };
enum class LostOf { all, own };  // a query's weights without any mask, and under its own

// The lens's own numbers.
namespace masks_cells {
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
}  // namespace masks_cells
CellKinds masks_numbers();
std::optional<CellRef> packed_masks_cell(Index row, Index col);

class MasksLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject&) const override { return std::nullopt; }
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    Guide guide(Subject& subject) const override;

    // The inputs: the effective mask, and what it applies to.
    struct Looked {
        Mask mask;
        Index queries = 0, keys = 0;
        HeadIndex head;
        std::uint64_t version = 0;  // version of the attention if its size is used; otherwise 0
        bool operator==(const Looked&) const = default;
    };
    // Brings everything up to date and returns it; step() does what takes longer.
    const Looked& look(Subject& subject);
    bool step();  // a slice of it; true while there is more to do
    const MaskCounting& counting() const { return *counting_; }
    const RowLosses* lost_of_all() const { return lost_of_all_ ? &*lost_of_all_ : nullptr; }
    const RowLosses* lost_of_own() const { return lost_of_own_ ? &*lost_of_own_ : nullptr; }
    const MaskedRun& masked_run() const { return masked_run_; }
    const KernelRace* race() const { return race_ ? &*race_ : nullptr; }
    void start_race() {
        race_.emplace(looked_->mask, looked_->head.head, looked_->queries, looked_->keys, d_k_, d_v_);
    }

    // A query without a key, if there is one, otherwise the query in view, with some of its keys.
    struct EmptyExample {
        Index query = 0, chosen = -1;  // the chosen key, if there is one
        bool without_key = false;
        std::vector<Index> wanted;  // keys: the chosen, the strongest, and the last visible ones
        std::vector<double> scores;
        std::vector<std::uint8_t> allowed;
        std::array<RowWeights<double>, empty_row_count> rows;  // under each convention
    };
    const EmptyExample& empty_example();
    // The scores of one of the head's queries before any mask: scaled, capped and with bias; zeros if the
    // mask has another size than the subject or there are no vectors.
    std::vector<double> scores_of(Index query) const;
    bool step_wanted() const;
    bool of_subject() const { return looked_->version != 0; }

  private:
    std::string prediction_spoken(Subject& subject) const;
    const MasksState& now() const { return state().of<MasksState>(); }
    void set(const MasksState& tried, std::uint64_t gesture = 0) { visit().perform(TryMask{tried}, gesture); }
    std::string query_name(Index query) const;
    std::string key_name(Index key) const;

    void draw_presets();
    void draw_text();
    void draw_terms();
    // Each of these returns the new terms of its level, if they changed.
    std::optional<MaskTerms> draw_level(const std::string& name, const MaskTerms& terms, int depth);
    std::optional<MaskTerms> draw_chip(const std::string& name, const MaskTerms& terms, std::size_t at);
    std::optional<MaskTerms> draw_group(const std::string& name, const MaskTerms& terms, std::size_t at,
                                        int depth);
    std::optional<Mask> draw_add(const std::string& name);
    std::optional<MaskTerms> draw_brackets(const std::string& name, const MaskTerms& terms, std::size_t at);
    void draw_settings(Subject& subject);
    void draw_copy();
    void draw_map(const Drawing& drawing, float width);
    void draw_counts(const Drawing& drawing, float width);
    void draw_empty_rows(const Drawing& drawing, float width);
    void draw_losses(const Drawing& drawing, float width);
    void draw_model(const Drawing& drawing, Subject& subject);
    void paint(const ui::MapTouch& touch);
    Table map_table() const;
    Sheet empty_sheet();

    friend CellKinds masks_numbers();
    static const std::array<LensNumber<MasksLens>, 6> declared;
    std::optional<Explained> explain_mask(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_share(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_hidden_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_probability(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_empty_row(Subject& subject, const LensCell& cell);

    std::optional<Looked> looked_;
    std::shared_ptr<const Record> record_;  // the subject's, if its size is used and it has vectors
    Index d_k_ = 64, d_v_ = 64;
    std::vector<std::string> query_names_, key_names_;
    MapPointer map_;
    std::optional<MaskCounting> counting_;
    std::optional<RowLosses> lost_of_all_, lost_of_own_;
    std::optional<EmptyExample> empty_;  // valid for this query only
    std::optional<KernelRace> race_;
    MaskedRun masked_run_;

    ui::MapView view_;
    parts::MapClicks clicks_;
    // A stroke in progress: once it has ended, all its cells get the state of the first.
    struct Stroke {
        bool allowed = false;
        CellRegion cells;
        std::vector<MapWindow> squares;
    };
    std::optional<Stroke> stroke_;
    Join joins_ = Join::all;  // how the next term is added
    struct {
        std::string text;  // the typed text
        Mask mask;         // the mask that it stands for, or last stood for while it was valid
        std::string fault;
        bool fresh = false;  // was set at least once
    } typed_;
};

}  // namespace attn::app
