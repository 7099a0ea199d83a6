// Which of the tensors that were dropped is Q, K, V, a mask or finished attention weights, by name and by shape. Where
// that says too little it is asked, and the answers are given to the next call: nothing is guessed.
//
// Shapes, as people save them; axes of size 1 may stand in front:
//   Q, K, V   [rows, d], [heads, rows, d] or [rows, heads, d], of a batch or of layers one that is asked for
//   mask      [keys], [queries, keys], [heads, queries, keys]; axes of size 1 broadcast
//   weights   [queries, keys], [heads, queries, keys], [layers, heads, queries, keys], [layers, batch, heads, queries,
//             keys] with one of the batch; or one tensor for each layer, numbered
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "io/tensor_axes.hpp"
#include "io/tensor_files.hpp"

namespace attn {

enum class MaskMeaning {
    allowed,  // not 0: the query may look at the key
    hidden,   // not 0: it may not
    added,    // to the scores
};

struct Matched {
    std::optional<PlacedTensor> q, k, v, mask;
    MaskMeaning mask_meaning = MaskMeaning::allowed;
    std::vector<PlacedTensor> weights;  // one, or one for each layer; none: they are computed from Q and K

    Index layers = 1, heads = 1, queries = 0, keys = 0;
    // As many as queries and keys, or none: positions are shown instead.
    std::vector<std::string> query_tokens, key_tokens;
    std::vector<std::string> notes;  // a sentence each: what was left out, and why
};

struct Choice {
    std::string answer;
    std::string text;
};

struct Question {
    std::string id;
    std::string text;
    std::vector<Choice> choices;
};

using Answers =
    std::map<std::string, std::string, std::less<>>;  // by the question's id; others are passed over

// More questions may follow from the answers to these.
Result<std::variant<Matched, std::vector<Question>>> match(const FoundFiles& found, const Answers& answers);

}  // namespace attn
