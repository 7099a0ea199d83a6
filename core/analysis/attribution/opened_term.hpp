// A head among the sources of a score, opened into what it read (vector_sources.hpp). Each part adds to the
// score: scale · part · partner, where the partner is a source of the other side, or all of them. Where two
// scores are compared, a part adds to their difference: scale · (part · partner − part′ · partner′).
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/attribution/score_terms.hpp"

namespace attn {

// Gives the token of the other place's run that stands for a key of an attention, and for no other key;
// nothing if there is none.
using OtherToken = std::function<std::optional<Index>(Index attention, Index token)>;

// Returns the beginning of a path that exists in the stream of the query or key or, if two scores are
// compared, in that of the other place.
std::vector<OpenedHead> existing_path(const ScoreTerms& terms, ScoreSide side,
                                      const std::vector<OpenedHead>& path, const OtherToken& other = {});

class OpenedTerm {
  public:
    struct Part {
        Source source;                   // writes nothing, [0], if only the other place has the part
        Index other_token = -1;          // the token at the other place
        std::vector<double> other = {};  // what the same part writes there, or nothing
        // The token that the part was read from is one of the other run alone.
        bool is_of_other_run() const { return source.token < 0 && other_token >= 0; }
    };

    // The path must exist, and not be empty. `with` is a source of the other side; none: all of them.
    OpenedTerm(const ScoreTerms& terms, ScoreSide side, const std::vector<OpenedHead>& path,
               std::optional<Index> with = {}, const OtherToken& other = {});

    const std::vector<Part>& parts() const { return parts_; }
    // Returns what the part and its partner give to q and to k, [d_k] each.
    std::array<std::vector<double>, 2> factors(const Part& part, bool at_other = false) const;
    double value(const Part& part) const;
    double whole() const { return whole_; }  // what the head adds that the path begins with

  private:
    void add_other(const ScorePlace& here, const OpenedHead& head, std::vector<Source> parts,
                   const OtherToken& other);

    ScoreSide side_;
    std::array<std::vector<double>, 2> partners_;  // here, and at the other place
    std::vector<Part> parts_;
    double scale_, whole_;
};

}  // namespace attn
