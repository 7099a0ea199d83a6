// Lens Knock-out: which heads, edges and tokens matter for this answer. Each is ablated, or patched from
// another text, and the model runs again; beside the effects stand the heads' direct contributions and their
// largest weights.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/ablations.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/lens.hpp"
#include "runs/likeliest.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::knockout {

enum class Part : std::uint8_t { heads, edges, patching };
enum class Removal : std::uint8_t { zero, mean, texts, twin };
inline constexpr Index part_count = 3, removal_count = 4;
// Sites that can be patched, in the order of the arithmetic.
inline constexpr std::array patch_sites{Site::resid_pre, Site::attention_output, Site::mlp_output};

struct State {
    Part part = Part::heads;
    Removal removal = Removal::zero;
    // Tokens. None: the most likely one, relative to the second text's most likely one if that differs.
    std::optional<std::int32_t> raise = {}, over = {};
    Site site = Site::resid_pre;
    bool back = false;  // patches the second text from the first
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers.
namespace cells {
inline constexpr CellKind head_ablation{"head_ablation", {CellAxis{"layer"}, {"head"}}};
inline constexpr CellKind direct_effect{"direct_effect",
                                        {CellAxis{"layer"}, {"part"}}};  // the MLP follows the heads
inline constexpr CellKind max_weight{"max_weight", {CellAxis{"layer"}, {"head"}}};  // for the chosen query
inline constexpr CellKind patching{"patching", {CellAxis{"layer"}, {"token"}}};
inline constexpr CellKind edge_ablation{"edge_ablation", {CellAxis{"key"}}};  // for the chosen query
inline constexpr CellKind strongest_edge{"strongest_edge", {CellAxis{"rank"}}};
inline constexpr CellKind edge_estimate{"edge_estimate", {CellAxis{"query"}, {"key"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

// Returns a job that is kept; null: there is none, or it was refused.
template <class Of, class Job>
const Job* job(const Derived<Of, Result<Job>>& kept) {
    return kept.kept() && *kept.kept() ? &**kept.kept() : nullptr;
}

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "Rows and columns stay tokens: an edge that is taken out lies between two of them.";
    }
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);

    using Runs = std::vector<std::shared_ptr<const Trace>>;
    struct Key {
        State state;
        std::uint64_t version = 0;  // version of the attention
        std::optional<LogitTarget> target;
        std::shared_ptr<const Trace> twin;
        Runs from;
        HeadIndex head;
        Index query = 0;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {state, version, target, twin, from, head, query}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step(Subject& subject);  // true while there is more to do
    // Results of the shown part, null if they cannot be measured; the other parts keep their last results.
    const HeadRemovals* removals() const { return job(measured.removals); }
    const QueryCuts* cuts() const { return job(measured.cuts); }
    const HeadCuts* head_cuts() const { return job(measured.head_cuts); }
    const Patches* patches() const { return job(measured.patches); }
    std::optional<float> share_done() const;                                // progress of the shown part
    Index heads() const { return target->trace->model()->config().heads; }  // in each attention
    // The largest weight in the chosen query's row of a head; nothing if the query is not one of that
    // attention's.
    std::optional<StrongestWeights::Look> look(const HeadIndex& of) const { return looks.kept()->of(of); }
    std::optional<Agreement> agreement() const {
        return removals() ? attn::agreement(*removals(), *looks.kept()) : std::nullopt;
    }
    std::string target_name(Subject& subject) const;  // "“animal” over “street”"
    // The text that is patched.
    Attention& patched(Subject& subject) const {
        return state.back ? *second_of(subject) : *subject.attention();
    }

    State state;
    std::uint64_t version = 0;
    HeadIndex head;  // the chosen ones
    Index query = 0;
    std::optional<Index> chosen_key;
    std::optional<LogitTarget> target;
    std::string refused;  // why the shown part cannot be measured; empty if it can
    std::shared_ptr<const Trace> twin;
    Runs from;  // the runs that heads are averaged over or patched from

    LikeliestTokens here, there;
    Vocabulary vocabulary;
    TokenSearch search;
    std::vector<std::int32_t> typed;  // tokens found by typing

    struct RemovalsOf {
        Removal removal;
        Runs from;
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
    // What is measured for a target, or why it cannot be.
    struct Measured {
        Derived<RemovalsOf, Result<HeadRemovals>> removals;
        Derived<CutsOf, Result<QueryCuts>> cuts;
        Derived<HeadIndex, Result<HeadCuts>> head_cuts;
        Derived<PatchesOf, Result<Patches>> patches;
    };
    Measured measured;
    Derived<LooksOf, StrongestWeights> looks;

  private:
    std::optional<LogitLoss> wanted_loss() const;
    Status find_target(const std::shared_ptr<const Trace>& trace);
    void remove_heads(Subject& subject);
    Range patched_tokens(const Attention& attention) const;
};

// What the maps of a head show if not all tokens fit: these queries, and these keys first.
struct MapTokens {
    ShownTokens queries;
    std::vector<Index> keys;
};
inline constexpr Index most_in_map = 20;
MapTokens map_tokens(const Model& model, Subject& subject, Index room);
Sheet head_sheet(const Model& model, Subject& subject, const CellKind& kind);
Sheet row_sheet(const Model& model, Subject& subject);
Sheet map_sheet(const Model& model, Subject& subject, const MapTokens& shown, bool estimates);
Sheet patch_sheet(const Model& model, Subject& subject);
Table strongest_table(const Model& model, Subject& subject);

void draw_edges(Model& model, const Drawing& drawing, Subject& subject);
void draw_patching(const Model& model, const Drawing& drawing, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::knockout
