#include "maps/picked.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace attn {

namespace {

class PickedMap final : public Map {
  public:
    PickedMap(MapPointer map, std::vector<Index> queries, std::vector<Index> keys)
        : Map(std::ssize(queries), std::ssize(keys), map->is_signed()),
          map_(std::move(map)),
          queries_(std::move(queries)),
          keys_(std::move(keys)) {}

    Coverage coverage(Range queries, Range keys) const override {
        const auto part = [](const std::vector<Index>& all, Range range) {
            return std::span(all).subspan(static_cast<std::size_t>(range.begin),
                                          static_cast<std::size_t>(range.size()));
        };
        const auto q = part(queries_, queries), k = part(keys_, keys);
        if (q.empty() || k.empty()) return Coverage::none;
        const Coverage found = map_->coverage(around(q), around(k));
        return found == Coverage::none || found == Coverage::all ? found : Coverage::some;
    }

    // Its rows are not whole rows of weights, so they have no entropy.
    void cells(const MapWindow& window, MatrixView<float> out, std::span<double>) const override {
        if (window.keys.size() == 0) return;
        const auto keys = std::span(keys_).subspan(static_cast<std::size_t>(window.keys.begin),
                                                   static_cast<std::size_t>(window.keys.size()));
        const Range from = around(keys);
        std::vector<float> row(static_cast<std::size_t>(from.size()));
        for (Index r = 0; r < out.rows; ++r) {
            const Index query = queries_[static_cast<std::size_t>(window.query(r))];
            map_->cells({{query, query + 1}, from}, {row.data(), 1, from.size(), from.size()});
            for (Index j = 0; j < out.cols; ++j)
                out(r, j) = row[static_cast<std::size_t>(keys[static_cast<std::size_t>(j)] - from.begin)];
        }
    }

  private:
    static Range around(std::span<const Index> indices) {
        const auto [least, most] = std::ranges::minmax(indices);
        return {least, most + 1};
    }

    MapPointer map_;
    std::vector<Index> queries_, keys_;
};

}  // namespace

MapPointer picked_map(MapPointer map, std::vector<Index> queries, std::vector<Index> keys) {
    return std::make_shared<PickedMap>(std::move(map), std::move(queries), std::move(keys));
}

}  // namespace attn
