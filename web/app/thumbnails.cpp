#include "app/thumbnails.hpp"

#include <algorithm>

namespace attn::app {

namespace {
constexpr Index cells_a_step = Index{1} << 18;
}

Thumbnails::Thumbnails(std::shared_ptr<const Trace> trace)
    : trace_(std::move(trace)),
      layers_(std::ssize(trace_->layers())),
      heads_(layers_ ? trace_->layers()[0].attention.heads() : 0),
      side_(std::min(trace_->tokens(), side_limit)),
      maxima_(static_cast<std::size_t>(layers_ * heads_ * side_ * side_)) {}

bool Thumbnails::step() {
    if (!trace_ || next_head_ >= layers_ * heads_) return false;
    const Index n = trace_->tokens();
    const Record& record = trace_->layers()[static_cast<std::size_t>(next_head_ / heads_)].attention;
    const Index rows = std::clamp(cells_a_step / n, Index{1}, n - next_row_);
    std::vector<float> cells(static_cast<std::size_t>(rows * n));
    record.stage(Stage::weight, next_head_ % heads_, {next_row_, next_row_ + rows}, {0, n}, cells);
    float* pixels = maxima_.data() + next_head_ * side_ * side_;
    for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < n; ++c) {
            float& pixel = pixels[(next_row_ + r) * side_ / n * side_ + c * side_ / n];
            const float value = cells[static_cast<std::size_t>(r * n + c)];
            if (!(value <= pixel)) pixel = value;  // NaN shows
        }
    next_row_ += rows;
    if (next_row_ == n) {
        next_row_ = 0;
        ++next_head_;
    }
    return next_head_ < layers_ * heads_;
}

std::span<const float> Thumbnails::head(Index layer, Index head) const {
    const auto size = static_cast<std::size_t>(side_ * side_);
    return {maxima_.data() + static_cast<std::size_t>(layer * heads_ + head) * size, size};
}

}  // namespace attn::app
