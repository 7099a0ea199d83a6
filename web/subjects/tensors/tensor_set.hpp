// Holds a user's own tensors once their roles are known: finished attention weights, or Q and K (and V, and a
// mask) with the attention computed from them. It works in slices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/explained.hpp"
#include "io/tensor_match.hpp"
#include "io/weight_check.hpp"
#include "maps/record_job.hpp"
#include "runs/attention.hpp"
#include "subjects/tensors/state.hpp"
#include "subjects/tensors/tensor_intake.hpp"

namespace attn::app {

// A tensor in memory, and its place in the file.
struct OpenTensor {
    std::string role;                   // "Q", "mask"; empty: finished weights
    std::string file, shown;            // "run.npz", "'q' of run.npz"
    ArrayView array;                    // [layers, heads, rows, columns]
    std::shared_ptr<const void> owner;  // owner of the bytes
    // Start for counting positions: the first byte of the file or of the unpacked array; null: read from a
    // table.
    const std::byte* begin = nullptr;
    bool unpacked = false;

    std::span<const std::byte> element(Index layer, Index head, Index row, Index column) const;
    double value(Index layer, Index head, Index row, Index column) const;
};

class TensorSet final : public Attention {
  public:
    static constexpr Index most_layers = 1024, most_heads = 1024, most_maps = 4096;

    struct Parts {
        std::vector<TensorFile> files;
        Answers answers;  // the answers that led to the match
        Matched matched;
        std::vector<OpenTensor> weights;  // one, or one per layer; none: computed from Q and K
        std::vector<OpenTensor> inputs;   // Q, K and, if present, V and the mask
        // One per layer: [heads, queries, d], [kv_heads, keys, d], [kv_heads, keys, d_v]; v is empty without
        // V.
        std::vector<Tensor> q, k, v;
        // One per layer, one for all, or none.
        std::vector<Mask> masks;
        std::vector<Bias> biases;
    };
    explicit TensorSet(Parts parts);

    const std::vector<TensorFile>& files() const { return parts_.files; }
    const Answers& answers() const { return parts_.answers; }
    Index layers() const override { return parts_.matched.layers; }
    Index heads() const override { return parts_.matched.heads; }
    Index queries() const override { return parts_.matched.queries; }
    Index keys() const override { return parts_.matched.keys; }
    // The texts of tokens; without tokens, positions.
    const std::vector<std::string>& query_names() const override { return query_names_; }
    const std::vector<std::string>& key_names() const override { return key_names_; }
    // Empty if there are only positions.
    std::span<const std::string> query_tokens() const override { return parts_.matched.query_tokens; }
    std::span<const std::string> key_tokens() const override { return parts_.matched.key_tokens; }
    // On a side without tokens, each position is a word.
    const TextUnits& query_text() const override { return query_text_; }
    const TextUnits& key_text() const override { return key_text_; }
    bool finished() const override { return !parts_.weights.empty(); }
    bool has_values() const { return input("V") != nullptr; }
    bool has_bias() const { return !parts_.biases.empty(); }
    const char* measured_on() const override { return "on these tensors"; }
    std::string title() const override;  // "attention.npy", "Q, K and V of run.npz"
    std::string summary() const;         // "12 layers × 12 heads, 1024 queries × 1024 keys, float32"
    // One sentence each: what was left out, and what is odd, with the row or cell concerned.
    struct Remark {
        std::string sentence;
        std::optional<CellPlace> place = {};
    };
    std::vector<Remark> remarks() const;

    // Returns the tensor of finished weights that contains a layer, and the layer's place in it.
    const OpenTensor& weights_of(Index layer) const;
    Index layer_within(Index layer) const { return parts_.weights.size() > 1 ? 0 : layer; }
    const Findings& findings() const { return checks_.front().checking.findings(); }

    // Recomputes what a rule changes.
    void follow(const TensorRule& rule);
    bool follows(const TensorRule& rule) const { return finished() || rule_ == rule; }
    const std::optional<TensorRule>& rule() const { return rule_; }  // none for finished weights
    bool step();  // true while there is more to do and it is not paused
    bool done() const;
    void pause(bool on) { paused_ = on; }
    bool paused() const override { return paused_; }
    float progress() const;
    // Counts how much there is to see: a first map, the map, a picture of every head, everything.
    int milestones() const;
    std::string_view doing() const;  // "attention", "all heads", "checking the numbers", "head scores"

    std::vector<Stage> stages() const override;
    Stage stage_for(Stage chosen) const override;
    HeadMaps maps(const MapChoice& choice) const override;
    MapPointer map(Index layer, Index head, const MapChoice& choice) override;
    // Refers to the layer whose map was requested last.
    bool being_measured(Stage stage) const override {
        return job_of(looked_at_) && !is_signed(stage_for(stage));
    }
    void make_while_measuring(const std::shared_ptr<Pyramid>& pyramid) override;
    // Null for finished weights, and until it is complete.
    std::shared_ptr<const Record> record(Index layer) const override;
    bool has_negative_weights() const override { return finished() && findings().negative.count > 0; }
    bool one_line() const override { return query_names_ == key_names_; }
    std::string small_print(Index query) const override { return has_tokens() ? std::to_string(query) : ""; }
    std::map<std::string, std::string> source() const override;

    // Returns Q, K or V.
    const OpenTensor* input(std::string_view role) const;
    HeadOverview* overview() override { return overview_ ? &*overview_ : nullptr; }
    const HeadOverview* heads_overview() const { return overview_ ? &*overview_ : nullptr; }
    std::uint64_t origin() const override { return serial_; }
    std::uint64_t serial() const { return serial_; }             // changes with each set
    std::uint64_t version() const override { return version_; }  // also changes with each rule

  private:
    struct Check {
        std::string what;
        ValueChecking checking;
        bool done = false;
    };
    void begin_overview();
    bool check_some();
    std::optional<CellPlace> place_of(const Check& check, const OddityTold& told) const;
    const RecordJob* job_of(Index layer) const;  // null: nothing to do
    bool measures() const;                       // some layer has something to do
    bool sampled(Index side) const;              // the rows sampled first are there for all layers
    std::optional<RecordJob>* next_job();

    Parts parts_;
    std::vector<std::string> query_names_, key_names_;
    TextUnits query_text_, key_text_;
    std::vector<Check> checks_;
    bool paused_ = false;
    std::optional<TensorRule> rule_;
    std::vector<std::optional<RecordJob>> jobs_;  // per layer, until it is done
    std::vector<std::shared_ptr<const Record>> records_;
    Index looked_at_ = 0;  // the layer to compute first
    std::optional<HeadOverview> overview_;
    std::uint64_t serial_ = 0, version_ = 0;
};

}  // namespace attn::app
