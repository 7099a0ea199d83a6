// Reads any bytes as a link. The State that results is written again and must read the same, run, and explain
// itself.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "app/format.hpp"
#include "app/link.hpp"
#include "fuzz/target.hpp"
#include "subjects/worked/axes.hpp"
#include "subjects/worked/worked_run.hpp"
#include "text/utf8.hpp"

using namespace attn;
using namespace attn::app;

namespace {

void check_worked(const WorkedState& w) {
    require(static_cast<bool>(check_inputs(w)));
    require(std::ssize(w.query_labels) == w.queries() && std::ssize(w.key_labels) == w.keys());
    const auto run = run_worked(w);
    require(static_cast<bool>(run));
    for (int i = 0; i < stage_count; ++i) {
        const auto id = static_cast<Stage>(i);
        const auto [rows, cols] = shape_of(w, id);
        require(rows <= matrix_size_limit && cols <= matrix_size_limit);
        if (rows == 0) continue;
        const WorkedExplanation why = explain_worked(w, *run, {id, rows - 1, cols - 1});
        require(!std::isnan(why.cell.f64) && !why.provenance.empty());
    }
}

}  // namespace

FUZZ_TARGET(fragment) {
    const ParsedFragment first = parse_fragment({reinterpret_cast<const char*>(data), size});
    require(first.note.size() < 600 && is_utf8(first.note));
    check_worked(worked_of(first.state));
    const ParsedFragment second = parse_fragment(to_fragment(first.state));
    require(second.note.empty());
    require(second.state == first.state);
    return 0;
}
