// Names the heads of a model after what was measured of them: what its scores.json says, checked against these weights,
// or what they do with random tokens that come twice.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analysis/heads/head_roles.hpp"

namespace attn::app {

// What was measured of the heads of a model, and how that is told.
struct NamedHeads {
    RoleTable table;
    std::string source;   // "Measured on 4 sequences …", "From the model's scores.json"
    std::string repeats;  // "4 random repeats": what all roles but the pronoun's were measured on

    // The role with the highest score among the names that the head has earned.
    std::optional<HeadRole> role(HeadIndex head) const;
    std::string measured_on(HeadRole role) const;  // "on 4 random repeats"
    // "induction 0.95 on 4 random repeats"; empty if it has no name.
    std::string name(HeadIndex head) const;
    // All of them, one a line, with what was measured, from where on it is a name, and on what it was measured; empty
    // if there are none.
    std::string told(HeadIndex head) const;
};

// "0.87", and "0.999" where two decimals would make it 1.
std::string written_score(double score);

// Reads a scores.json for a model of so many layers and heads.
Result<RoleTable> read_role_table(std::span<const std::byte> scores, Index layers, Index heads);

class HeadNaming {
  public:
    HeadNaming() = default;
    // `given` is what a scores.json says; those names stand from the beginning, and fall if the weights contradict.
    explicit HeadNaming(std::shared_ptr<const Model> model, std::optional<RoleTable> given = {});

    const std::shared_ptr<const Model>& model() const { return model_; }
    // Null until something is known.
    const NamedHeads* heads() const { return heads_.get(); }
    std::int64_t bytes() const;  // that the measurement needs
    // Does a slice; true while there is more to do.
    bool step();
    std::uint64_t milestones() const { return milestones_; }  // changes with what is known
    // One sentence, once, where the weights contradict the scores that were given.
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
