// Shows one head of a run as a ladder: its q, k and v for some tokens, and everything computed from them. It
// cannot be edited.
#pragma once

#include <memory>

#include "runs/attention.hpp"
#include "subjects/ladder.hpp"

namespace attn::app {

class HeadLadder final : public Ladder {
  public:
    HeadLadder(const Attention& attention, Index layer, Index head)
        : attention_(attention),
          record_(attention.record(layer)),
          version_(attention.version()),
          layer_(layer),
          head_(head) {}

    bool is_of(const Attention& attention, Index layer, Index head) const {
        return version_ == attention.version() && layer_ == layer && head_ == head;
    }
    std::vector<std::vector<Rung>> rungs(Range queries, Range keys) const override;
    Index queries() const override { return attention_.queries(); }
    Index keys() const override { return attention_.keys(); }
    std::string query_name(Index query) const override;
    std::string key_name(Index key) const override;
    float weight(Index query, Index key) const override {
        return record_->cell(Stage::weight, head_, query, key);
    }

  private:
    const Attention& attention_;
    std::shared_ptr<const Record> record_;
    std::uint64_t version_;
    Index layer_, head_;
};

// Updates the ladder of the chosen head and returns it; null if the head has no vectors.
const Ladder* ladder_of(std::optional<HeadLadder>& kept, Attention* attention, HeadIndex head);

}  // namespace attn::app
