// Keeps what was computed from a key until another key is asked for.
#pragma once

#include <optional>
#include <utility>

namespace attn::app {

template <class Key, class Value>
class Derived {
  public:
    // Returns the key's value, computed by compute() unless it is kept.
    template <class Compute>
    Value& of(const Key& key, Compute&& compute) {
        if (!kept_ || !(kept_->key == key)) kept_.emplace(Kept{key, compute()});
        return kept_->value;
    }
    // The kept value; null: there is none.
    Value* kept() { return kept_ ? &kept_->value : nullptr; }
    const Value* kept() const { return kept_ ? &kept_->value : nullptr; }
    void forget() { kept_.reset(); }

  private:
    struct Kept {
        Key key;
        Value value;
    };
    std::optional<Kept> kept_;
};

}  // namespace attn::app
