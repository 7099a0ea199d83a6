// What is measured: a name, its floating-point operations, and one call of it on a table of kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/table.hpp"

namespace attn::bench {

struct Case {
    std::string name;
    double operations;  // multiplications and additions; of exp, elements
    std::function<void(const Kernels&)> run;
};

std::vector<Case> cases();

}  // namespace attn::bench
