// Writes explanations that subjects share: of a record's stages, of its vectors, and of weights between
// words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/explained.hpp"
#include "app/state.hpp"
#include "attention/explain.hpp"
#include "runs/text_run.hpp"

namespace attn::app {

// How the query and the key of a cell are written.
struct CellNames {
    std::string query;
    std::string key;
};

void add_terms(Explained& out, std::span<const Term> terms);
// Adds raw → scaled → capped → masked → weight, as far as the spec goes; `current` is the cell's own stage.
void add_chain(Explained& out, const CellExplanation& c, const AttentionSpec& spec, Stage current,
               const std::string& scale_text);
std::string formula_of(Stage stage, const CellNames& names, Index col, bool scores_given = false);
std::string operands_title_of(Stage stage, const CellNames& names, Index col);

// Adds the title, the value, the operands and the chain of a head's cell: a stage of pairs, the output, or a
// component of q, k or v. Returns false if the head has no such cell. Projected contributions need ‖v_j W_O‖
// of the key, `projected_norm`.
bool explain_cell(Explained& out, const Record& record, Index head, const CellRef& cell,
                  const CellNames& names, const std::function<double(Index key)>& projected_norm = nullptr);

// Adds the weight between two words: the sum over the key's tokens, averaged over the query's tokens.
struct WordPair {
    Range query, key;                                       // token ranges
    std::string query_name, key_name;                       // in quotation marks
    std::span<const std::string> query_pieces, key_pieces;  // of all tokens
};
struct TokenWeight {
    bool allowed = false;
    double f32 = 0, f64 = 0;
};
void explain_words(Explained& out, const WordPair& pair,
                   const std::function<TokenWeight(Index query, Index key)>& weight);
void explain_words(Explained& out, const WordPair& pair, const Record& record, Index head);

// Explains a cell of a run's chosen head, or a cell between words. Returns nothing if the run has no such
// cell.
std::optional<Explained> explain_run_cell(const TextRun& run, const Selection& selection,
                                          const CellRef& cell);

// Puts a text in quotation marks, straight ones for the inspector.
std::string in_quotes(std::string_view text);
std::string label_at(std::span<const std::string> labels, Index i);  // the position if there is no label

}  // namespace attn::app
