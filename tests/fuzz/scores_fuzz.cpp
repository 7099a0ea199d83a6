// Reads any bytes as a scores.json of two layers of two heads. If scores are accepted, they are shares of
// every head.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/target.hpp"
#include "io/head_scores_json.hpp"

using namespace attn;

FUZZ_TARGET(scores) {
    const std::string_view keys[] = {"previous_token", "induction_stripe", "pronoun_right"};
    const auto scores = parse_head_scores(std::as_bytes(std::span(data, size)), 2, 2, keys);
    if (!scores) {
        require(scores.error().message.starts_with("scores.json "));
        return 0;
    }
    require(scores->size() == 12);
    for (const double score : *scores) require(std::isnan(score) || (score >= 0 && score <= 1));
    return 0;
}
