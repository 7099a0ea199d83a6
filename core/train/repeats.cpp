#include "train/repeats.hpp"

#include <algorithm>

namespace attn {

std::size_t drawn_period(Random& random, std::size_t length) {
    const std::size_t least = std::max<std::size_t>(length / 8, 2), most = std::max(length / 2, least);
    return least + static_cast<std::size_t>(random.below(most - least + 1));
}

std::vector<std::int32_t> repeated(std::vector<std::int32_t> once, std::size_t length) {
    for (std::size_t i = once.size(), period = once.size(); i < length; ++i) once.push_back(once[i - period]);
    return once;
}

}  // namespace attn
