// Reads any bytes as a scores.json of two layers of two heads. If scores are accepted, they are shares of every head.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/head_roles.hpp"
#include "fuzz/target.hpp"

using namespace attn;

FUZZ_TARGET(scores) {
    const auto table = parse_head_scores(std::as_bytes(std::span(data, size)), 2, 2);
    if (!table) {
        require(table.error().message.starts_with("scores.json "));
        return 0;
    }
    require(table->scores.size() == 4);
    for (const RoleScores& head : table->scores)
        for (const double score : head.values) require(std::isnan(score) || (score >= 0 && score <= 1));
    return 0;
}
