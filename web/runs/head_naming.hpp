// Names the heads of a model after their measured scores: those in its scores.json, checked against these
// weights, or scores on repeated random tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analysis/heads/head_roles.hpp"

namespace attn::app {

// Measurements of a model's heads, and how they are worded.
struct NamedHeads {
    RoleTable table;
    std::string source;   // "Measured on 4 sequences …", "From the model's scores.json"
    std::string repeats;  // "4 random repeats": what all roles except the pronoun's were measured on

    // Returns the role with the highest score among those that the head qualifies for.
    std::optional<HeadRole> role(HeadIndex head) const;
    std::string measured_on(HeadRole role) const;  // "on 4 random repeats"
    // Returns "induction 0.95 on 4 random repeats"; empty if the head has no name.
    std::string name(HeadIndex head) const;
    // Lists all roles, one per line, with the score, the threshold, and what it was measured on; empty if
    // there are none.
    std::string told(HeadIndex head) const;
};

// Writes "0.87", or "0.999" where two decimals would round to 1.
std::string written_score(double score);

// Reads a scores.json for a model with this many layers and heads.
Result<RoleTable> read_role_table(std::span<const std::byte> scores, Index layers, Index heads);

class HeadNaming {
  public:
    HeadNaming() = default;
    // `given` comes from a scores.json. Its names stand from the beginning, and are dropped if the weights
    // contradict them.
    explicit HeadNaming(std::shared_ptr<const Model> model, std::optional<RoleTable> given = {});

    const std::shared_ptr<const Model>& model() const { return model_; }
    // Null until something is known.
    const NamedHeads* heads() const { return heads_.get(); }
    std::int64_t bytes() const;  // memory that the measurement needs
    // Does a slice; true while there is more to do.
    bool step();
    std::uint64_t milestones() const { return milestones_; }  // changes whenever more is known
    // Returns one sentence, once, if the weights contradict the given scores.
    std::optional<std::string> take_doubt() { return std::exchange(doubt_, std::nullopt); }

  private:
    void conclude(RoleTable measured);

    std::shared_ptr<const Model> model_;
    Index period_ = 0;
    std::optional<RepeatedTokens> measuring_;
    bool done_ = true;
    bool given_ = false;
    std::uint64_t milestones_ = 0;
    std::shared_ptr<const NamedHeads> heads_;
    std::optional<std::string> doubt_;
};

}  // namespace attn::app
