// Parts of the reading of a case: how its numbers are checked, and how an output and weights are placed.
#pragma once

#include <map>

#include "analysis/check/case_reading.hpp"

namespace attn {

using CaseRoles = std::map<std::string_view, const CaseArray*, std::less<>>;
const CaseArray* find_role(const CaseRoles& roles, std::string_view role);  // null: none

// Where an array has its axes.
enum class Layout { by_head, merged, heads_third };  // [b, h, n, d]; [b, n, h · d]; [b, n, h, d]

NumberFormat format_of(DType dtype);
// Refuses numbers that mean nothing, and inputs that are not finite.
Status check_numbers(const CaseRoles& roles);
// Place what the code returned into the case, whose inputs are there.
Status place_output(AttentionCase& out, const CaseArray& array, Layout layout);
Status place_weights(AttentionCase& out, const CaseArray& array);
// Says that an array has an impossible shape, and what it should be.
Error unfit(const CaseArray& array, const std::string& wanted);

}  // namespace attn
