// Finds the score that another one is compared with: of another key, of another text, or before a change.
#pragma once

#include <optional>
#include <string>

#include "analysis/attribution/opened_term.hpp"
#include "app/derived.hpp"
#include "runs/compared_runs.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

struct OtherScore {
    ScorePlace place = {};            // without a trace if there is none; then:
    std::string lacking = {};         // what is missing
    std::optional<Offer> offer = {};  // the step that provides it
};

// The visible key with the largest weight, but for one; −1: there is none.
Index heaviest_key(std::vector<float> weights, Index but = -1);

// Takes the same query with the wanted key or, without one, with the heaviest other key.
OtherScore with_other_key(const ScorePlace& here, std::optional<Index> wanted);
// Takes the tokens of the second text that stand for the query and the key.
OtherScore in_second_text(Subject& subject, const ScorePlace& here, Derived<Versions, Pairings>& pairings);
OtherScore before_changes(Subject& subject, const ScorePlace& here);

// Gives the tokens of the other run: if that is of another text, those that stand for these and for no other.
OtherToken other_token(const ScorePlace& here, const ScorePlace& there);

}  // namespace attn::app
