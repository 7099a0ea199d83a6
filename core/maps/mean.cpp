#include "maps/mean.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

namespace {

class MeanMap final : public Map {
  public:
    explicit MeanMap(std::vector<MapPointer> maps)
        : Map(maps.front()->queries(), maps.front()->keys(), maps.front()->is_signed()),
          maps_(std::move(maps)) {}

    Coverage coverage(Range queries, Range keys) const override {
        const Coverage first = maps_.front()->coverage(queries, keys);
        const bool alike = std::ranges::all_of(
            maps_, [&](const MapPointer& map) { return map->coverage(queries, keys) == first; });
        return alike ? first : Coverage::some;
    }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double> entropy) const override {
        const std::size_t count = static_cast<std::size_t>(out.rows * out.cols);
        std::vector<double> sums(count);
        std::vector<std::uint8_t> some(count);  // whether a cell is not masked in all maps
        std::vector<float> one(count);
        for (const MapPointer& map : maps_) {
            map->cells(window, {one.data(), out.rows, out.cols, out.cols});
            for (std::size_t i = 0; i < count; ++i) {
                if (one[i] == masked_cell) continue;
                sums[i] += static_cast<double>(one[i]);
                some[i] = 1;
            }
        }
        const auto of = static_cast<double>(maps_.size());
        for (Index r = 0; r < out.rows; ++r)
            for (Index c = 0; c < out.cols; ++c) {
                const auto at = static_cast<std::size_t>(r * out.cols + c);
                const double mean = sums[at] / of;
                out(r, c) = some[at] ? static_cast<float>(mean) : masked_cell;
                if (!entropy.empty() && (mean > 0 || std::isnan(mean)))
                    entropy[static_cast<std::size_t>(r)] -= mean * std::log(mean);
            }
    }

  private:
    std::vector<MapPointer> maps_;
};

}  // namespace

MapPointer mean_map(std::vector<MapPointer> maps) { return std::make_shared<MeanMap>(std::move(maps)); }

}  // namespace attn
