// Lens Knock-out: which heads, edges and tokens matter for this answer. Each is ablated, or patched from
// another text, and the model runs again; beside the effects stand the heads' direct contributions and their
// largest weights.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/knockout/measures.hpp"
#include "lenses/lens.hpp"
#include "model/generate.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

enum class KnockoutPart : std::uint8_t { heads, edges, patching };
enum class Removal : std::uint8_t { zero, mean, texts, twin };
inline constexpr Index knockout_part_count = 3, removal_count = 4;
// Sites that can be patched, in the order of the arithmetic.
inline constexpr std::array patch_sites{Site::resid_pre, Site::attention_output, Site::mlp_output};

struct KnockoutState {
    KnockoutPart part = KnockoutPart::heads;
    Removal removal = Removal::zero;
    // Tokens. None: the most likely one, relative to the second text's most likely one if that differs.
    std::optional<std::int32_t> raise = {}, over = {};
    Site site = Site::resid_pre;
    bool back = false;  // patches the second text from the first
    bool operator==(const KnockoutState&) const = default;
    static const Fields<KnockoutState>& fields();
};
using SetKnockout = Set<KnockoutState>;

LinkRows knockout_links();

struct KnockoutPreset {
    const char *key, *name;
    const char *text, *twin;
};
// In the first, the model should name the noun that the adjective describes; in the second, repeat what
// followed before.
inline constexpr std::array<KnockoutPreset, 2> knockout_presets{{
    {"pronoun", "Pronoun twins", "The animal didn't cross the street because it was too tired. The",
     "The animal didn't cross the street because it was too wide. The"},
    {"induction", "Induction", "apple moon river stone apple moon river",
     "apple moon river king apple moon river"},
}};

// The lens's own numbers.
namespace knockout_cells {
inline constexpr CellKind head_ablation{"head_ablation", {CellAxis{"layer"}, {"head"}}};
inline constexpr CellKind direct_effect{"direct_effect",
                                        {CellAxis{"layer"}, {"part"}}};  // the MLP follows the heads
inline constexpr CellKind max_weight{"max_weight", {CellAxis{"layer"}, {"head"}}};  // for the chosen query
inline constexpr CellKind patching{"patching", {CellAxis{"layer"}, {"token"}}};
inline constexpr CellKind edge_ablation{"edge_ablation", {CellAxis{"key"}}};  // for the chosen query
inline constexpr CellKind strongest_edge{"strongest_edge", {CellAxis{"rank"}}};
inline constexpr CellKind edge_estimate{"edge_estimate", {CellAxis{"query"}, {"key"}}};
}  // namespace knockout_cells
CellKinds knockout_numbers();
std::optional<CellRef> packed_knockout_cell(Index row, Index col);

class KnockoutLens final : public Lens {
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

    // Results of the shown part, null if they cannot be measured; the other parts keep their last results.
    const std::optional<KnockoutTarget>& target() const { return target_; }
    const HeadRemovals* removals() const { return removals_.job ? &*removals_.job : nullptr; }
    const QueryCuts* cuts() const { return cuts_.job ? &*cuts_.job : nullptr; }
    const HeadCuts* head_cuts() const { return head_cuts_.job ? &*head_cuts_.job : nullptr; }
    const Patches* patches() const { return patches_.job ? &*patches_.job : nullptr; }
    // The largest weight in the chosen query's row of a head; nothing if the query is not one of that
    // attention's.
    struct Look {
        Index key = 0;
        double weight = 0;
        double rest = 0;  // the rest of the row; distinguishes heads whose weight rounds to 1 in f32
    };
    std::optional<Look> look(const HeadIndex& head) const;
    // Rank correlations over the heads that have both numbers: ablation effect against direct contribution,
    // and size of the effect against largest weight. Nothing until all heads are ablated.
    struct Agreement {
        double direct = 0, look = 0;
    };
    std::optional<Agreement> agreement() const;
    bool step(Subject& subject);  // true while there is more to do

  private:
    // A measurement, and what it measures.
    template <class Of, class Job>
    struct Measured {
        std::optional<Of> of;
        std::optional<Job> job;
        std::string refused;

