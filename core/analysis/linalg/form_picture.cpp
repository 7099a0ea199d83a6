#include "analysis/linalg/form_picture.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

FormPicture::FormPicture(const FormFactors& factors, FormPart part)
    : factors_(factors),
      part_(part),
      rows_(std::min(factors.rows(), form_side_limit)),
      cols_(std::min(factors.cols(), form_side_limit)),
      values_(std::min(rows_, form_blocks_shown), std::min(cols_, form_blocks_shown)) {
    for (Index r = 0; r < values_.rows; ++r)
        for (Index c = 0; c < values_.cols; ++c) places_.emplace_back(first_row(r), first_col(c));
}

bool FormPicture::step() {
    if (done()) return false;
    for (Index c = 0; c < values_.cols; ++c) {
        const Index end_row = first_row(next_ + 1), end_col = first_col(c + 1);
        float strongest = -1;
        for (Index i = first_row(next_); i < end_row; ++i)
            for (Index j = first_col(c); j < end_col; ++j) {
                const float cell = form_cell<float>(factors_, part_, i, j);
                if (std::abs(cell) <= strongest) continue;
                strongest = std::abs(cell);
                values_(next_, c) = static_cast<double>(cell);
                places_[static_cast<std::size_t>(next_ * values_.cols + c)] = {i, j};
            }
    }
    ++next_;
    return !done();
}

}  // namespace attn
