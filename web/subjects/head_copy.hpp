// Holds one head for some tokens, which one subject hands to another for editing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/matrix.hpp"
#include "attention/record.hpp"

namespace attn::app {

class Subject;
class Visit;
struct Offer;

// A head's vectors for some tokens, and their source.
struct HeadCopy {
    Matrix q, k, v;  // [n_q, d_k], [n_k, d_k], [n_k, d_v]; the exact f32 values
    std::vector<std::string> query_labels, key_labels;
    bool scale_by_sqrt_d = true;
    double temperature = 1;  // other than 1 if the scale is not 1/√d_k
    double softcap = 0;
    std::optional<std::vector<std::uint8_t>> allowed = {};  // [n_q, n_k]; none: all
    std::string from;                                       // "layer 3, head 0 of storyteller, tokens 2 to 9"
};

// Returns some rows of one head of a tensor [heads, rows, columns].
Matrix rows_of(const Tensor& tensor, Index head, Range rows);
Matrix rows_of(const Tensor& tensor, Index head, std::span<const Index> rows);

// `from` names the head's source: "layer 3, head 0 of storyteller".
HeadCopy copy_of(const Record& record, Index head, Range queries, Range keys,
                 const std::vector<std::string>& query_names, const std::vector<std::string>& key_names,
                 std::string from);

// Returns the step that gives the copy to the first subject that takes it, which may be the open one.
std::optional<Offer> offer_of(const Visit& visit, const HeadCopy& copy);
// Returns a copy of the chosen head for these tokens; nothing if there are no vectors.
std::optional<HeadCopy> chosen_copy(Subject& subject, Range queries, Range keys);
// Returns the command that copies the head for these tokens; nothing if no other subject can take it, or if
// there are no vectors.
std::optional<Offer> take_over(const Visit& visit, Subject& subject, Range queries, Range keys);

}  // namespace attn::app
