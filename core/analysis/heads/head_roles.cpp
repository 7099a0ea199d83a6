#include "analysis/heads/head_roles.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace attn {

namespace {

constexpr std::size_t least_found = 3;

HeadIndex head_at(const RoleTable& table, std::size_t place) {
    return {static_cast<Index>(place) / table.heads, static_cast<Index>(place) % table.heads};
}

constexpr std::array<HeadRole, head_roles.size()> all_roles() {
    std::array<HeadRole, head_roles.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<HeadRole>(i);
    return all;
}

}  // namespace

std::vector<HeadRole> roles_of(const RoleScores& scores) {
    std::vector<HeadRole> roles;
    for (const HeadRole role : all_roles())
        if (scores[role] >= info(role).least) roles.push_back(role);
    std::ranges::sort(roles, {}, [&](HeadRole role) { return std::pair(-scores[role], role); });
    return roles;
}

bool RoleTable::measures(HeadRole role) const {
    return std::ranges::any_of(scores, [&](const RoleScores& head) { return !std::isnan(head[role]); });
}

RoleTable role_table(const RepeatedTokenTable& measured) {
    RoleTable table{std::ssize(measured), measured.empty() ? 0 : std::ssize(measured.front()), {}};
    for (const auto& layer : measured)
        for (const RepeatedTokenScores& head : layer) {
            RoleScores& scores = table.scores.emplace_back();
            scores[HeadRole::previous_token] = head.head.previous_token;
            scores[HeadRole::first_token] = head.head.first_token;
            scores[HeadRole::duplicate_token] = head.duplicate_stripe;
            scores[HeadRole::induction] = head.induction_stripe;
        }
    return table;
}

RoleTable role_table(Index layers, Index heads, std::span<const double> numbers) {
    RoleTable table{layers, heads, std::vector<RoleScores>(static_cast<std::size_t>(layers * heads))};
    for (std::size_t i = 0; i < table.scores.size(); ++i)
        std::ranges::copy(numbers.subspan(i * head_roles.size(), head_roles.size()),
                          table.scores[i].values.begin());
    return table;
}

std::optional<Disagreement> disagreement(const RoleTable& a, const RoleTable& b, double most) {
    for (std::size_t i = 0; i < a.scores.size(); ++i)
        for (const HeadRole role : all_roles())
            if (std::abs(a.scores[i][role] - b.scores[i][role]) > most)  // false for NaN
                return Disagreement{head_at(a, i), role};
    return std::nullopt;
}

std::vector<HeadIndex> strongest_first(const RoleTable& table, HeadRole by) {
    std::vector<HeadIndex> order;
    for (std::size_t i = 0; i < table.scores.size(); ++i)
        if (!std::isnan(table.scores[i][by])) order.push_back(head_at(table, i));
    std::ranges::sort(order, {},
                      [&](HeadIndex head) { return std::tuple(-table.of(head)[by], head.layer, head.head); });
    return order;
}

std::optional<HeadIndex> next_of_role(const RoleTable& table, HeadRole role, HeadIndex chosen) {
    std::vector<HeadIndex> order = strongest_first(table, role);
    if (order.empty()) return std::nullopt;
    const auto named = static_cast<std::size_t>(std::ranges::count_if(
        order, [&](HeadIndex head) { return table.of(head)[role] >= info(role).least; }));
    order.resize(std::min(std::max(named, least_found), order.size()));
    const auto at = std::ranges::find(order, chosen);
    return at == order.end() || at + 1 == order.end() ? order.front() : at[1];
}

}  // namespace attn
