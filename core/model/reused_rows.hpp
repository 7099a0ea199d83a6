// Which rows of a run another one need not compute again, because it goes on from it with more tokens or
// under other interventions.
#pragma once

#include <vector>

#include "model/trace.hpp"

namespace attn {

// The steps of a block, in their order.
enum class BlockStep { project, attend, leave, project_cross, attend_cross, leave_cross, hidden, mlp };
inline constexpr Index block_steps = 8;

// The same step of the block's other attention.
constexpr BlockStep of_half(BlockStep step, bool cross) {
    return cross ? static_cast<BlockStep>(static_cast<int>(step) + 3) : step;
}
// Where the residual between attention and MLP is computed.
inline BlockStep leave_step(const Block& block) { return of_half(BlockStep::leave, block.cross.has_value()); }
// Experts compute their hidden units and what they make of them together.
inline BlockStep hidden_step(const Block& block) {
    return block.experts ? BlockStep::mlp : BlockStep::hidden;
}

class ReusedRows {
  public:
    ReusedRows() = default;
    // In one stack of layers. Without a run before nothing is kept.
    ReusedRows(const Trace& run, const Trace* before);

    // How many tokens from the first on are the same numbers in both runs: in the embedding, in what a step
    // computes, and in what the last one leaves.
    Index embedded() const { return rows_.front(); }
    Index rows(Index layer, BlockStep step) const { return rows_[place(layer, step)]; }
    Index at_end() const { return rows_.back(); }
    // How many of the encoder's tokens have the same keys and values in the cross-attention of a layer.
    Index encoded(Index layer) const { return encoded_[static_cast<std::size_t>(layer)]; }

  private:
    static std::size_t place(Index layer, BlockStep step) {
        return static_cast<std::size_t>(1 + layer * block_steps) + static_cast<std::size_t>(step);
    }
    void touch(const Trace& run, const Intervention& each, bool causal);

    std::vector<Index> rows_;     // rows of the embedding, then of the steps of each block
    std::vector<Index> encoded_;  // [layers]
};

}  // namespace attn
