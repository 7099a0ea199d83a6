// One number, explained: what the inspector writes, whichever lens the number is in.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/session.hpp"

namespace attn::app {

struct Explained {
    std::string title;       // "Scores[cat, sat]"
    std::string provenance;  // "computed · f32"
    bool masked = false;     // the cell may not be looked at
    double f32 = 0;
    double f64 = 0;

    std::string formula;  // "Σ_a Q[cat, a] · K[sat, a]"
    // The operands of a sum, one a row.
    struct Operand {
        std::string name;
        double left = 0;
        double right = 0;
        double product = 0;
    };
    std::string operands_title;
    std::vector<Operand> operands;

    // The chain the cell stands in: "scaled", "1.27 × 0.5", "0.635".
    struct Step {
        std::string name;
        std::string arithmetic;
        std::string value;
        bool current = false;
    };
    std::vector<Step> steps;

    std::string note;  // what a tutorial prints, why a cell is empty
};

// Adds to `out` the value, the operands and the chain of a stage of a record.
void explain_stage(Explained& out, const Record& record, Index head, const CellRef& cell,
                   const std::string& query, const std::string& key);

// Adds to `out` the weight between two words: the mean over the tokens of one of the sums over the other's.
struct WordPair {
    Range query, key;                                       // their tokens
    std::string query_name, key_name;                       // as they are quoted
    std::span<const std::string> query_pieces, key_pieces;  // of all tokens
};
struct TokenWeight {
    bool allowed = false;
    double f32 = 0, f64 = 0;
};
void explain_words(Explained& out, const WordPair& pair,
                   const std::function<TokenWeight(Index query, Index key)>& weight);
void explain_words(Explained& out, const WordPair& pair, const Record& record, Index head);

// Empty where the state has no such cell.
std::optional<Explained> explain_cell(const Session& session, const CellRef& cell);
std::optional<Explained> explain_tensor_cell(const Session& session, const CellRef& cell);  // in lens Tensors

}  // namespace attn::app
