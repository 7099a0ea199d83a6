#include "train/dropout.hpp"

#include "tensor/random.hpp"

namespace attn {

void Dropout::apply(std::uint64_t site, std::span<float> values) const {
    if (probability <= 0) return;
    const auto least = static_cast<std::uint32_t>(static_cast<double>(probability) * 0x1p32);
    const float scale = 1 / (1 - probability);
    Random random(mixed(seed, site));
    for (std::size_t i = 0; i < values.size(); i += 2) {
        const std::uint64_t bits = random.bits();
        values[i] = static_cast<std::uint32_t>(bits) < least ? 0 : values[i] * scale;
        if (i + 1 < values.size())
            values[i + 1] = static_cast<std::uint32_t>(bits >> 32) < least ? 0 : values[i + 1] * scale;
    }
}

}  // namespace attn
