// Lens Cache: what a decoder keeps of the tokens it has read, what that costs and saves, and how the answer
// changes if it keeps fewer bits or fewer keys. For the last two, the model decodes token by token.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/cached_decoding.hpp"
#include "analysis/theory/cache_cost.hpp"
#include "app/sheet.hpp"
#include "runs/decode_race.hpp"
#include "analysis/heads/kept_weights.hpp"
#include "lenses/cache/state.hpp"
#include "lenses/lens.hpp"
#include "parts/part.hpp"
#include "subjects/vocabulary.hpp"
#include "widgets/map_view.hpp"

namespace attn::app {

// The lens's own numbers.
namespace cache_cells {
inline constexpr std::array<std::string_view, 2> whose_words{"model", "compared"},
    reading_words{"cached", "recomputed"};
inline constexpr std::array<std::string_view, 4> bits_words{"32", "16", "8", "4"};  // words for cache_bits

inline constexpr CellKind bytes{"bytes", {CellAxis{"cache", whose_words}, {"tokens"}}};
// Step 0 reads the prompt.
inline constexpr CellKind operations{"operations", {CellAxis{"reading", reading_words}, {"step"}}};
// Bytes with another number of key-value heads, given as a place in kv_heads_offered.
inline constexpr CellKind variant{"variant", {CellAxis{"place"}, {"bits", bits_words}}};
inline constexpr CellKind time{"time"};  // measured time of a full pass, relative to a step's
inline constexpr CellKind divergence{"divergence", {CellAxis{"query"}}};
inline constexpr CellKind loss{"loss", {CellAxis{"query"}}};                  // increase of the loss
inline constexpr CellKind lost_weight{"lost_weight", {CellAxis{"query"}}};    // lost by the chosen head
inline constexpr CellKind output_error{"output_error", {CellAxis{"query"}}};  // for the chosen head
// Either of the two, averaged over the queries.
inline constexpr CellKind head{"head", {CellAxis{"layer"}, {"head"}}};
inline constexpr CellKind score{"score", {CellAxis{"key"}}};               // before the chosen query
inline constexpr CellKind probability{"probability", {CellAxis{"rank"}}};  // after the chosen query
inline constexpr CellKind key{"key", {CellAxis{"token"}, {"component"}}};
inline constexpr CellKind value{"value", {CellAxis{"token"}, {"component"}}};
inline constexpr CellKind weight{"weight", {CellAxis{"query"}, {"key"}}};
inline constexpr CellKind full_weight{"full_weight", {CellAxis{"query"}, {"key"}}};  // without eviction
}  // namespace cache_cells
CellKinds cache_numbers();
std::optional<CellRef> packed_cache_cell(Index row, Index col);

class CacheLens final : public Lens {
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

    // The computed cost.
    struct Cost {
        CacheShape own, other;  // the model's own, and the one that it is compared with
        CachePrecision own_kept, other_kept;
        Index prompt = 0, written = 0;
        Index steps() const { return written + 1; }
        Range tokens_of(Index step) const {
            return step == 0 ? Range{0, prompt} : Range{prompt + step - 1, prompt + step};
        }
        Index after(Index step) const { return prompt + step; }  // in tokens
    };
    Cost cost(Subject& subject) const;
    // Numbers of key-value heads that this model's heads could share, the largest first.
    std::vector<Index> kv_heads_offered(Subject& subject) const;
    CacheShape variant(Subject& subject, Index kv_heads) const;  // with the window that is compared

    // Returns a finished decoding, of the present request or the previous one; null until there is one.
    const CachedDecoding* decoding() const { return shown_.get(); }
    const KeptWeights* kept_head() const { return kept_ && kept_->done() ? &*kept_ : nullptr; }
    // Why nothing is decoded; empty if decoding works.
    const std::string& refused() const { return refused_; }
    const std::optional<DecodeRace>& race() const { return race_; }
    bool step(Subject& subject);  // true while there is more to do
    // The chosen head among the decoder's, the heads of its layer that share its keys, and the chosen query,
    // or the nearest decoded one.
    HeadIndex head(Subject& subject) const;
    Index kv_head(const HeadIndex& head) const;
    Index query(Subject& subject) const;
    bool playing() const { return play_.has_value(); }

