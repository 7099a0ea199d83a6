// Makes random masks, each with a plain function that defines the same mask cell by cell.
#pragma once

#include <functional>
#include <vector>

#include "attention/mask.hpp"
#include "tensor/random.hpp"

namespace attn::test {

struct TwoWays {
    Mask mask;
    std::function<bool(Index q, Index k)> allows;
};

inline TwoWays random_region(Random& random, Index size) {
    const auto below = [&](Index n) {
        return static_cast<Index>(random.below(static_cast<std::uint64_t>(n)));
    };
    CellRegion region;
    std::vector<std::uint8_t> plain(static_cast<std::size_t>(size * size));
    for (Index i = below(12); i > 0; --i) {
        const Range q{below(size), below(size + 1)}, k{below(size), below(size + 1)};
        const bool adds = below(3) != 0;
        adds ? region.add(q, k) : region.remove(q, k);
        for (Index r = q.begin; r < q.end; ++r)
            for (Index c = k.begin; c < k.end; ++c) plain[static_cast<std::size_t>(r * size + c)] = adds;
    }
    return {Mask::cells(std::move(region)), [=](Index q, Index k) {
                return q < size && k < size && plain[static_cast<std::size_t>(q * size + k)];
            }};
}

inline TwoWays random_atom(Random& random, Index size) {
    const auto below = [&](Index n) {
        return static_cast<Index>(random.below(static_cast<std::uint64_t>(n)));
    };
    const auto bits = [&](Index count) {
        std::vector<std::uint8_t> all(static_cast<std::size_t>(count));
        for (std::uint8_t& b : all) b = below(3) != 0;
        return all;
    };
    const auto at = [](const auto& list, Index i) { return list[static_cast<std::size_t>(i)]; };
    switch (below(12)) {
        case 0: return {Mask(), [](Index, Index) { return true; }};
        case 1: {
            const Index offset = below(2 * size) - size;
            return {Mask::causal(offset), [=](Index q, Index k) { return k - q <= offset; }};
        }
        case 2: {
            const Index before = below(size) - 2, after = below(size) - 2;
            return {Mask::window(before, after),
                    [=](Index q, Index k) { return k - q >= -before && k - q <= after; }};
        }
        case 3: {
            const Index keys = below(2 * size);
            return {Mask::padding(keys), [=](Index, Index k) { return k < keys; }};
        }
        case 4: {
            const Index length = below(size);
            return {Mask::prefix(length), [=](Index q, Index k) { return k < length || k <= q; }};
        }
        case 5: {
            const Index stride = 1 + below(size);
            return {Mask::strided(stride), [=](Index q, Index k) { return std::abs(q - k) % stride == 0; }};
        }
        case 6: {
            const Index block = 1 + below(size), rows = below(6), cols = below(6);
            const auto allowed = bits(rows * cols);
            return {Mask::block_sparse(block, rows, cols, allowed), [=](Index q, Index k) {
                        return q < rows * block && k < cols * block &&
                               at(allowed, q / block * cols + k / block);
                    }};
        }
        case 7: {
            std::vector<Index> tokens;
            for (Index i = below(4); i > 0; --i) tokens.push_back(below(2 * size));
            const Index radius = below(5);
            const auto is_global = [=](Index i) { return std::ranges::count(tokens, i) > 0; };
            return {Mask::global_local(tokens, radius), [=](Index q, Index k) {
                        return is_global(q) || is_global(k) || std::abs(q - k) <= radius;
                    }};
        }
        case 8: {
            const Index rows = below(3) == 0 ? 1 : below(size + 4),
                        cols = below(3) == 0 ? 1 : below(size + 4);
            const auto allowed = bits(rows * cols);
            return {Mask::painted({1, rows, cols, allowed}), [=](Index q, Index k) {
                        const Index r = rows == 1 ? 0 : q, c = cols == 1 ? 0 : k;
                        return r < rows && c < cols && at(allowed, r * cols + c);
                    }};
        }
        case 9: return random_region(random, size);
        default: {
            std::vector<std::int32_t> query, key;
            for (Index i = below(size + 4); i > 0; --i)
                query.push_back(static_cast<std::int32_t>(i / 5 - below(2)));
            for (Index i = below(size + 4); i > 0; --i)
                key.push_back(static_cast<std::int32_t>(i / 5 - below(2)));
            if (below(2) == 0) key = query;
            return {Mask::same_document(query, key), [=](Index q, Index k) {
                        return q < std::ssize(query) && k < std::ssize(key) && at(query, q) == at(key, k);
                    }};
        }
    }
}

inline TwoWays random_mask(Random& random, Index size, int levels) {
    const auto kind = levels > 0 ? random.below(4) : 3;
    if (kind == 3) return random_atom(random, size);
    const TwoWays a = random_mask(random, size, levels - 1);
    if (kind == 2) return {!a.mask, [a](Index q, Index k) { return !a.allows(q, k); }};
    const TwoWays b = random_mask(random, size, levels - 1);
    if (kind == 0)
        return {a.mask & b.mask, [a, b](Index q, Index k) { return a.allows(q, k) && b.allows(q, k); }};
    return {a.mask | b.mask, [a, b](Index q, Index k) { return a.allows(q, k) || b.allows(q, k); }};
}

}  // namespace attn::test
