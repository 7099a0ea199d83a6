// Lens Cache: what a decoder keeps of the tokens it has read, what that costs and saves, and what becomes of the answer when it
// keeps fewer bits or fewer keys. The last two are decoded with the model, token by token.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/cache_cost.hpp"
#include "analysis/cached_decoding.hpp"
#include "lenses/cache/decode_race.hpp"
#include "lenses/cache/kept_head.hpp"
#include "lenses/cache/state.hpp"
#include "lenses/lens.hpp"
#include "parts/part.hpp"
#include "subjects/shown_tokens.hpp"
#include "subjects/vocabulary.hpp"
#include "widgets/map_view.hpp"

namespace attn::app {

// The rows of the lens's own cells, Stage::lens.
namespace cache_rows {
inline constexpr Index bytes = 0;    // of the model's own cache; the column is how many tokens were read
inline constexpr Index against = 1;  // of the cache that it is compared with, likewise
// Operations of a step, the prompt's being step 0; and those of the same step if nothing were kept.
inline constexpr Index operations = 2, recomputed = 3;
inline constexpr Index time = 4;  // column 0: of a whole pass over that of a step, as measured
// Of a decoded query, which is the column. The weight lost and the output moved are those of the chosen head.
inline constexpr Index divergence = 5, loss = 6, lost = 7, moved = 8;
inline constexpr Index score = 9;      // of a key, which is the column, before the chosen query
inline constexpr Index choice = 10;    // the column counts the chosen query's likeliest tokens
inline constexpr Index variant = 100;  // + place among kv_heads_offered; the column is a place in cache_bits
inline constexpr Index heads = 1000;   // + layer of the decoder; the column is a head: its mean
inline constexpr Index key = 10'000'000, value = 20'000'000;  // + token; the column is a channel: its code
// + query; the column is a key: with the cache, and in the run as it is.
inline constexpr Index weight = 30'000'000, whole = 40'000'000;
}  // namespace cache_rows

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
    bool shows(Subject&, const CellRef& cell) const override { return cell.stage == Stage::lens; }

    // What is computed of the cost.
    struct Cost {
        CacheShape own, other;  // the model's, and what it is compared with
        CachePrecision own_kept, other_kept;
        Index prompt = 0, written = 0;
        Index steps() const { return written + 1; }
        Range tokens_of(Index step) const {
            return step == 0 ? Range{0, prompt} : Range{prompt + step - 1, prompt + step};
        }
        Index after(Index step) const { return prompt + step; }  // tokens
    };
    Cost cost(Subject& subject) const;
    // Numbers of heads of keys and values that this model's heads could share, the most first.
    std::vector<Index> kv_heads_offered(Subject& subject) const;
    CacheShape variant(Subject& subject, Index kv_heads) const;  // with the window that is compared

    // A decoding that is done, of what is asked for or was last; null until there is one.
    const CachedDecoding* decoding() const { return shown_.get(); }
    const KeptHead* kept_head() const { return kept_ && kept_->done() ? &*kept_ : nullptr; }
    const std::string& refused() const { return refused_; }  // why nothing is decoded; empty: it is
    const std::optional<DecodeRace>& race() const { return race_; }
    bool step(Subject& subject);  // true while there is more to do
    // The chosen head among the decoder's, the heads of its layer that share keys with it, and the chosen query, or the
    // nearest that is decoded.
    HeadIndex head(Subject& subject) const;
    Index kv_head(const HeadIndex& head) const;
    Index query(Subject& subject) const;
    bool playing() const { return play_.has_value(); }

  private:
    struct Play {
        std::uint64_t gesture;  // all of its steps are one of undo
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
    static Attention& text(Subject& subject);  // whose queries are those that are decoded
    static CellPlace run_cell(Subject& subject, const HeadIndex& head, Stage stage, Index row, Index col);
    CacheRule rule() const;
    Index prompt() const;  // of what is decoded
    bool evicts() const { return shown_ && std::holds_alternative<EvictionRule>(shown_->rule()); }
    const EvictionRule& eviction() const { return std::get<EvictionRule>(shown_->rule()); }
    const CacheRounding& rounding() const { return std::get<CacheRounding>(shown_->rule()); }
    double value_at(Subject& subject, Index row, Index column) const;  // NaN where there is none
    Range codes_shown(Subject& subject) const;                         // tokens
    std::optional<double> score_of(Subject& subject, Index key) const;
    ShownTokens keys_shown(Subject& subject, Index fit) const;
    Index changed_tokens() const;  // at how many queries the likeliest token is another
    Index farthest() const;        // the query with the largest divergence
    double mean_loss(bool before) const;

    std::string head_name(Subject& subject) const;
    std::string cost_spoken(Subject& subject) const;
    std::string bits_spoken(Subject& subject) const;
    std::string eviction_spoken(Subject& subject) const;
    std::vector<Table> cost_tables(Subject& subject) const;
    std::vector<Table> decoded_tables(Subject& subject) const;

    Explained begin(Subject& subject, std::string title) const;
    std::optional<Explained> explain_bytes(Subject& subject, const CacheShape& shape,
                                           const CachePrecision& precision, Index tokens) const;
    std::optional<Explained> explain_operations(Subject& subject, Index step, bool recomputed) const;
    std::optional<Explained> explain_time(Subject& subject) const;
    std::optional<Explained> explain_divergence(Subject& subject, Index query) const;
    std::optional<Explained> explain_choice(Subject& subject, Index place) const;
    std::optional<Explained> explain_loss(Subject& subject, Index query) const;
    std::optional<Explained> explain_lost(Subject& subject, Index query) const;
    std::optional<Explained> explain_moved(Subject& subject, Index query) const;
    std::optional<Explained> explain_head(Subject& subject, const HeadIndex& head) const;
    std::optional<Explained> explain_score(Subject& subject, Index key) const;
    std::optional<Explained> explain_weight(Subject& subject, Index query, Index key) const;
    std::optional<Explained> explain_code(Subject& subject, bool of_keys, Index token, Index channel) const;

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
    void draw_variants(const Drawing& drawing, Subject& subject, const Cost& cost, float width);
    void draw_race(const Drawing& drawing, float width);
    void draw_decoded(const Drawing& drawing, Subject& subject);
    void draw_divergence(const Drawing& drawing, Subject& subject, float width);
    void draw_second_curve(const Drawing& drawing, Subject& subject, float width);
    void draw_choices(const Drawing& drawing, Subject& subject, float width);
    void draw_heads(const Drawing& drawing, Subject& subject, float width);
    void draw_kept(const Drawing& drawing, Subject& subject, float width);
    void draw_row(const Drawing& drawing, Subject& subject, float width);
    void draw_codes(const Drawing& drawing, Subject& subject, bool of_keys, float width);
    void point(const Drawing& drawing, const CellRef& cell, bool clicked) const;

    std::shared_ptr<const Trace> trace_;
    std::string refused_;
    std::shared_ptr<CachedDecoding> shown_, next_;  // next_: what is asked for, until it is done
    std::optional<KeptHead> kept_;
    KeptOf kept_of_;
    std::optional<DecodeRace> race_;
    std::optional<Play> play_;
    Vocabulary vocabulary_;
    MapPointer map_;  // of a head of this record
    std::pair<const Record*, Index> mapped_{};
    ui::MapView view_;
    parts::MapClicks clicks_;
};

}  // namespace attn::app
