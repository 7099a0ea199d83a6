// The numbers by which heads are put in order, and what each of them says.
#pragma once

#include <array>
#include <string_view>

namespace attn {

// Each is a member of HeadScores (analysis/heads/head_scores.hpp).
enum class HeadScore {
    entropy,
    first_token,
    previous_token,
    duplicate_token,
    induction,
    distance,
    current_token,
    spread,
};

struct HeadScoreInfo {
    std::string_view key;  // in links
    const char* name;
    const char* meaning;
    const char* unit = "";  // none: a share
};
// In the order of HeadScore.
inline constexpr std::array<HeadScoreInfo, 8> head_scores{{
    {"entropy", "entropy",
     "How spread a head's rows are: −Σ w ln w in nats, mean over the rows. 0: every word looks at one token "
     "alone.",
     "nats"},
    {"first", "first token",
     "Share of all weight that lies on the first token, where heads rest that find nothing else (an "
     "attention sink): Σ A[i, 0] / Σ A"},
    {"previous", "previous token",
     "Share of all weight that lies on the token just before: Σ A[i, i−1] / Σ A"},
    {"duplicate", "duplicate token",
     "Share of all weight that lies on earlier copies of the same token: Σ A[i, j] / Σ A over the j < i "
     "whose token is that of i"},
    {"induction", "induction",
     "Share of all weight that lies on tokens just after an earlier copy of the present one: Σ A[i, j] / Σ A "
     "over the j ≤ i whose token before is that of i"},
    {"distance", "distance", "How far a head looks, in tokens: Σ A[i, j] · |i − j| / Σ A", "tokens"},
    {"itself", "itself", "Share of all weight that lies on the token itself: Σ A[i, i] / Σ A"},
    {"spread", "spread",
     "Entropy of a row as a share of the most it could be, the ln of how many keys it may look at; mean over "
     "the "
     "rows that may look at several."},
}};
constexpr const HeadScoreInfo& info(HeadScore score) { return head_scores[static_cast<std::size_t>(score)]; }

}  // namespace attn
