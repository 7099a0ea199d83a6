// Explains numbers of a text's run through a model.
#include <cmath>

#include "app/format.hpp"
#include "model/network.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

std::optional<Explained> explain_run_cell(const TextRun& run, const Selection& selection,
                                          const CellRef& cell) {
    const auto [layer, head] = std::pair(selection.layer, selection.head);
    const Record& record = run.record_at(layer);
    const auto name = [&](Index i) { return in_quotes(label_at(run.pieces, i)); };
    Explained out;
    if (cell.words) {
        const Index words = run.words.count();
        if (cell.row < 0 || cell.row >= words || cell.col < 0 || cell.col >= words) return std::nullopt;
        explain_words(out,
                      {run.words.of(cell.row), run.words.of(cell.col), in_quotes(run.words.name(cell.row)),
                       in_quotes(run.words.name(cell.col)), run.pieces, run.pieces},
                      record, head);
        return out;
    }
    const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    const CellNames names{name(cell.row), name(of_keys ? cell.row : cell.col)};
    const auto projected_norm = [&](Index key) {
        const WeightView& w_o =
            run.run->model()->network().blocks[static_cast<std::size_t>(layer)].attention_out.weight;
        return static_cast<double>(projected_value_norms(record, head, w_o)[static_cast<std::size_t>(key)]);
    };
    if (!explain_cell(out, record, head, cell, names, projected_norm)) return std::nullopt;
    if (cell.stage == Stage::output)
        for (auto& operand : out.operands) operand.name = name(std::stol(operand.name));
    if (cell.stage == Stage::v) out.note = "A value vector: the normalised residual of this token times W_V.";
    if (cell.stage == Stage::q || cell.stage == Stage::k)
        out.note = "Component " + std::to_string(cell.col) + " of the " + (of_keys ? "key" : "query") +
                   " that enters the score" +
                   (run.run->position_embedding().size() ? "." : ", after its rotary position.");
    return out;
}

}  // namespace attn::app
