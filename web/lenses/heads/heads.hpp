// Lens Heads: how multiple heads work together. It shows the shapes of their tensors, what each of them
// writes, how similar they are, and what is lost if they share keys and values or keep a latent instead.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heads/copying.hpp"
#include "analysis/heads/head_similarity.hpp"
#include "analysis/heads/head_writes.hpp"
#include "analysis/linalg/average_linkage.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/heads/shapes.hpp"
#include "lenses/heads/smaller.hpp"
#include "lenses/lens.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

enum class HeadsPart : std::uint8_t { shapes, writes, alike, sharing, latent };
inline constexpr Index heads_part_count = 5;
inline constexpr Index heads_setting_limit = 100'000;

struct HeadsState {
    HeadsPart part = HeadsPart::shapes;
    bool tutorial = false;    // shows the shapes of the tutorial's example
    bool outputs = false;     // compares what heads write, not where they attend
    bool all_layers = false;  // includes all layers that read the same text
    Index kv_heads = 0;       // key-value heads that remain; 0: half of the model's
    Index rank = 0;           // rank of the latent; 0: half of the largest
    bool operator==(const HeadsState&) const = default;
    static const Fields<HeadsState>& fields();
};
using SetHeadsLens = Set<HeadsState>;

LinkRows heads_links();

struct HeadsPreset {
    const char *key, *name, *says;
    HeadsState state;
};
inline constexpr std::array<HeadsPreset, 3> heads_presets{{
    {"tutorial",
     "128 in 4 heads",
     "The tutorial’s example: 128 numbers a token, 4 heads of 32",
     {.part = HeadsPart::shapes, .tutorial = true}},
    {"multi_query",
     "One head of K and V",
     "Multi-query attention: all heads share one head of keys and values",
     {.part = HeadsPart::sharing, .kv_heads = 1}},
    {"latent",
     "Half the rank",
     "Multi-head latent attention with half of the largest rank",
     {.part = HeadsPart::latent}},
}};

enum class CacheMeasure { numbers, bytes, loss, change, moved };
inline constexpr Index cache_measure_count = 5;

// The lens's own numbers.
namespace heads_cells {
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
}  // namespace heads_cells
CellKinds heads_numbers();
std::optional<CellRef> packed_heads_cell(Index row, Index col);

Table shapes_table(const HeadSizes& sizes);

class HeadsLens final : public Lens {
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

    // Results of the shown part.
    const HeadSizes& sizes() const { return sizes_; }
    const HeadWrites& writes() const { return *writes_; }
    // Null until all heads are compared.
    const HeadSimilarity* similarity() const { return alike_ && alike_->done() ? &*alike_ : nullptr; }
    double alike(Index a, Index b) const;                       // uses the chosen measure
    const std::vector<Index>& order() const { return order_; }  // heads in the dendrogram's order
    const std::vector<ClusterMerge>& merges() const { return merges_; }
    struct Role {
        std::string name;  // "induction"; "mixed" if no measured role fits
        double score = 0;
        std::string measure;  // what the score measures
        std::string on;       // the text it was measured on: "on this text"
    };
    Role role(Subject& subject, Index head) const;  // for a compared head

    const SmallerRuns* runs() const { return of(now().part) ? &*of(now().part) : nullptr; }
    Index setting() const;  // number of remaining key-value heads, or the rank
    const std::vector<Index>& settings() const { return settings_; }  // settings measured in addition
    double cached(Index setting) const;                               // numbers kept per token
    const LatentFactors* factors() const { return factors_.get(); }
    std::optional<double> cache_value(CacheMeasure measure, Index setting) const;
    bool step(Subject& subject);  // true while there is more to do

  private:
    struct WritesOf {
        std::shared_ptr<const Trace> trace;
        Index attention, row;
        bool operator==(const WritesOf&) const = default;
    };
    struct AlikeOf {
        std::shared_ptr<const Trace> trace;
        Range attentions;
        bool operator==(const AlikeOf&) const = default;
    };

    const HeadsState& now() const { return state().of<HeadsState>(); }
    void update(Subject& subject);
    void update_cache(Subject& subject);
    const std::optional<SmallerRuns>& of(HeadsPart part) const {
        return part == HeadsPart::sharing ? shared_ : latent_;
    }
    void forget();
    void cluster();
    const Copying* copying(const HeadIndex& head) const;  // null until it is known
    Index most_setting() const;
    Index in_order(Index place) const { return order_[static_cast<std::size_t>(place)]; }
    // Selects among heads_cells::cache_words.
    bool is_latent() const { return now().part == HeadsPart::latent; }
    bool says() const { return runs()->at(0) && runs()->last() && !std::isnan(runs()->last()->moved); }
    std::string part_name(Subject& subject, Index part) const;
    std::string setting_name(Index setting) const;

    std::string shapes_spoken(Subject& subject) const;
    std::string writes_spoken(Subject& subject) const;
    std::string alike_spoken(Subject& subject) const;
    std::string cache_spoken() const;

    Explained begin(Subject& subject, std::string title) const;
    // Returns which part of the lens shows the cell, and what the cell is in the run; none if it cannot be
    // changed.
    static HeadsPart part_with(const LensCell& cell);
    std::optional<RunPart> stands_for(Index attention, const LensCell& cell) const;
    friend CellKinds heads_numbers();
    static const std::array<LensNumber<HeadsLens>, 10> declared;
    std::optional<Explained> explain_shape(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_written(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_norm(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_share(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_error(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_similarity(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_role(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_cache(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_output_error(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_probability(Subject& subject, const LensCell& cell);
    std::string with_setting(Index setting) const;

    Sheet numbers_sheet() const;
    Sheet written_sheet(Subject& subject) const;
    Table shares_table(Subject& subject) const;
    Sheet alike_sheet(Subject& subject) const;
    Table roles_table(Subject& subject) const;
    Sheet measures_sheet() const;
    Sheet said_sheet(Subject& subject);
    Table settings_table() const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_part_controls(const Drawing& drawing, Subject& subject, HeadsState& next);
    void draw_presets();
    void draw_shapes(const Drawing& drawing, float width);
    void draw_ladder(const Drawing& drawing, float width) const;
    void draw_writes(const Drawing& drawing, Subject& subject, float width);
    void draw_shares(const Drawing& drawing, Subject& subject, float width);
    void draw_alike(const Drawing& drawing, Subject& subject);
    void draw_similarity(const Drawing& drawing, Subject& subject, float width);
    void draw_roles(const Drawing& drawing, Subject& subject, float width);
    void draw_cache(const Drawing& drawing, Subject& subject);
    void draw_loss(const Drawing& drawing, float width);
    void draw_changes(const Drawing& drawing, Subject& subject, float width);

    HeadSizes sizes_;
    std::shared_ptr<const Trace> trace_;
    std::optional<WritesOf> writes_of_;
    std::optional<HeadWrites> writes_;
    std::optional<AlikeOf> alike_of_;
    std::optional<HeadSimilarity> alike_;
    std::vector<ClusterMerge> merges_;
    std::vector<Index> order_;
    bool of_outputs_ = false;  // the clusters compare outputs
    std::shared_ptr<const Model> copying_of_;
    std::optional<CopyingJob> copying_;
    std::optional<SmallerRuns> shared_, latent_;
    std::shared_ptr<LatentFactors> factors_;
    std::vector<Index> settings_;
    Vocabulary vocabulary_;
};

}  // namespace attn::app
