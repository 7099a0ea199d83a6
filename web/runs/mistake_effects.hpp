// What each mistake that a head can make changes in some rows of it (analysis/check), computed in slices.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analysis/check/mistaken_head.hpp"
#include "analysis/check/possible_mistakes.hpp"

namespace attn::app {

class MistakeEffects {
  public:
    explicit MistakeEffects(CheckedRows rows) : rows_(std::move(rows)) {}

    // Takes a step: the head without a mistake, then with the chosen one in this variant, then with the first
    // variant of each other one. True while there is more.
    bool step(std::span<const PossibleMistake> possible, Index chosen, std::size_t variant);

    // All are null until they are computed; only the mistake that was chosen last has its head.
    const MistakenHead* right() const { return done(right_); }
    const MistakenHead* mistaken(Index mistake, std::size_t variant) const {
        return chosen_.mistake == mistake && chosen_.variant == variant ? done(chosen_.head) : nullptr;
    }
    const MistakeEffect* of(Index mistake, std::size_t variant) const;
    std::size_t count() const { return effects_.size(); }

  private:
    struct Making {
        Index mistake = -1;
        std::size_t variant = 0;
        std::shared_ptr<MistakenHead> head;
    };
    struct Known {
        Index mistake;
        std::size_t variant;
        MistakeEffect effect;
    };
    static const MistakenHead* done(const std::shared_ptr<MistakenHead>& head) {
        return head && head->done() ? head.get() : nullptr;
    }
    // True while there is more to compute.
    bool advance(Making& making, const PossibleMistake& possible, Index mistake, std::size_t variant);

    CheckedRows rows_;
    std::shared_ptr<QueryReading> reading_;  // without a mistake
    std::shared_ptr<MistakenHead> right_;
    Making chosen_, other_;
    std::vector<Known> effects_;
};

}  // namespace attn::app
