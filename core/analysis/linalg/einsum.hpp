// Einstein sums over named matrices: "ik,jk->ij with Q, K" is numpy.einsum("ik,jk->ij", Q, K), in the
// notation of NumPy (numpy.org/doc/stable/reference/generated/numpy.einsum.html). An index is a letter. One
// that stands twice in an operand walks its diagonal; one that the result lacks is summed over. Without "->"
// the result has the indices that stand once, in the order of the alphabet, capitals first. Other than in
// NumPy, "..." is not read, and a size of 1 is not stretched.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

inline constexpr std::size_t einsum_text_limit = 200, einsum_operand_limit = 4, einsum_index_limit = 8;
inline constexpr std::size_t einsum_rank_limit = 3;             // indices of an operand, and of the result
inline constexpr std::int64_t einsum_work_limit = 250'000'000;  // multiply-adds
inline constexpr Index einsum_size_limit = 4'000'000;           // numbers of a result

struct EinsumText {
    std::vector<std::string> operands;  // the indices of each
    std::string result;
    std::vector<std::string> names;  // one for each operand

    static Result<EinsumText> parse(std::string_view text);
    std::string subscripts() const;  // "ik,jk->ij", with its result spelt out
    bool operator==(const EinsumText&) const = default;
};

// The loops that an einsum is: those over the result's indices, in its order, and inside of them those over
// the indices that are summed, in the order in which they come.
struct EinsumLoops {
    struct Loop {
        char index;
        Index size;
        bool summed;
        std::string from;  // what gives it its size: "Q"
    };
    std::vector<Loop> loops;
    Shape shape;                 // the result's
    std::int64_t multiply_adds;  // how often the innermost line runs: the product of all sizes

    // Refused with one sentence where a number of indices or their sizes do not fit, or the work is too much.
    // `shapes` are those of the operands.
    static Result<EinsumLoops> of(const EinsumText& text, std::span<const Shape> shapes);
    // The sum as a program: "for i in range(3):", and so on.
    std::vector<std::string> written(const EinsumText& text) const;
};

// Computes a result in slices, in f32 and in double, from operands in f32, which stay where they are.
class Einsum {
  public:
    Einsum(const EinsumText& text, EinsumLoops loops, std::vector<std::span<const float>> operands);
    bool step(std::int64_t multiply_adds);  // does so many; true while there is more to do
    bool done() const { return done_ == loops_.multiply_adds; }

    const EinsumLoops& loops() const { return loops_; }
    std::span<const float> f32() const { return f32_; }   // row by row; one number if it has no index
    std::span<const double> f64() const { return f64_; }  // exact products of the f32, added up in double

    // One product of those that an element is the sum of: where in each operand its factor is, and the values
    // of the summed indices.
    struct Product {
        std::vector<Index> factors, summed;
    };
    Index products() const;  // how many an element has
    Product product(Index element, Index which) const;

  private:
    bool advance();  // to the next product; true behind the last of an element

    EinsumLoops loops_;
    std::vector<std::span<const float>> operands_;
    std::vector<std::vector<Index>> strides_;  // each operand's, along each loop
    std::vector<Index> at_, offsets_;          // positions of the loops; offsets into the operands
    std::int64_t done_ = 0;
    Index element_ = 0;
    float sum32_ = 0;
    double sum64_ = 0;
    std::vector<float> f32_;
    std::vector<double> f64_;
};

}  // namespace attn
