// Explains numbers of a text's run through a model.
#include <cmath>

#include "app/format.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

std::optional<Explained> explain_run_cell(const TextRun& run, HeadIndex at, const CellRef& cell) {
    const auto [layer, head] = at;
    const Places places{at, cell.second};
    if (is_of_model(cell.stage)) return explain_model_cell(run, places, cell);
    const Record& record = run.record_at(layer);
    const auto name = [&](Index i) { return in_quotes(label_at(run.pieces, i)); };
    Explained out;
    if (cell.words) {
        const Index words = run.words.count();
        if (cell.row < 0 || cell.row >= words || cell.col < 0 || cell.col >= words) return std::nullopt;
        const auto pair = [&](Index key) {
            return WordPair{
                run.words.of(cell.row),         run.words.of(key), in_quotes(run.words.name(cell.row)),
                in_quotes(run.words.name(key)), run.pieces,        run.pieces};
        };
        const TokenWeights weights = token_weights(record, head);
        explain_words(out, pair(cell.col), places, weights);
        leave_out_first_word(out, cell, pair(0), places, weights);
        return out;
    }
    const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    const CellNames names{name(cell.row), name(of_keys ? cell.row : cell.col), name};
    const auto projected = [&](Index key) {
        const WeightView& w_o =
            run.run->model()->network().blocks[static_cast<std::size_t>(layer)].attention_out.weight;
        const ConstMatrix v = record.v().heads().head(record.kv_head(head));
        ProjectedValue value{
            {}, static_cast<double>(projected_value_norms(record, head, w_o, {key, key + 1}).front())};
        for (Index c = 0; c < w_o.out; ++c) {
            double sum = 0;
            for (Index b = 0; b < v.cols; ++b)
                sum += static_cast<double>(v(key, b)) * element(w_o, head * v.cols + b, c);
            value.components.push_back(sum);
        }
        return value;
    };
    if (!explain_cell(out, record, places, cell, names, projected)) return std::nullopt;
    if (is_of_pairs(cell.stage))
        leave_out_first_key(out, cell, token_weights(record, head)(cell.row, 0),
                            places(Stage::weight, cell.row, 0));
    if (cell.stage == Stage::q || of_keys) explain_projection(out, run, places, cell);
    if (cell.stage == Stage::v) out.note = "A value vector: the normalised residual of this token times W_V.";
    if (cell.stage == Stage::q || cell.stage == Stage::k)
        out.note = "Component " + std::to_string(cell.col) + " of the " + (of_keys ? "key" : "query") +
                   " that enters the score" +
                   (run.run->model()->network().rotary_of(layer) ? ", after its rotary position." : ".");
    return out;
}

}  // namespace attn::app
