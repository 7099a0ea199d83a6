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

#include "analysis/heads/kept_weights.hpp"
#include "analysis/theory/cache_cost.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "runs/decode_race.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::cache {

enum class Part : std::uint8_t { cost, bits, eviction };
inline constexpr std::array<const char*, 3> part_names{"cost", "bits", "eviction"};
inline constexpr std::array<const char*, eviction_policy_count> policy_names{"window", "sinks + window",
                                                                             "heavy hitters", "SnapKV"};
inline constexpr std::array<Index, 4> bits_offered{32, 16, 8, 4};  // the first is the page's own precision
inline constexpr Index most_tokens = 1'000'000, most_group = 128, most_observed = 1000, most_pooling = 63;

struct State {
    Part part = Part::cost;
    // Tokens that are read at once. 0: for the cost, the whole text; for decoding, half of it, and the rest
    // is decoded.
    Index prompt = 0;
    Index written =
        0;  // for the cost, tokens decoded after the prompt; 0: as many as the prompt has, if there is room
    // The cache compared with the model's own. For key-value heads and the window, 0 means the model's own.
    Index kv_heads = 0, window = 0, bits = 4;
    CacheRounding rounding{};
    EvictionRule eviction{};
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

struct Preset {
    const char *key, *name, *text;
    State state;
};
inline constexpr const char* story =
    "The animal didn't cross the street because it was too tired. The dog saw a red ball in the garden. It";
inline constexpr std::array<Preset, 3> presets{{
    {"heavy",
     "A story with 12 keys",
     story,
     {.part = Part::eviction, .eviction = {.policy = EvictionPolicy::heavy_hitters, .budget = 12}}},
    {"window",
     "Without its first tokens",
     story,
     {.part = Part::eviction, .eviction = {.policy = EvictionPolicy::window, .budget = 12}}},
    {"bits", "In 4 bits", story, {.part = Part::bits}},
}};

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 2> whose_words{"model", "compared"},
    reading_words{"cached", "recomputed"};
inline constexpr std::array<std::string_view, 4> bits_words{"32", "16", "8", "4"};  // words for bits_offered

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
}  // namespace cells
CellKinds numbers();
std::optional<CellRef> packed_cell(Index row, Index col);

std::string bytes_text(double bytes);               // "87.5 KB"; each unit is a thousand times the one before
std::string operations_text(double operations);     // "3.4 MFLOP"
std::string policy_text(const EvictionRule& rule);  // "at most 8 keys, the newest"

// The computed cost.
struct Cost {
    struct Cache {
        CacheShape shape;
        CachePrecision precision;
        double bytes(Index tokens) const { return bytes_kept(shape, tokens, precision); }
    };
    Cache own, other;  // the model's own, and the one that it is compared with
    Index prompt = 0, written = 0;
    Index steps() const { return written + 1; }
    Index after(Index step) const { return prompt + step; }  // in tokens
    // Without a cache, all tokens are read again.
    Range tokens_read(Index step, bool recomputed) const {
        return {step == 0 || recomputed ? 0 : after(step) - 1, after(step)};
    }
    StepCost of_step(Index step, bool recomputed) const {
        return step_cost(own.shape, tokens_read(step, recomputed));
    }
};

