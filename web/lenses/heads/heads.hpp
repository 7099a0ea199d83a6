// Lens Heads: how multiple heads work together. It shows the shapes of their tensors, what each of them
// writes, how similar they are, and what is lost if they share keys and values or keep a latent instead.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/heads/copying.hpp"
#include "analysis/heads/head_shapes.hpp"
#include "analysis/heads/head_similarity.hpp"
#include "analysis/heads/head_writes.hpp"
#include "analysis/heads/smaller_runs.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::heads {

enum class Part : std::uint8_t { shapes, writes, alike, sharing, latent };
inline constexpr Index part_count = 5;
inline constexpr Index setting_limit = 100'000;

struct State {
    Part part = Part::shapes;
    bool tutorial = false;    // shows the shapes of the tutorial's example
    bool outputs = false;     // compares what heads write, not where they attend
    bool all_layers = false;  // includes all layers that read the same text
    Index kv_heads = 0;       // key-value heads that remain; 0: half of the model's
    Index rank = 0;           // rank of the latent; 0: half of the largest
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

enum class CacheMeasure { numbers, bytes, loss, change, moved };
inline constexpr Index cache_measure_count = 5;

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, shape_step_count> step_words{
    "input", "q", "k", "v", "split_q", "split_k", "split_v", "weights", "outputs", "joined", "written"};
inline constexpr std::array<std::string_view, 3> count_words{"elements", "parameters", "products"};
inline constexpr std::array<std::string_view, 2> similarity_words{"weights", "outputs"},
    cache_words{"shared", "latent"}, run_words{"before", "after"};
inline constexpr std::array<std::string_view, cache_measure_count> measure_words{
    "elements", "bytes", "loss", "output_error", "total_variation"};
inline constexpr CellAxis cache_axis{"cache", cache_words};

inline constexpr CellKind shape{"shape", {CellAxis{"step", step_words}, {"count", count_words}}};
// The parts are the heads and the bias; the written vector also has their sum and the attention.
inline constexpr CellKind written{"written", {CellAxis{"part"}, {"component"}}};
inline constexpr CellKind norm{"norm", {CellAxis{"part"}}};
inline constexpr CellKind share{"share", {CellAxis{"part"}}};
inline constexpr CellKind error{"error"};
// Heads are counted among the compared ones, in order.
inline constexpr CellKind similarity{"similarity",
                                     {CellAxis{"between", similarity_words}, {"head"}, {"head"}}};
inline constexpr CellKind role{"role", {CellAxis{"head"}}};
// A setting is the number of remaining key-value heads, or the rank; 0: unchanged.
inline constexpr CellKind cache{"cache", {cache_axis, {"measure", measure_words}, {"setting"}}};
inline constexpr CellKind output_error{"output_error", {cache_axis, {"layer"}, {"setting"}}};
inline constexpr CellKind probability{"probability", {cache_axis, {"run", run_words}, {"token"}}};
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() { return nullptr; }
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);

    struct Key {
        State state;
        std::shared_ptr<const Trace> trace;
        HeadIndex head;
        Index row = 0;
        Index steps = 0;  // taken, at least one in each frame: a step may change a role or a run
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {state, trace, head, row, steps}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step();  // true while there is more to do
    const HeadWrites& writes() const { return *all_writes.kept(); }
    const HeadSimilarity& alike() const { return *similarities.kept(); }
    bool compared() const { return clusters.kept() != nullptr; }
    const std::vector<Index>& order() const { return clusters.kept()->order; }  // heads in the dendrogram
    Index in_order(Index place) const { return order()[static_cast<std::size_t>(place)]; }
    double similarity(Index a, Index b) const {  // the chosen measure's
        return state.outputs ? alike().of_outputs(a, b) : alike().of_maps(a, b);
    }
    const Copying* copying_of(const HeadIndex& at) const;  // null until it is known

    bool is_latent() const { return state.part == Part::latent; }
    const SmallerRuns& runs() const { return is_latent() ? *latent : *shared; }
    // The number of remaining key-value heads, or the rank; 0: unchanged.
    Index setting() const { return runs().nearest(is_latent() ? state.rank : state.kv_heads); }
    // Nothing until it is measured.
    std::optional<double> cache_value(CacheMeasure measure, Index setting) const;
    // Says whether both runs are measured, and have probabilities.
    bool says() const { return runs().at(0) && runs().last() && !std::isnan(runs().last()->moved); }

    State state;
    std::shared_ptr<const Trace> trace;
    HeadIndex head;
    Index row = 0, steps = 0;
    HeadSizes sizes;
    struct WritesOf {
        std::shared_ptr<const Trace> trace;
        Index attention, row;
        bool operator==(const WritesOf&) const = default;
    };
    Derived<WritesOf, HeadWrites> all_writes;
    struct AlikeOf {
        std::shared_ptr<const Trace> trace;
        Range attentions;
        bool operator==(const AlikeOf&) const = default;
    };
    Derived<AlikeOf, HeadSimilarity> similarities;
    Derived<std::pair<AlikeOf, bool>, HeadClusters> clusters;  // nothing until all heads are compared
    Derived<std::shared_ptr<const attn::Model>, std::optional<CopyingJob>> copying;
    std::optional<SmallerRuns> shared, latent;
    Vocabulary vocabulary;
};

// What a head does: a name that it has earned on random tokens, or else what it does with this text.
struct Role {
    std::string name;  // "induction"; "mixed" if no measured role fits
    double score = 0;
    std::string measure;  // what the score measures
    std::string on;       // the text it was measured on: "on this text"
};
Role role_of(const Model& model, Subject& subject, Index head);  // for a compared head

std::string part_name(const Model& model, Subject& subject, Index part);
std::string setting_name(const Model& model, Index setting);

Table shapes_table(const HeadSizes& sizes);
Sheet numbers_sheet(const HeadSizes& sizes);
Sheet written_sheet(const Model& model, Subject& subject);
Table shares_table(const Model& model, Subject& subject);
Sheet alike_sheet(const Model& model, Subject& subject);
Table roles_table(const Model& model, Subject& subject);
Sheet measures_sheet(const Model& model);
Sheet said_sheet(const Model& model, Subject& subject);
void draw_writes(const Model& model, const Drawing& drawing, Subject& subject, float width);
void draw_alike(const Model& model, const Drawing& drawing, Subject& subject);
void draw_cache(const Model& model, const Drawing& drawing, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::heads
