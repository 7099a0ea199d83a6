// A bilinear form, or one of its parts, as a small matrix: its cells, or the strongest cell of each block.
#pragma once

#include <utility>
#include <vector>

#include "analysis/linalg/bilinear_form.hpp"
#include "analysis/linalg/dense_matrix.hpp"

namespace attn {

inline constexpr Index form_blocks_shown = 48;  // per side of M; a longer side is shown in blocks
inline constexpr Index form_side_limit = 1536;  // rows and columns of M in the picture

// The factors stay as they are meanwhile.
class FormPicture {
  public:
    FormPicture(const FormFactors& factors, FormPart part);

    bool step();  // a row of blocks; true while there is more to do
    bool done() const { return next_ == values_.rows; }
    const DenseMatrix& values() const { return values_; }     // 0 in rows still to come
    std::pair<Index, Index> at(Index row, Index col) const {  // the cell of M that is shown there
        return places_[static_cast<std::size_t>(row * values_.cols + col)];
    }
    // Returns where a block begins in M.
    Index first_row(Index row) const { return row * rows_ / values_.rows; }
    Index first_col(Index col) const { return col * cols_ / values_.cols; }
    bool in_blocks() const { return rows_ > values_.rows || cols_ > values_.cols; }
    bool cut() const { return factors_.rows() > rows_ || factors_.cols() > cols_; }

  private:
    FormFactors factors_;
    FormPart part_;
    Index rows_, cols_;
    DenseMatrix values_;
    std::vector<std::pair<Index, Index>> places_;
    Index next_ = 0;
};

}  // namespace attn
