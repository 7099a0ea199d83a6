#include "maps/mask_map.hpp"

#include <algorithm>

namespace attn {

namespace {

class MaskMap final : public Map {
  public:
    MaskMap(Mask mask, Index head, Index queries, Index keys)
        : Map(queries, keys, false), mask_(std::move(mask)), head_(head) {}

    // Hidden cells are numbers here like all others.
    Coverage coverage(Range, Range) const override { return Coverage::all; }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double>) const override {
        constexpr Index side = 64;
        std::vector<std::uint8_t> allowed(side);
        for (Index row = 0; row < window.rows(); row += side) {
            const Range rows{row, std::min(row + side, window.rows())};
            const Range queries{window.query(rows.begin), window.query(rows.end - 1) + 1};
            for (Index key = window.keys.begin; key < window.keys.end; key += side) {
                const Range keys{key, std::min(key + side, window.keys.end)};
                const Coverage coverage = mask_.tile(head_, queries, keys);
                const auto part = std::span(allowed).first(static_cast<std::size_t>(keys.size()));
                if (coverage != Coverage::some)
                    std::ranges::fill(part, static_cast<std::uint8_t>(coverage == Coverage::all));
                for (Index r = rows.begin; r < rows.end; ++r) {
                    if (coverage == Coverage::some) mask_.row(head_, window.query(r), keys.begin, part);
                    std::ranges::copy(part, out.row(r) + keys.begin - window.keys.begin);
                }
            }
        }
    }

  private:
    Mask mask_;
    Index head_;
};

}  // namespace

MapPointer mask_map(Mask mask, Index head, Index queries, Index keys) {
    return std::make_shared<MaskMap>(std::move(mask), head, queries, keys);
}

}  // namespace attn
