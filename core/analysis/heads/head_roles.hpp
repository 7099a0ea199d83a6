// What a head is named after: what it was measured to do, on random tokens that come twice and, where the
// model brings its own scores.json, on sentences with pronouns.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/heads/repeated_tokens.hpp"
#include "attention/head_index.hpp"

namespace attn {

enum class HeadRole { previous_token, first_token, duplicate_token, induction, pronoun };

struct HeadRoleInfo {
    const char* name;   // "induction", before its score
    const char* finds;  // completes "a head that …"
    // A head has the name from this score on. A pattern gets at least half of the weight; a head that chose
    // between the two nouns by chance would be right in half of the texts.
    double least;
    const char* meaning;   // what the score is
    std::string_view key;  // in scores.json
};
// In the order of HeadRole.
inline constexpr std::array<HeadRoleInfo, 5> head_roles{{
    {"previous token", "looks at the previous token", 0.5,
     "the share of all its weight that lies on the token just before", "previous_token"},
    {"first token (sink)", "attends to the first token", 0.5,
     "the share of all its weight that lies on the first token, where heads rest that find nothing else",
     "first_token"},
    {"duplicate token", "looks at the earlier copy of a token", 0.5,
     "the mean weight on the earlier copy, when tokens come again", "duplicate_stripe"},
    {"induction", "repeats what came after (induction)", 0.5,
     "the mean weight on what followed the earlier copy, when tokens come again", "induction_stripe"},
    {"pronoun", "resolves pronouns", 0.9,
     "the share of texts in which the pronoun puts more weight on the noun it means than on the other",
     "pronoun_right"},
}};
constexpr const HeadRoleInfo& info(HeadRole role) { return head_roles[static_cast<std::size_t>(role)]; }

// In the order of HeadRole, 0 … 1; NaN: not measured.
struct RoleScores {
    std::array<double, head_roles.size()> values = [] {
        std::array<double, head_roles.size()> none{};
        none.fill(std::numeric_limits<double>::quiet_NaN());
        return none;
    }();
    double& operator[](HeadRole role) { return values[static_cast<std::size_t>(role)]; }
    double operator[](HeadRole role) const { return values[static_cast<std::size_t>(role)]; }
};

// The roles whose names a head has earned, from the highest score to the lowest.
std::vector<HeadRole> roles_of(const RoleScores& scores);

struct RoleTable {
    Index layers = 0, heads = 0;     // `heads` in each layer
    std::vector<RoleScores> scores;  // [layers · heads]

    const RoleScores& of(HeadIndex head) const {
        return scores[static_cast<std::size_t>(head.layer * heads + head.head)];
    }
    bool measures(HeadRole role) const;  // for some head
    bool has(HeadIndex head) const {
        return head.layer >= 0 && head.layer < layers && head.head >= 0 && head.head < heads;
    }
};

RoleTable role_table(const RepeatedTokenTable& scores);

// The same from numbers [layers, heads, roles].
RoleTable role_table(Index layers, Index heads, std::span<const double> numbers);

// A score that two tables of one shape have and that differs by more than `most`; nothing if there is none.
struct Disagreement {
    HeadIndex head;
    HeadRole role;
};
std::optional<Disagreement> disagreement(const RoleTable& a, const RoleTable& b, double most);

// The heads that have this score, the strongest first, equal ones in reading order.
std::vector<HeadIndex> strongest_first(const RoleTable& table, HeadRole by);

// Where "find me a head that …" leads from the chosen head: to the strongest one, and from one of the
// strongest to the next of them, round and round. These are the heads that have the name, three at least.
// Nothing: no head was measured.
std::optional<HeadIndex> next_of_role(const RoleTable& table, HeadRole role, HeadIndex chosen);

}  // namespace attn
