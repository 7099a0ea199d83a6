// Says which query may attend to which key. A mask is an expression, evaluated per cell, and is stored
// densely only if it was painted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/cell_region.hpp"
#include "kernels/table.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Dense bits [heads|1, rows|1, cols|1] that broadcast over axes of size 1. On a longer axis, cells beyond the
// stored rows or columns are not allowed.
struct PaintedBits {
    Index heads = 1;
    Index rows = 0;
    Index cols = 0;
    std::vector<std::uint8_t> allowed;

    bool operator==(const PaintedBits&) const = default;
};

// A Mask is immutable, and copies share their contents. A default Mask allows every cell.
class Mask {
  public:
    Mask() = default;

    // Each of these says when query q may attend to key k.
    static Mask everything();
    static Mask causal(Index offset = 0);           // k <= q + offset; offset = past length, may be negative
    static Mask window(Index before, Index after);  // q - before <= k <= q + after
    static Mask padding(Index visible_keys);        // k < visible_keys
    static Mask same_document(std::vector<std::int32_t> query_document,
                              std::vector<std::int32_t> key_document);
    static Mask prefix(Index length);   // k < length or k <= q (prefix language model)
    static Mask strided(Index stride);  // (q - k) is a multiple of stride
    // block_allowed is [query blocks, key blocks], row-major; each block has block × block cells.
    static Mask block_sparse(Index block, Index query_blocks, Index key_blocks,
                             std::vector<std::uint8_t> block_allowed);
    static Mask global_local(std::vector<Index> global_tokens,
                             Index radius);  // q or k global, or |q - k| <= radius
    static Mask painted(PaintedBits bits);
    static Mask cells(CellRegion region);  // only these cells, in every head

    friend Mask operator&(const Mask&, const Mask&);
    friend Mask operator|(const Mask&, const Mask&);
    friend Mask operator!(const Mask&);

    bool is_everything() const { return !node_; }
    bool allows(Index head, Index query, Index key) const;
    // Sets out[i] = allows(head, query, first_key + i).
    void row(Index head, Index query, Index first_key, std::span<std::uint8_t> out) const;

    // Says what a tile holds, or `some` if that cannot be found out cheaply.
    Coverage tile(Index head, Range queries, Range keys) const;
    // Narrows the keys to those that the query may attend to; false, and nothing done, if they are not known
    // to be one run.
    bool run(Index head, Index query, Range& keys) const;
    CellRule rule() const;  // borrows this mask

    // Writes "causal(0) & window(3,0)". Painted bits, cells, documents and blocks are written out, so
    // that parse(text()) == *this.
    std::string text() const;
    static Result<Mask> parse(std::string_view text);

    bool operator==(const Mask& other) const;

    struct Node;

  private:
    explicit Mask(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    std::shared_ptr<const Node> node_;
};

}  // namespace attn
