#include "analysis/properties/property.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/random.hpp"

namespace attn {

namespace {

bool is_worse(const CheckedCell& a, const CheckedCell& b) {
    const double of_a = a.ratio(), of_b = b.ratio();
    return of_a != of_b ? of_a > of_b : a.error > b.error;
}

}  // namespace

double CheckedCell::ratio() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (error == 0) return 0;
    const double ratio = error / bound;
    return std::isnan(ratio) ? infinity : ratio;
}

void PropertyResult::add(std::span<const CheckedCell> row) {
    if (row.empty()) return;
    const CheckedCell* found = &row.front();
    for (const CheckedCell& each : row) {
        if (is_worse(each, *found)) found = &each;
        broken += !each.holds();
    }
    if (cells == 0 || is_worse(*found, worst)) worst = *found;
    cells += std::ssize(row);
    const auto same_head = [&](const CheckedCell& each) {
        return each.layer == found->layer && each.head == found->head;
    };
    if (const auto known = std::ranges::find_if(heads, same_head); known == heads.end())
        heads.push_back(*found);
    else if (is_worse(*found, *known))
        *known = *found;
    if (!same_head(heads.front())) return;
    const auto at = std::ranges::lower_bound(queries, found->query, {}, &CheckedCell::query);
    if (at == queries.end() || at->query != found->query)
        queries.insert(at, *found);
    else if (is_worse(*found, *at))
        *at = *found;
}

std::vector<Index> even_rows(Index count, Index at_most) {
    const Index step = std::max<Index>(1, (count + at_most - 1) / at_most);
    std::vector<Index> rows;
    for (Index row = (count - 1) % step; row < count; row += step) rows.push_back(row);
    return rows;
}

std::vector<Index> shuffled(Index count, std::uint64_t seed) {
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    Random random(seed);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
    return order;
}

}  // namespace attn
