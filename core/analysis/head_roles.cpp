#include "analysis/head_roles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "io/json.hpp"

namespace attn {

namespace {

constexpr std::size_t least_found = 3;

std::string name_of(Index layer, Index head) { return std::to_string(layer) + "." + std::to_string(head); }

HeadIndex head_at(const RoleTable& table, std::size_t place) {
    return {static_cast<Index>(place) / table.heads, static_cast<Index>(place) % table.heads};
}

constexpr std::array<HeadRole, head_roles.size()> all_roles() {
    std::array<HeadRole, head_roles.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<HeadRole>(i);
    return all;
}

// Reads the scores of one head; those that are left out stay NaN.
Result<RoleScores> scores_in(const nlohmann::json& head, const std::string& name) {
    RoleScores scores;
    for (const HeadRole role : all_roles()) {
        const auto found = head.find(info(role).key);
        if (found == head.end()) continue;
        const double score = found->is_number() ? found->get<double>() : -1;
        if (!(score >= 0 && score <= 1))
            return Error{"scores.json gives head " + name + " a '" + std::string(info(role).key) +
                         "' that is no number from 0 to 1"};
        scores[role] = score;
    }
    return scores;
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

Result<RoleTable> parse_head_scores(std::span<const std::byte> text, Index layers, Index heads) {
    const auto json = parse_json(text, "scores.json");
    if (!json) return json.error();
    const auto list = json->is_object() ? json->find("heads") : json->end();
    if (list == json->end() || !list->is_array() || list->empty())
        return Error{"scores.json has no list of heads"};
    RoleTable table{layers, heads, std::vector<RoleScores>(static_cast<std::size_t>(layers * heads))};
    std::vector<bool> given(table.scores.size());
    for (const nlohmann::json& each : *list) {
        const auto index = [&](const char* key) {
            const auto found = each.is_object() ? each.find(key) : each.end();
            return found != each.end() && found->is_number_unsigned() ? found->get<std::uint64_t>()
                                                                      : std::uint64_t(-1);
        };
        const std::uint64_t layer = index("layer"), head = index("head");
        if (layer >= static_cast<std::uint64_t>(layers) || head >= static_cast<std::uint64_t>(heads))
            return Error{"scores.json tells of a head that this model, with " + std::to_string(layers) +
                         " layers of " + std::to_string(heads) + " heads, does not have"};
        const std::string name = name_of(static_cast<Index>(layer), static_cast<Index>(head));
        const auto place = static_cast<std::size_t>(layer) * static_cast<std::size_t>(heads) +
                           static_cast<std::size_t>(head);
        if (given[place]) return Error{"scores.json tells of head " + name + " twice"};
        auto scores = scores_in(each, name);
        if (!scores) return scores.error();
        table.scores[place] = *scores;
        given[place] = true;
    }
    if (const auto missing = std::ranges::find(given, false); missing != given.end()) {
        const HeadIndex head = head_at(table, static_cast<std::size_t>(missing - given.begin()));
        return Error{"scores.json does not tell of head " + name_of(head.layer, head.head)};
    }
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
