// Writes explanations that subjects share: of a record's stages, of its vectors, and of weights between
// larger units or of several heads.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/explained.hpp"
#include "app/state.hpp"
#include "attention/explain.hpp"
#include "model/explain.hpp"
#include "runs/text_run.hpp"

namespace attn::app {

// The names of a cell's query and key, and of any other key.
struct CellNames {
    std::string query;
    std::string key;
    std::function<std::string(Index)> key_at = [](Index other) { return std::to_string(other); };
    std::string mask_rule = {};  // the rule by which the mask allows or hides the cell, as far as it is known
};

// Returns the places of numbers around a cell: in its head, in its text.
struct Places {
    HeadIndex head;
    bool second = false;
    CellPlace operator()(Stage stage, Index row, Index col) const {
        return {head, RunCell{.stage = stage, .row = row, .col = col, .second = second}};
    }
    CellPlace of_layer(Index layer, Stage stage, Index row, Index col) const {
        return Places{{layer, head.head}, second}(stage, row, col);
    }
};
using PlaceOf = std::function<std::optional<CellPlace>(Index)>;

// Returns "at byte 1,234 of model.safetensors", or the block that holds it.
std::string place_in_file(const StoredAt& place);
// `names` are the names of the two columns in copies.
void add_terms(Explained& out, std::span<const Term> terms, const PlaceOf& left, const PlaceOf& right,
               std::pair<const char*, const char*> names);
// Adds raw → scaled → capped → masked → weight, as far as the spec goes; `current` is the cell's own stage.
// `score` is the expression of the raw score, or empty if the score is given; `mask_rule` is as in CellNames.
void add_chain(Explained& out, const CellExplanation& c, const AttentionSpec& spec, const Places& places,
               const RunCell& cell, Stage current, const std::string& scale_text,
               const std::optional<Expression>& score, const std::string& mask_rule = {});
// Returns the stage that feeds the softmax.
Stage before_softmax(const AttentionSpec& spec);
// Explains a stage of the softmax: `row` has it in double, the record in f32.
void explain_softmax(Explained& out, const Record& record, const RowChain& row, const AttentionSpec& spec,
                     const Places& places, const RunCell& cell, const CellNames& names);
std::string formula_of(Stage stage, const CellNames& names, Index col, bool scores_given = false);
std::string operands_title_of(Stage stage, const CellNames& names, Index col);

// A key's contribution to the residual stream, v_j W_O of one head.
struct ProjectedValue {
    std::vector<double> components;
    double f32_norm = 0;
};

// Adds the title, the value, the operands and the chain of a head's cell: a stage of pairs or of the softmax,
// the output, or a component of q, k or v. Returns false if the head has no such cell. Projected
// contributions need `projected`.
bool explain_cell(Explained& out, const Record& record, const Places& places, const RunCell& cell,
                  const CellNames& names,
                  const std::function<ProjectedValue(Index key)>& projected = nullptr);
// Adds the value, the operands and the chain of a contribution; `weight` has the weight's chain.
void add_contribution(Explained& out, double weight, std::span<const double> value, const PlaceOf& at,
                      bool projected);

struct TokenWeight {
    bool allowed = false;
    double f32 = 0, f64 = 0;
};
using TokenWeights = std::function<TokenWeight(Index query, Index key)>;
TokenWeights token_weights(const Record& record, Index head);
// Explains a weight between larger units: the sum over the key's tokens, averaged over the query's tokens.
// Returns nothing if the attention has no such units, or no such cell.
std::optional<Explained> explain_units(const Attention& attention, std::span<const TokenSpan> spans,
                                       HeadIndex at, const RunCell& cell, const TokenWeights& weight);
// Explains a weight that is the mean over several heads, each of which `one` explains.
std::optional<Explained> explain_mean(const Attention& attention, HeadIndex at, const RunCell& cell,
                                      const std::function<std::optional<Explained>(const CellPlace&)>& one);

// Changes the explanation of a cell to that of a map without the first key, whose weight in the row is
// `first`, at its place.
void leave_out_first_key(Explained& out, const RunCell& cell, const TokenWeight& first, const CellPlace& at);

// Explains a number that a model computes around its heads, or one of its weights.
std::optional<Explained> explain_model_cell(const TextRun& run, const Places& places, const RunCell& cell);
// Explains a component of q, k or v from the normalised residual and the model's weights.
void explain_projection(Explained& out, const TextRun& run, const Places& places, const RunCell& cell);

// Adds the result of interventions to a number that has been explained.
void add_changes(Explained& out, const Trace& run, HeadIndex at, const RunCell& cell);

// Adds the same number of the run in double, as far as that is known.
void add_double(Explained& out, const TextRun& run,
                const std::function<std::optional<double>(const DoubleRun&)>& value);

// Explains a number of a run, or a cell between larger units. Returns nothing if the run has no such cell.
std::optional<Explained> explain_run_cell(const TextRun& run, HeadIndex at, const RunCell& cell,
                                          std::span<const TokenSpan> spans);

// Puts a text in quotation marks, straight ones for the inspector.
std::string in_quotes(std::string_view text);

}  // namespace attn::app
