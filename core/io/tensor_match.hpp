// Finds out, by name and by shape, which of the dropped tensors is Q, K, V, a mask or finished attention
// weights. Where names and shapes leave it open, `match` returns questions, and their answers go into the
// next call: nothing is guessed.
//
// People save these shapes; axes of size 1 may precede them:
//   Q, K, V   [rows, d], [heads, rows, d], [rows, heads, d] or one of these for each of [layers, …]; if there
//             is a batch behind the layers, a question chooses one
//   mask      [keys], [queries, keys], [heads, queries, keys], or one for each layer; axes of size 1
//             broadcast
//   weights   [queries, keys], [heads, queries, keys], [layers, heads, queries, keys], or [layers, batch,
//             heads, queries, keys], of whose batch one is chosen; or one numbered tensor per layer
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
    allowed,  // nonzero: the query may attend to the key
    hidden,   // nonzero: it may not
    added,    // the mask is added to the scores
};

struct Matched {
    std::optional<PlacedTensor> q, k, v, mask;
    MaskMeaning mask_meaning = MaskMeaning::allowed;
    std::vector<PlacedTensor> weights;  // one, or one per layer; none: they are computed from Q and K

    Index layers = 1, heads = 1, queries = 0, keys = 0;
    // There are as many as queries and keys, or none; then positions are shown instead.
    std::vector<std::string> query_tokens, key_tokens;
    std::vector<std::string> notes;  // sentences that say what was left out, and why
    // What was taken of a batch: "number 1 of 3 along axis 1", counted from 0.
    std::vector<std::string> chosen;
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
    std::map<std::string, std::string, std::less<>>;  // keyed by the question's id; others are ignored

// The answers may lead to further questions. Where it fails, `lacks` says whether further files may be what
// is missing; files that are wrong by themselves lack nothing.
Result<std::variant<Matched, std::vector<Question>>> match(const FoundFiles& found, const Answers& answers,
                                                           bool* lacks = nullptr);

}  // namespace attn
