// Explains measured numbers: scores of heads, probabilities, cosines.
#pragma once

#include "analysis/heads/head_score.hpp"
#include "app/derived.hpp"
#include "app/explained.hpp"
#include "runs/attention.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

// Returns the cell of a head's score: its row is the head's index among all heads, or, if the cell is of a
// mean, that of the mean (runs/merged_heads.hpp); its column is the score.
RunCell head_score_cell(const HeadOverview& heads, HeadIndex head, HeadScore score);

// Explains scores of heads row by row, from weights in double, and keeps the last result.
class ScoreExplainer {
  public:
    // Returns nothing if the heads have no such score.
    std::optional<Explained> of(Attention& attention, HeadIndex head, HeadScore score, double f32);
    // Explains a head_score_cell, also one by larger units or of a mean over heads; nothing until it is
    // measured.
    std::optional<Explained> of(Attention& attention, const RunCell& cell, std::span<const TokenSpan> spans);

  private:
    struct Kept {
        std::uint64_t version;
        HeadIndex head;
        HeadScore score;
        double f32;
        Explained why;
    };
    std::optional<Kept> kept_;
    struct Merged {
        std::uint64_t version;  // version of the attention
        RunCell cell;
        std::vector<TokenSpan> spans;
        double f32;
        bool operator==(const Merged&) const = default;
    };
    Derived<Merged, Explained> merged_;
};

// Explains a · b / (‖a‖ ‖b‖) of two vectors.
void explain_cosine(Explained& out, std::span<const Term> terms, const PlaceOf& left, const PlaceOf& right);

}  // namespace attn::app
