// Which mistakes a Record's attention can make, and what the others would need.
#pragma once

#include <string>
#include <vector>

#include "analysis/check/mistakes.hpp"
#include "analysis/check/record_case.hpp"

namespace attn {

struct PossibleMistake {
    const Mistake* mistake;
    std::vector<MistakeVariant> variants;  // without those that are right here
    std::string needs;                     // one sentence where there are none: what is missing
};
// Returns one for each of mistakes(), in their order.
std::vector<PossibleMistake> possible_mistakes(const RecordCase& made);

}  // namespace attn
