// Tensors of a person's own, understood: finished attention weights, or Q and K (and V, and a mask) with the attention
// that follows from them. What it does takes slices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/head_overview.hpp"
#include "app/map_source.hpp"
#include "app/state.hpp"
#include "app/tensor_intake.hpp"
#include "app/word_axis.hpp"
#include "io/tensor_match.hpp"
#include "io/weight_check.hpp"
#include "maps/record_job.hpp"

namespace attn::app {

// A tensor as it lies in memory, and where that is in the file.
struct OpenTensor {
    std::string role;                   // "Q", "mask"; empty: finished weights
    std::string file, shown;            // "run.npz", "'q' of run.npz"
    ArrayView array;                    // [layers, heads, rows, columns]
    std::shared_ptr<const void> owner;  // of its bytes
    // Positions count from here: the file's first byte, or that of the unpacked array; null: read from a table.
    const std::byte* begin = nullptr;
    bool unpacked = false;

    std::span<const std::byte> element(Index layer, Index head, Index row, Index column) const;
    double value(Index layer, Index head, Index row, Index column) const;
};

class TensorSet {
  public:
    static constexpr Index most_layers = 1024, most_heads = 1024, most_maps = 4096;

    struct Parts {
        std::vector<TensorFile> files;
        Answers answers;  // that made the match
        Matched matched;
        std::vector<OpenTensor> weights;  // one, or one a layer; none: they follow from Q and K
        std::vector<OpenTensor> inputs;   // Q, K and, where they are there, V and the mask
        Tensor q, k, v;  // [heads, queries, d], [kv_heads, keys, d], [kv_heads, keys, d_v] or empty
        Mask mask;
        Bias bias;
    };
    explicit TensorSet(Parts parts);

    const std::vector<TensorFile>& files() const { return parts_.files; }
    const Answers& answers() const { return parts_.answers; }
    Index layers() const { return parts_.matched.layers; }
    Index heads() const { return parts_.matched.heads; }
    Index queries() const { return parts_.matched.queries; }
    Index keys() const { return parts_.matched.keys; }
    // How they read; positions where there are no tokens.
    const std::vector<std::string>& query_names() const { return query_names_; }
    const std::vector<std::string>& key_names() const { return key_names_; }
    // None where there are positions alone.
    const std::vector<std::string>& query_tokens() const { return parts_.matched.query_tokens; }
    const std::vector<std::string>& key_tokens() const { return parts_.matched.key_tokens; }
    bool has_tokens() const { return !query_tokens().empty() || !key_tokens().empty(); }
    // The words of each side; positions of one without tokens are words of their own. Empty where neither has tokens.
    const WordAxis& query_words() const { return query_words_; }
    const WordAxis& key_words() const { return key_words_; }
    bool has_words() const { return query_words_.merges() || key_words_.merges(); }  // of several tokens
    bool finished() const { return !parts_.weights.empty(); }
    bool has_values() const { return input("V") != nullptr; }
    bool has_bias() const { return !parts_.bias.empty(); }
    std::string title() const;                 // "attention.npy", "Q, K and V of run.npz"
    std::string summary() const;               // "12 layers × 12 heads, 1024 queries × 1024 keys, float32"
    std::vector<std::string> remarks() const;  // a sentence each: what was left out, and what is odd

    // Of finished weights the tensor that holds a layer, and the layer's place in it.
    const OpenTensor& weights_of(Index layer) const;
    Index layer_within(Index layer) const { return parts_.weights.size() > 1 ? 0 : layer; }
    const Findings& findings() const { return checks_.front().checking.findings(); }

    // Computes anew what a rule changes.
    void follow(const TensorRule& rule);
    bool follows(const TensorRule& rule) const { return finished() || rule_ == rule; }
    const std::optional<TensorRule>& rule() const { return rule_; }  // none of finished weights
    bool step();  // true while there is more to do and it is not paused
    bool done() const;
    void pause(bool on) { paused_ = on; }
    bool paused() const { return paused_; }
    float progress() const;
    // How much there is to look at: a first map, the map, a picture of every head, all of it.
    int milestones() const;
    std::string_view doing() const;  // "attention", "all heads", "checking the numbers", "head scores"

    // The stage that is shown for a choice: one that the tensors have.
    MapStage stage_for(MapStage chosen) const;
    // The same object as long as the choice is the same; null while what it needs is being computed. While a map is being
    // measured only its sampled rows mean something.
    MapPointer map(Index layer, Index head, const MapChoice& choice);
    bool shows_words(const MapChoice& choice) const;
    bool being_measured(MapStage stage) const { return job_ && !is_signed(stage_for(stage)); }
    // Of every head, of what is open and computed now: good for as long as they are kept.
    HeadMaps maps(const MapChoice& choice) const;
    MapPointer make_map(Index layer, Index head, MapStage stage) const {
        return maps({.stage = stage})(layer, head);
    }
    MapPointer make_word_map(Index layer, Index head) const {
        return maps({.unit = Unit::words})(layer, head);
    }
    const Record* record() const {
        return job_ ? nullptr : record_.get();
    }  // null of finished weights, and before it is complete
    // Q, K or V.
    const OpenTensor* input(std::string_view role) const;
    // All heads small and measured; null of a single head, and until there are weights.
    HeadOverview* overview() { return overview_ ? &*overview_ : nullptr; }
    const HeadOverview* overview() const { return overview_ ? &*overview_ : nullptr; }
    std::uint64_t serial() const { return serial_; }    // another set has another number
    std::uint64_t version() const { return version_; }  // and another rule too

  private:
    struct Check {
        std::string what;
        ValueChecking checking;
        bool done = false;
    };
    void begin_overview();
    bool check_some();

    Parts parts_;
    std::vector<std::string> query_names_, key_names_;
    WordAxis query_words_, key_words_;
    std::vector<Check> checks_;
    bool paused_ = false;
    std::optional<TensorRule> rule_;
    std::optional<RecordJob> job_;
    std::shared_ptr<const Record> record_;
    std::optional<HeadOverview> overview_;
    std::uint64_t serial_ = 0, version_ = 0;
    struct Chosen {
        Index layer = -1, head = -1;
        MapStage stage = MapStage::weight;
        Sink sink = Sink::shown;
        bool words = false;
        MapPointer map;
    };
    Chosen chosen_;
};

}  // namespace attn::app
