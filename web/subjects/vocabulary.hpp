// How the tokens of a model's vocabulary read, and which of them a person means by a word that is typed.
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

// What is typed to name a token.
struct TokenSearch {
    std::string typed, fault;  // why there is no such token
    bool on = false;           // until the token is found or known to be missing
};

class Vocabulary {
  public:
    // Forgets what it knows of another model. Null: of any.
    void follow(std::shared_ptr<const Model> model);

    // As the page writes it, on one line; empty where it does not say.
    std::string text(Subject& subject, std::int32_t id) const;
    // The same within a sentence: “It”, or "token 7".
    std::string name(Subject& subject, std::int32_t id) const;
    // The same of several: where two would read alike, as written with the marks of a space, or by number.
    std::vector<std::string> names(Subject& subject, std::span<const std::int32_t> ids) const;
    // Without the marks of a space, as people type it.
    static std::string bare(const std::string& text);

    // Reads some more of it, for a search; true while there is more to do.
    bool read(Subject& subject);
    // Ends a search that is on, once all is read. Of several tokens that read so, it is the one with the largest of these
    // logits, [vocabulary].
    std::optional<std::int32_t> find(TokenSearch& search, std::span<const float> logits) const;

  private:
    Index size() const { return model_ ? model_->network().head.weight.out : 0; }

    std::shared_ptr<const Model> model_;
    std::vector<std::string> bare_;                      // of every token, as far as they are read
    mutable std::map<std::int32_t, std::string> texts_;  // of those that were shown
};

}  // namespace attn::app
