#include "maps/sink.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

namespace {

class SinklessMap final : public Map {
  public:
    SinklessMap(MapPointer map, MapPointer weights)
        : Map(map->queries(), map->keys(), map->is_signed()),
          map_(std::move(map)),
          weights_(std::move(weights)) {}

    Coverage coverage(Range queries, Range keys) const override {
        if (keys.begin > 0) return map_->coverage(queries, keys);
        if (keys.size() <= 1) return Coverage::none;
        const Coverage others = map_->coverage(queries, {1, keys.end});
        return others == Coverage::none ? others : Coverage::some;
    }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double> entropy) const override {
        // The entropy of weights that stay as they are is that of the other keys.
        const std::span<double> as_they_are = weights_ ? std::span<double>() : entropy;
        MapWindow others = window;
        others.keys.begin = std::max(window.keys.begin, std::min(Index{1}, window.keys.end));
        const Index first = others.keys.begin - window.keys.begin;
        for (Index r = 0; first > 0 && r < out.rows; ++r) out(r, 0) = masked_cell;
        if (others.keys.size() > 0)
            map_->cells(others, {out.data + first, out.rows, out.cols - first, out.row_stride}, as_they_are);
        if (!weights_) return;
        std::vector<float> sinks(static_cast<std::size_t>(out.rows));
        weights_->cells({window.queries, {0, 1}, window.step}, {sinks.data(), out.rows, 1, 1});
        for (Index r = 0; r < out.rows; ++r) {
            const float sink = sinks[static_cast<std::size_t>(r)], left = sink == masked_cell ? 1 : 1 - sink;
            double sum = 0;
            for (Index j = 0; j < out.cols; ++j) {
                float& cell = out(r, j);
                if (cell == masked_cell) continue;
                cell = left <= 0 ? 0 : cell / left;
                if (cell > 0 || std::isnan(cell))
                    sum -= static_cast<double>(cell) * std::log(static_cast<double>(cell));
            }
            if (map_ == weights_ && !entropy.empty()) entropy[static_cast<std::size_t>(r)] += sum;
        }
    }

  private:
    MapPointer map_, weights_;
};

}  // namespace

MapPointer without_first_key(MapPointer map, MapPointer weights) {
    return map->keys() == 0 ? map : std::make_shared<SinklessMap>(std::move(map), std::move(weights));
}

}  // namespace attn
