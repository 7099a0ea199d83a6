// Reads NumPy's results, as written by tests/golden/analysis/generate.py.
#pragma once

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "io/json.hpp"
#include "support/files.hpp"
#include "tensor/tensor.hpp"

namespace attn::test {

inline nlohmann::json golden_numbers(const std::string& file) {
    auto json = parse_json(read_file(source_dir() / "tests/golden/analysis" / file), file);
    REQUIRE(json);
    return *std::move(json);
}

inline MatrixView<const double> view_of(const std::vector<double>& numbers, Index rows, Index cols) {
    return {numbers.data(), rows, cols, cols};
}

}  // namespace attn::test
