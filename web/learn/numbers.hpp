// Gives the numbers of the page to the expressions of a lesson (lesson/expression.hpp), in double precision,
// as the inspector explains them.
//
// A token is a text, its word, or a number, its position from 0. A head is a text, "4.7", and may follow the
// other arguments; without it, the number is of the chosen head.
//
//     weight(query, key)  also score, scaled, masked …: every stage of pairs (attention/stage.hpp)
//     q(token, component)  also k, v, x, out, residual, W_Q …: every stage with rows and columns
//     norm("k", token)     Euclidean norm of a row
//     entropy(query)       of its weights, in nats
//     largest(query)       the largest of its weights; argmax(query) is the word of that key, and
//                          argmax_position(query) its position
//     rank(query, key)     1: the query gives this key most
//     p(word), logit(word), rank(word)   of the token that comes next; top is the likeliest
//     p_before(word), logit_before(word) the same without the changes to the run
//     loss, training_step  of the network in training, where it is shown
//     head, head("induction")            "4.7"; whether its name is that
//     role("induction")    how strongly the chosen head has that role
//     query, key           positions of the chosen tokens, or of the last query; word(position) is the word
//     n, d, head_count, layer_count, layer, text   of what is shown
//     lens, subject        keys, as in links; lens("softmax") says whether it is open
//     pinned               whether a number is pinned; pinned("weight", "sat", "cat") whether that one is
//     seen("softmax")      whether a lens, subject, head or pinned kind of number was seen in this step
//     unchanged(X, W_Q)    whether matrices, or settings by their keys in links, are as in the step's view
//     setting("T")         a setting by its key in links; "" where it is as usual
//     LENS.NUMBER(…)       a number of a lens, as in links: softmax.weight("sparsemax", 3)
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "app/visit.hpp"
#include "lesson/expression.hpp"
#include "lesson/validate.hpp"

namespace attn::app::learn {

// What a step's checks compare with: the State that its view opened, and what was shown since.
struct StepSoFar {
    State start;
    std::set<std::string, std::less<>> seen;
};

std::span<const lesson::KnownName> known_names();  // without the numbers of lenses
// Adds what the State shows.
void note_seen(const State& state, std::set<std::string, std::less<>>& seen);

// The lookup holds references to both.
lesson::Lookup numbers_of(Visit& visit, const StepSoFar& step);

// Says whether two States have the same matrix, or the same setting; an error if the name is neither.
Result<bool> unchanged(std::string_view name, const State& before, const State& now);

}  // namespace attn::app::learn
