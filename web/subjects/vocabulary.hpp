// Provides the texts of a model's tokens, and finds the token that a typed word means.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "subjects/subject.hpp"

namespace attn::app {

// A typed text that names a token.
struct TokenSearch {
    std::string typed, fault;  // `fault` says why no token was found
    bool on = false;           // true until the token is found or known to be missing
};

class Vocabulary {
  public:
    // Switches to another model and forgets the texts of the previous one. Null: there is no model.
    void follow(std::shared_ptr<const Model> model);

    // Returns the token's text as the page writes it, on one line; empty if the page does not know it.
    std::string text(Subject& subject, std::int32_t id) const;
    // The same within a sentence: “It”, or "token 7".
    std::string name(Subject& subject, std::int32_t id) const;
    // The same for several tokens. If two texts would look alike, they are written with marks for spaces, or
    // by number.
    std::vector<std::string> names(Subject& subject, std::span<const std::int32_t> ids) const;
    // Returns the text without marks for spaces, as people type it.
    static std::string bare(const std::string& text);

    // Reads another slice of the vocabulary for a search; true while there is more to do.
    bool read(Subject& subject);
    // Completes the current search once the vocabulary is read. If several tokens match, it chooses the one
    // with the largest of these logits, [vocabulary].
    std::optional<std::int32_t> find(TokenSearch& search, std::span<const float> logits) const;

  private:
    Index size() const { return model_ ? model_->network().head.weight.out : 0; }

    std::shared_ptr<const Model> model_;
    std::vector<std::string> bare_;                      // texts without marks, for the tokens read so far
    mutable std::map<std::int32_t, std::string> texts_;  // texts of the tokens shown so far
};

}  // namespace attn::app