        void want(const Of& wanted, auto&& start) {
            if (of == wanted) return;
            *this = {};
            of = wanted;
            if (Result<Job> begun = start())
                job.emplace(*std::move(begun));
            else
                refused = begun.error().message;
        }
    };
    struct RemovalsOf {
        Removal removal;
        std::vector<std::shared_ptr<const Trace>> from;
        bool operator==(const RemovalsOf&) const = default;
    };
    struct CutsOf {
        HeadIndex head;
        Index query;
        bool operator==(const CutsOf&) const = default;
    };
    struct PatchesOf {
        Site site;
        bool back;
        std::shared_ptr<const Trace> twin;
        Range attentions, tokens;
        bool operator==(const PatchesOf&) const = default;
    };
    struct LooksOf {
        std::shared_ptr<const Trace> trace;
        Index attention, query;
        bool operator==(const LooksOf&) const = default;
    };
    // A row of logits, and its most likely tokens.
    struct Likeliest {
        std::shared_ptr<const Trace> trace;
        Index row = 0;
        Tensor logits = {};  // [1, vocabulary]
        std::vector<Candidate> tokens = {};
        void read(std::shared_ptr<const Trace> of, Index at);
    };

    const KnockoutState& now() const { return state().of<KnockoutState>(); }
    void update(Subject& subject);
    void forget();
    std::optional<LogitLoss> wanted_loss() const;
    bool measure_looks();  // measures one head; true while there is more to do
    Range patched_tokens(Subject& subject) const;
    const std::string& refused() const;       // why the shown part cannot be measured; empty if it can
    std::optional<float> share_done() const;  // progress of the shown part

    std::string target_name(Subject& subject) const;  // "“animal” over “street”"
    std::vector<std::int32_t> tokens_offered(Subject& subject) const;
    std::string heads_spoken(Subject& subject) const;
    std::string edges_spoken(Subject& subject) const;
    // The chosen key, the one that the chosen query attends to most, and the one with the largest effect; −1:
    // there is none.
    std::vector<Index> keys_named(Subject& subject) const;
    std::string patching_spoken(Subject& subject) const;
    // What the maps of a head show if not all tokens fit: these queries, and these keys first.
    struct MapTokens {
        ShownTokens queries;
        std::vector<Index> keys;
    };
    static constexpr Index most_in_map = 20;
    MapTokens map_tokens(Subject& subject, Index room) const;
    Sheet head_sheet(Subject& subject, const CellKind& kind) const;
    SheetAxis key_axis(Subject& subject, std::vector<Index> first) const;
    Sheet row_sheet(Subject& subject) const;
    Sheet map_sheet(Subject& subject, const ShownTokens& queries, std::vector<Index> first_keys,
                    bool estimates) const;
    Sheet patch_sheet(Subject& subject) const;
    Table strongest_table(Subject& subject) const;
    // A number of the shown part, in the form of a matrix; NaN if there is none.
    double value_at(const CellRef& cell) const;

    friend CellKinds knockout_numbers();
    static const std::array<LensNumber<KnockoutLens>, 7> declared;
    std::optional<Explained> explain_head(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_direct(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_patch(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_cut(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_strongest(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_estimate(Subject& subject, const LensCell& cell);
    Explained begin(Subject& subject, std::string title) const;
    // Explains a difference of the target between two runs.
    Explained explain_runs(Subject& subject, std::string title, const char* other, double value, double moved,
                           bool falls) const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_presets();
    void draw_target(Subject& subject, KnockoutState& next);
    void draw_query(const Drawing& drawing, Subject& subject);
    void draw_part_controls(Subject& subject, KnockoutState& next);
    void draw_heads(const Drawing& drawing, Subject& subject);
    void draw_agreement(const Drawing& drawing, Subject& subject, float width) const;
    void draw_head_sheet(const Drawing& drawing, Subject& subject, const CellKind& kind, float width) const;
    void draw_edges(const Drawing& drawing, Subject& subject, float width);
    void draw_strongest(const Drawing& drawing, Subject& subject, float width);
    void draw_patching(const Drawing& drawing, Subject& subject, float width);

    std::optional<KnockoutTarget> target_;
    std::shared_ptr<const Trace> twin_;
    std::string fault_;  // why there is no target
    Likeliest here_, there_;
    Measured<RemovalsOf, HeadRemovals> removals_;
    Measured<CutsOf, QueryCuts> cuts_;
    Measured<HeadIndex, HeadCuts> head_cuts_;
    Measured<PatchesOf, Patches> patches_;
    std::optional<LooksOf> looks_of_;
    std::vector<std::optional<Look>> looks_;  // [attentions, heads], as far as they are known
    Vocabulary vocabulary_;
    TokenSearch search_;
    std::vector<std::int32_t> typed_;  // tokens found by typing
};

}  // namespace attn::app
