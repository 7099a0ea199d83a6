// All heads at once, of a run or of a person's own tensors: their maps as thumbnails and what each of them
// does, in numbers. Computed in slices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/heads/head_score.hpp"
#include "analysis/heads/head_scores.hpp"
#include "attention/head_index.hpp"
#include "maps/thumbnails.hpp"
#include "model/trace.hpp"

namespace attn {

class HeadOverview {
  public:
    // Maps of weights, `heads` for each layer. `ids` name the tokens: one for each query, or none.
    static Result<HeadOverview> start(std::vector<MapPointer> maps, Index heads,
                                      std::vector<std::int32_t> ids);
    // The copies of tokens in each layer's text; null: its keys are another text's.
    using Copies = std::shared_ptr<const TokenCopies>;
    static Result<HeadOverview> start(std::vector<MapPointer> maps, Index heads, std::vector<Copies> copies);
    // Layers are the attentions of the run by their number; where there are several texts, maps have several
    // shapes.
    static Result<HeadOverview> start(const std::shared_ptr<const Trace>& trace);
    // Before the first step: takes over what another overview, of a text that begins with the same `kept`
    // tokens, knows of them. Every token sees only those before it.
    void take_over(const HeadOverview& before, Index kept);
    // Makes up for what the other one had and the last tokens are missing in; true while there is more to do.
    bool catch_up();

    Index layers() const { return layers_; }
    Index heads() const { return heads_; }  // in each layer
    Index number(HeadIndex head) const { return head.layer * heads_ + head.head; }
    std::uint64_t serial() const { return serial_; }  // other heads have another number
    // Whether some head has this number: some need the tokens of one text, and some as many queries as keys.
    bool measures(HeadScore score) const;

    // This head comes before all others.
    void look_at(HeadIndex head);
    bool step_maps();    // maps, and the scores of the head looked at; true while there is more to do
    bool step_scores();  // measures all heads
    bool has_maps() const { return maps_.done() && scores_[looked_at_]; }
    bool done() const { return maps_.done() && scored_ == std::ssize(scores_); }
    double progress() const;  // 0 … 1, of the maps, then of the scores
    // How much there is to look at: a picture of every head, all of them exact, all scores.
    int milestones() const { return (maps_.sampled() == scores_.size()) + has_maps() + done(); }

    const Thumbnails& maps() const { return maps_; }
    // Nothing until they are complete.
    const std::optional<HeadScores>& scores(HeadIndex head) const {
        return scores_[static_cast<std::size_t>(number(head))];
    }
    Index scored() const { return scored_; }  // heads

    // At most so many texels a side has a thumbnail of so many heads.
    static Index side_of(std::size_t heads) { return heads <= few_heads ? 64 : 32; }
    // The maps' field in textures: each a row of so many thumbnails, in the order of the heads' numbers.
    static constexpr Index most_texels = 2048;
    Index columns() const { return columns_; }
    const float* texels(Index row) const { return maps_.strongest().row(row * maps_.rows()); }
    std::uint64_t version(Index row) const;   // grows with every thumbnail of it
    float extent() const { return extent_; }  // the largest magnitude in them, infinities and NaN aside

  private:
    static constexpr std::size_t few_heads = 1024;  // their textures take 32 MB
    HeadOverview(std::vector<MapPointer> weights, Thumbnails maps, Index heads, Index columns,
                 std::vector<Copies> copies);
    void step_picture();
    void score(std::size_t head);
    void note_extent();

    std::vector<MapPointer> weights_;
    std::vector<Copies> copies_;
    Index layers_, heads_, columns_;
    std::uint64_t serial_;
    Thumbnails maps_;
    std::vector<std::uint64_t> noted_;  // versions of the textures
    float extent_ = 0;
    std::vector<std::optional<HeadScores>> scores_;
    std::vector<std::vector<HeadScoring::Sums>> sums_;  // what the scores come from, or go on from
    std::vector<std::size_t> behind_;                   // heads that the other overview had scores of
    Index kept_ = 0;
    Index scored_ = 0;
    std::size_t looked_at_ = 0, next_ = 0;
    HeadScoring scoring_;
    std::size_t measured_ = 0;  // rows that `scoring_` has measured
};

// What the scores say of one thing; nothing where they are not there yet, or no number.
std::optional<double> number_of(const std::optional<HeadScores>& scores, HeadScore score);

// Heads sorted by score, the strongest first and those without a number last. Heads that are alike stand in
// reading order.
std::vector<HeadIndex> strongest_first(const HeadOverview& heads, HeadScore by);

// The two scores over which the heads lie farthest apart: the largest s_a s_b (1 − |ρ|), where s is the
// standard deviation of a score as a share of its largest value, which is where its axis ends, and ρ is the
// rank correlation of the two (Spearman 1904). The one that spreads more is the first. Over the heads whose
// scores are there; nothing where fewer than three have two scores, or where nothing spreads.
std::optional<std::array<HeadScore, 2>> widest_scores(const HeadOverview& heads);
// The same for numbers [scores][heads], as places among the scores.
std::optional<std::array<std::size_t, 2>> widest_pair(const std::vector<std::vector<double>>& numbers);

}  // namespace attn