struct ViewMemory;
void forget_map(ViewMemory& seen);  // frees what its map shows; it keeps its place

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "Here rows and columns stay tokens: the cache keeps a key and a value for each of them.";
    }
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);

    struct Key {
        State state;
        std::uint64_t version = 0;  // version of the attention
        std::shared_ptr<const CachedDecoding> shown;
        bool has_kept = false;
        HeadIndex head;
        Index query = 0;
        double race = 0;  // the measured ratio
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const;
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step();                     // true while there is more to do
    static Model emptied(Model of);  // without its runs; the map keeps its place

    // Numbers of key-value heads that this model's heads could share, the largest first.
    std::vector<Index> kv_heads_offered() const;
    CacheShape variant(Index kv_heads) const;  // with the window that is compared

    Index prompt() const;  // length of the decoding's prompt
    bool evicts() const { return shown && std::holds_alternative<EvictionRule>(shown->rule()); }
    const EvictionRule& eviction() const { return std::get<EvictionRule>(shown->rule()); }
    const CacheRounding& rounding() const { return std::get<CacheRounding>(shown->rule()); }
    bool is_decoded(Index token) const { return token >= shown->prompt() && token < shown->tokens(); }
    // The weight that a head loses or, with fewer bits, how far its output moves.
    double effect(const HeadIndex& of, Index token) const {
        return evicts() ? shown->lost(of, token) : shown->moved(of, token);
    }
    double mean_effect(const HeadIndex& of) const {
        return evicts() ? shown->mean_lost(of) : shown->mean_moved(of);
    }
    // The chosen head's keys or values, before they were rounded.
    ConstMatrix vectors(bool of_keys) const {
        return (of_keys ? shown->k(head.layer) : shown->v(head.layer)).heads().head(kv_head);
    }
    const Record& record() const { return trace->layers()[static_cast<std::size_t>(head.layer)].attention; }
    const KeptWeights* kept_weights() const {
        return kept.kept() && kept.kept()->done() ? kept.kept() : nullptr;
    }
    // The number that decided whether to keep a key, before the chosen query; nothing if the rule uses no
    // number, or for the newest key.
    std::optional<double> score(Index key) const;
    bool is_scored() const { return score(0).has_value(); }
    // The subject's layer that a decoder's head is in.
    HeadIndex on_page(const HeadIndex& of) const { return {first_layer + of.layer, of.head}; }
    Attention& text(Subject& subject) const { return *subject.attention_of(first_layer); }
    std::string head_name(Subject& subject) const {
        return head_text(on_page(head), subject.attention()->numbering());
    }

    State state;
    std::shared_ptr<const Trace> trace;
    std::uint64_t version = 0;
    Cost cost;
    Index first_layer = 0;  // the decoder's first, among the subject's
    HeadIndex head;         // the chosen head among the decoder's
    Index kv_head = 0;      // its keys and values
    Index query = 0;        // the chosen one, or the nearest decoded one
    std::optional<Index> chosen_key;
    std::string refused;  // why nothing is decoded; empty if decoding works
    // A finished decoding, of the present request or the previous one; null until there is one.
    std::shared_ptr<CachedDecoding> shown;
    std::shared_ptr<CachedDecoding> next;  // the requested one, until it is done
    struct KeptOf {
        std::shared_ptr<const CachedDecoding> decoding;
        Index layer, kv_head;
        bool operator==(const KeptOf&) const = default;
    };
    Derived<KeptOf, KeptWeights> kept;
    std::optional<DecodeRace> race;
    Vocabulary vocabulary;

    struct Walk {
        std::uint64_t gesture;  // its steps share one undo step
        double next_ms;
    };
    std::optional<Walk> walk;                           // goes through the steps automatically
    Derived<std::pair<KeptOf, Index>, MapPointer> map;  // the kept weights of a head
    std::shared_ptr<ViewMemory> seen;

  private:
    void count_cost();
    void decode();
    void keep_weights();
};

class CacheLens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;
    void follow(const app::State& before, Change how) override;
};

Range codes_shown(const Model& model);  // tokens; none while nothing is rounded
Sheet variants_sheet(const Model& model);
Sheet heads_sheet(const Model& model, Subject& subject);
Sheet row_sheet(const Model& model, Subject& subject);
Sheet score_sheet(const Model& model, Subject& subject);
Sheet codes_sheet(const Model& model, Subject& subject, bool of_keys);
Table kept_table(const Model& model, Subject& subject);

void set(const Drawing& drawing, const State& wanted);
void go(const Model& model, const Drawing& drawing, Index query, std::uint64_t gesture);
void draw_cost(Model& model, const Drawing& drawing);
void draw_decoded(Model& model, const Drawing& drawing, Subject& subject);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::cache