  private:
    struct Play {
        std::uint64_t gesture;  // its steps share one undo step
        double next_ms;
    };
    struct KeptOf {
        const CachedDecoding* decoding = nullptr;
        Index layer = -1, kv_head = -1;
        bool operator==(const KeptOf&) const = default;
    };
    const CacheState& now() const { return state().of<CacheState>(); }
    void set(const CacheState& wanted);
    void update(Subject& subject);
    void follow_kept(Subject& subject);
    void forget();
    static Attention& text(Subject& subject);  // its queries are the decoded ones
    static CellPlace run_cell(Subject& subject, const HeadIndex& head, Stage stage, Index row, Index col);
    CacheRule rule() const;
    Index prompt() const;  // length of the decoding's prompt
    bool evicts() const { return shown_ && std::holds_alternative<EvictionRule>(shown_->rule()); }
    const EvictionRule& eviction() const { return std::get<EvictionRule>(shown_->rule()); }
    const CacheRounding& rounding() const { return std::get<CacheRounding>(shown_->rule()); }
    bool is_decoded(Index query) const { return query >= shown_->prompt() && query < shown_->tokens(); }
    double mean_of(const HeadIndex& head) const;  // mean of the weight lost, or of the output's error
    Range codes_shown(Subject& subject) const;    // tokens
    std::optional<double> score_of(Subject& subject, Index key) const;
    // Says whether keys have scores.
    bool is_scored(Subject& subject) const { return score_of(subject, 0).has_value(); }
    std::vector<Index> keys_wanted(Subject& subject) const;
    Index changed_tokens() const;  // counts the queries at which the most likely token changes
    Index farthest() const;        // the query with the largest divergence
    double mean_loss(bool before) const;

    std::string head_name(Subject& subject) const;
    std::string cost_spoken(Subject& subject) const;
    std::string bits_spoken(Subject& subject) const;
    std::string eviction_spoken(Subject& subject) const;

    Sheet variants_sheet(Subject& subject) const;
    Sheet heads_sheet(Subject& subject) const;
    SheetAxis key_axis(Subject& subject) const;
    Sheet row_sheet(Subject& subject) const;
    Sheet score_sheet(Subject& subject) const;
    Sheet codes_sheet(Subject& subject, bool of_keys) const;
    Table steps_table(Subject& subject) const;
    Table decoded_table(Subject& subject) const;
    Table kept_table(Subject& subject) const;

    Explained begin(Subject& subject, std::string title) const;
    friend CellKinds cache_numbers();
    static const std::array<LensNumber<CacheLens>, 15> declared;
    static constexpr std::ptrdiff_t cost_kinds = 4;  // the cost's kinds come first
    std::optional<Explained> explain_bytes(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_operations(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_variant(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_time(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_divergence(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_loss(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_lost_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_output_error(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_head(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_score(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_probability(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_code(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> explain_full_weight(Subject& subject, const LensCell& cell);
    std::optional<Explained> bytes_after(Subject& subject, const CacheShape& shape,
                                         const CachePrecision& precision, Index tokens) const;

    void draw_controls(const Drawing& drawing, Subject& subject);
    void draw_presets();
    void draw_cost_controls(Subject& subject, CacheState& next);
    void draw_prompt(Subject& subject, CacheState& next);
    void draw_bits_controls(CacheState& next);
    void draw_eviction_controls(Subject& subject, CacheState& next);
    void draw_steps(const Drawing& drawing, Subject& subject);
    void play(const Drawing& drawing, Subject& subject);
    void go(const Drawing& drawing, Subject& subject, Index query, std::uint64_t gesture) const;
    void draw_cost(const Drawing& drawing, Subject& subject);
    void draw_bytes(const Drawing& drawing, const Cost& cost, float width);
    void draw_operations(const Drawing& drawing, const Cost& cost, float width);
    void draw_variants(const Drawing& drawing, Subject& subject, float width);
    void draw_race(const Drawing& drawing, float width);
    void draw_decoded(const Drawing& drawing, Subject& subject);
    void draw_divergence(const Drawing& drawing, Subject& subject, float width);
    void draw_second_curve(const Drawing& drawing, Subject& subject, float width);
    void draw_choices(const Drawing& drawing, Subject& subject, float width);
    void draw_heads(const Drawing& drawing, Subject& subject, float width);
    void draw_kept(const Drawing& drawing, Subject& subject, float width);

    std::shared_ptr<const Trace> trace_;
    std::string refused_;
    std::shared_ptr<CachedDecoding> shown_, next_;  // next_: the requested one, until it is done
    std::optional<KeptWeights> kept_;
    KeptOf kept_of_;
    std::optional<DecodeRace> race_;
    std::optional<Play> play_;
    Vocabulary vocabulary_;
    MapPointer map_;  // belongs to a head of this record
    std::pair<const Record*, Index> mapped_{};
    ui::MapView view_;
    parts::MapClicks clicks_;
};

}  // namespace attn::app
