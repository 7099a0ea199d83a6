#include "attention/mask_presets.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace attn {

namespace {

// Four documents, each a little longer than the one before.
Mask documents(Index size) {
    std::vector<std::int32_t> of(static_cast<std::size_t>(size));
    for (Index i = 0; i < size; ++i)
        of[static_cast<std::size_t>(i)] = 10 * i < size       ? 0
                                          : 10 * i < 3 * size ? 1
                                          : 10 * i < 6 * size ? 2
                                                              : 3;
    return Mask::same_document(of, of);
}

// Eight blocks per side at most: those on the diagonal, those before them, and the first column (Zaheer et
// al. 2020, arXiv 2007.14062, without its random blocks).
Mask blocks(Index size) {
    const Index block = std::max<Index>((size + 7) / 8, 1), count = (size + block - 1) / block;
    std::vector<std::uint8_t> allowed;
    for (Index row = 0; row < count; ++row)
        for (Index col = 0; col < count; ++col) allowed.push_back(col == 0 || col == row || col + 1 == row);
    return Mask::block_sparse(block, count, count, std::move(allowed));
}

constexpr std::array all_presets{
    MaskPreset{"causal", [](Index) { return Mask::causal(); }},
    MaskPreset{"window of 16", [](Index) { return Mask::window(15, 0); }},
    MaskPreset{"causal documents", [](Index n) { return Mask::causal() & documents(n); }},
    // Xiao et al. 2023, arXiv 2309.17453.
    MaskPreset{"first keys and window",
               [](Index) { return Mask::causal() & (Mask::padding(4) | Mask::window(15, 0)); }},
    // Child et al. 2019, arXiv 1904.10509.
    MaskPreset{"strided", [](Index) { return Mask::causal() & (Mask::window(7, 0) | Mask::strided(8)); }},
    // Raffel et al. 2019, arXiv 1910.10683.
    MaskPreset{"prefix", [](Index n) { return Mask::prefix(n / 4); }},
    // Beltagy et al. 2020, arXiv 2004.05150.
    MaskPreset{"global tokens", [](Index) { return Mask::global_local({0}, 4); }},
    MaskPreset{"no mask", [](Index) { return Mask(); }},
};

constexpr std::array all_atoms{
    MaskPreset{"causal", [](Index) { return Mask::causal(); }},
    MaskPreset{"window", [](Index) { return Mask::window(15, 0); }},
    MaskPreset{"strided", [](Index) { return Mask::strided(4); }},
    MaskPreset{"blocks", blocks},
    MaskPreset{"global", [](Index) { return Mask::global_local({0}, 2); }},
    MaskPreset{"prefix", [](Index n) { return Mask::prefix(n / 4); }},
    MaskPreset{"documents", documents},
    MaskPreset{"padding", [](Index n) { return Mask::padding(n - n / 4); }},
};

}  // namespace

std::span<const MaskPreset> mask_presets() { return all_presets; }
std::span<const MaskPreset> mask_atoms() { return all_atoms; }

}  // namespace attn
