// Tests maps of attention whose scores and weights are changed: every path to a cell gives the same number.
#include "maps/blocks.hpp"
#include "maps/map.hpp"
#include "maps/record_job.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index tokens = 150;  // more than two tiles of a kernel

AttentionSpec edited_spec() {
    CellEdits edits;
    const auto add = [&](CellEdit::Of of, Edit edit) { edits.push_back({of, std::move(edit), {}}); };
    add(CellEdit::Of::score, {.head = 0, .rows = {3, 70, 149}, .operation = Operation::mean});
    add(CellEdit::Of::score,
        {.head = 1, .columns = {0, 64, 100}, .operation = Operation::set, .values = {2}});
    add(CellEdit::Of::weight, {.head = 1, .rows = {80, 81, 140}, .operation = Operation::mean});
    add(CellEdit::Of::weight, {.head = 2, .operation = Operation::scale, .values = {0.5f}});
    add(CellEdit::Of::weight,
        {.head = 2, .columns = {1, 2}, .operation = Operation::add, .values = {0.25f, 0.125f}});
    AttentionSpec spec;
    spec.mask = Mask::causal();
    spec.edits = std::make_shared<const CellEdits>(std::move(edits));
    return spec;
}

}  // namespace

TEST_CASE("maps of changed attention have the numbers of its record", "[maps]") {
    const Kernels& kernels = generate_kernels();
    CAPTURE(kernels.name);
    const Tensor q = random_tensor({4, tokens, 8}, 1), k = random_tensor({2, tokens, 8}, 2),
                 v = random_tensor({2, tokens, 8}, 3);
    const auto made = Record::run(q, k, v, edited_spec(), kernels);
    REQUIRE(made);
    const auto record = std::make_shared<const Record>(*made);

    auto in_parts = Record::prepare(q, k, v, edited_spec(), kernels);
    REQUIRE(in_parts);
    for (const Index first : {Index{0}, Index{1}, Index{2}}) in_parts->compute({first, tokens}, 3);
    CHECK(in_parts->output() == record->output());
    CHECK(in_parts->row_max() == record->row_max());
    CHECK(in_parts->row_log_sum() == record->row_log_sum());
    auto measured = Record::prepare(q, k, v, edited_spec(), kernels);
    REQUIRE(measured);
    RecordJob job(*std::move(measured));
    while (job.step()) {
    }
    CHECK(job.record()->row_log_sum() == record->row_log_sum());

    AttentionSpec unchanged;
    unchanged.mask = Mask::causal();
    const auto plain = Record::run(q, k, v, unchanged, kernels);
    REQUIRE(plain);
    for (Index head = 0; head < 4; ++head)
        for (const Stage stage : {Stage::masked, Stage::weight, Stage::contribution}) {
            CAPTURE(head, symbol(stage));
            const MapPointer map = stage_map(record, head, stage);
            std::vector<float> all(static_cast<std::size_t>(tokens * tokens));
            record->stage(stage, head, {0, tokens}, {0, tokens}, all);
            const auto at = [&](Index query, Index key) {
                return all[static_cast<std::size_t>(query * tokens + key)];
            };
            const std::vector<float> cells = cells_of(*map);
            for (Index query = 0; query < tokens; ++query)
                for (Index key = 0; key <= query; ++key)
                    if (cells[static_cast<std::size_t>(query * tokens + key)] != at(query, key))
                        FAIL_CHECK("cell " << query << ", " << key);
            const MapWindow part{{68, 149}, {50, 101}, 2};
            const std::vector<float> window = cells_of(*map, part);
            for (Index row = 0; row < part.rows(); ++row)
                for (Index key = 50; key < 101; ++key)
                    if (key <= part.query(row) &&
                        window[static_cast<std::size_t>(row * 51 + key - 50)] != at(part.query(row), key))
                        FAIL_CHECK("cell " << part.query(row) << ", " << key << " of a window");
            if (stage != Stage::weight) continue;
            BlockJob blocks(map, whole(*map), 16, 16);
            while (blocks.step()) {
            }
            for (Index query = 0; query < tokens; ++query) {
                double sum = 0, entropy = 0;
                for (Index key = 0; key <= query; ++key) {
                    const auto w = static_cast<double>(at(query, key));
                    sum += w;
                    if (w > 0) entropy -= w * std::log(w);
                }
                const auto i = static_cast<std::size_t>(query);
                // Sums of at most 150 numbers below 1, each rounded to f32.
                CHECK(std::abs(blocks.sums().queries[i] - sum) < 1e-5);
                CHECK(std::abs(blocks.sums().entropies[i] - entropy) < 1e-4);
                if (head == 0) CHECK(std::abs(sum - 1) < 1e-5);
                if (head == 2 && query > 2) CHECK(std::abs(sum - 0.875) < 1e-5);
                if (head == 3) CHECK(at(query, 0) == plain->cell(Stage::weight, head, query, 0));
            }
        }
    // A mean of weights is one over the number of visible keys, and so is the softmax of mean scores.
    CHECK(std::abs(record->cell(Stage::weight, 0, 70, 5) - 1.0f / 71) < 1e-6f);
    CHECK(std::abs(record->cell(Stage::weight, 1, 81, 5) - 1.0f / 82) < 1e-6f);
}
