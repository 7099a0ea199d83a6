// Lens Heads: how many heads work together. The shapes that they pass through, what each of them writes, how alike they
// are, and what is lost where they share keys and values or keep a latent in their place.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/average_linkage.hpp"
#include "analysis/copying.hpp"
#include "analysis/head_similarity.hpp"
#include "analysis/head_writes.hpp"
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
    bool tutorial = false;    // the shapes of the tutorial's example
    bool outputs = false;     // how alike is what heads write, not where they look
    bool all_layers = false;  // of all layers that read the same text
    Index kv_heads = 0;       // that share; 0: half of the model's
    Index rank = 0;           // of the latent; 0: half of the largest
    bool operator==(const HeadsState&) const = default;
};

struct SetHeadsLens {
    HeadsState heads;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

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

// The rows of the lens's own cells, Stage::lens.
namespace heads_rows {
inline constexpr Index shape = 0;       // + ShapeStep; columns: numbers, weights, products
inline constexpr Index written = 1000;  // + head, the bias, the sum, the whole; the column is a component
inline constexpr Index norm = 2000;     // + head or the bias; the column is 0
inline constexpr Index share = 3000;    // likewise
inline constexpr Index off_by = 4000;   // the column is 0
inline constexpr Index maps = 5000;  // + head; the column is a head: those that are compared, in their order
inline constexpr Index outputs = 6000;  // likewise
inline constexpr Index role = 7000;     // the column is such a head
inline constexpr Index sharing =
    8000;  // + CacheMeasure; the column is the heads of K and V that are left, 0: as it is
inline constexpr Index said =
    100;  // + sharing or latent: the probability of a token, as it is; the column is its id
inline constexpr Index said_then = 101;  // likewise, with the setting that is shown
inline constexpr Index changes = 200;    // + sharing or latent, + attention; the column is the setting
inline constexpr Index latent = 9000;    // as sharing; the column is the rank
}  // namespace heads_rows

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
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }

    // What is on screen, of the part that is shown.
    const HeadSizes& sizes() const { return sizes_; }
    const HeadWrites& writes() const { return *writes_; }
    // Null until they are all compared.
    const HeadSimilarity* similarity() const { return alike_ && alike_->done() ? &*alike_ : nullptr; }
    double alike(Index a, Index b) const;                       // in the way that is chosen
    const std::vector<Index>& order() const { return order_; }  // of heads, as a dendrogram has them
    const std::vector<ClusterMerge>& merges() const { return merges_; }
    struct Role {
        std::string name;  // "induction"; "mixed" where nothing was measured that has a name
        double score = 0;
        std::string measure;  // what the score is
        std::string on;       // what it was measured on: "on this text"
    };
    Role role(Subject& subject, Index head) const;  // of those that are compared

    const SmallerRuns* runs() const { return of(now().part) ? &*of(now().part) : nullptr; }
    Index setting() const;  // heads of K and V that are left, or the rank
    const std::vector<Index>& settings() const { return settings_; }  // those that are measured besides
    double cached(Index setting) const;                               // numbers that a token keeps
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
    std::vector<Index> tokens_shown() const;  // the likeliest of both runs
    std::string part_name(Subject& subject, Index part) const;
    std::string setting_name(Index setting) const;

    std::string shapes_spoken(Subject& subject) const;
    std::string writes_spoken(Subject& subject) const;
    std::string alike_spoken(Subject& subject) const;
    std::string cache_spoken() const;

    Explained begin(Subject& subject, std::string title) const;
    // Of a cell of its own.
    std::optional<Explained> explain_own(Subject& subject, const CellPlace& place) const;
    std::optional<RunPart> stands_for(Index attention,
                                      const CellRef& cell) const;  // none: nothing that can be changed
    std::optional<Explained> explain_shape(Subject& subject, Index step, Index column) const;
    std::optional<Explained> explain_written(Subject& subject, Index part, Index component) const;
    std::optional<Explained> explain_size(Subject& subject, Index part, bool share) const;
    Explained explain_off(Subject& subject) const;
    std::optional<Explained> explain_alike(Subject& subject, bool outputs, Index a, Index b) const;
    std::optional<Explained> explain_role(Subject& subject, Index head) const;
    std::optional<Explained> explain_cache(Subject& subject, Index row, Index setting) const;
    std::optional<Explained> explain_said(Subject& subject, bool then, Index id) const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_part_controls(const Drawing& drawing, Subject& subject, HeadsState& next);
    void draw_presets();
    void draw_shapes(const Drawing& drawing, float width);
    void draw_writes(const Drawing& drawing, Subject& subject, float width);
    void draw_shares(const Drawing& drawing, Subject& subject, float width);
    void draw_components(const Drawing& drawing, Subject& subject, float width);
    void draw_alike(const Drawing& drawing, Subject& subject, float width);
    void draw_similarity(const Drawing& drawing, Subject& subject, float width);
    void draw_roles(const Drawing& drawing, Subject& subject, float width);
    void draw_cache(const Drawing& drawing, Subject& subject);
    void draw_measures(const Drawing& drawing, float width);
    void draw_loss(const Drawing& drawing, float width);
    void draw_changes(const Drawing& drawing, Subject& subject, float width);
    void draw_said(const Drawing& drawing, Subject& subject, float width);

    HeadSizes sizes_;
    std::shared_ptr<const Trace> trace_;
    std::optional<WritesOf> writes_of_;
    std::optional<HeadWrites> writes_;
    std::optional<AlikeOf> alike_of_;
    std::optional<HeadSimilarity> alike_;
    std::vector<ClusterMerge> merges_;
    std::vector<Index> order_;
    bool of_outputs_ = false;  // what the clusters are of
    std::shared_ptr<const Model> copying_of_;
    std::optional<CopyingJob> copying_;
    std::optional<SmallerRuns> shared_, latent_;
    std::shared_ptr<LatentFactors> factors_;
    std::vector<Index> settings_;
    Vocabulary vocabulary_;
};

}  // namespace attn::app
