#include "lenses/inverse/state.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "tensor/random.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, pattern_kind_count> pattern_keys{"previous", "itself",      "first",
                                                                        "blocks",   "permutation", "painted"};

bool read_into(State& state, auto&& change) {
    InverseState next = state.of<InverseState>();
    return change(next) && take(state, SetInverse{std::move(next)});
}

// "2.0:0.9,2.3:0.05"
bool read_wishes(InverseState& next, std::string_view text) {
    next.wishes.clear();
    for (const std::string_view part : split(text, ',')) {
        const auto sides = split(part, ':');
        const auto cell = split(sides[0], '.');
        const auto query = cell.size() == 2 ? read_integer<Index>(cell[0]) : std::nullopt;
        const auto key = cell.size() == 2 ? read_integer<Index>(cell[1]) : std::nullopt;
        const auto weight = sides.size() == 2 ? read_number(sides[1]) : std::nullopt;
        if (!query || !key || !weight) return false;
        next.wishes.push_back({*query, *key, *weight});
    }
    return true;
}

// "previous,8", "permutation,8" or "painted,8,80f1…"
bool read_pattern(Pattern& pattern, std::string_view text) {
    const auto parts = split(text, ',');
    const auto kind = parts.size() >= 2 ? index_of(pattern_keys, parts[0]) : std::nullopt;
    const auto tokens = parts.size() >= 2 ? read_integer<Index>(parts[1]) : std::nullopt;
    if (!kind || !tokens || *tokens < pattern_least || *tokens > pattern_limit) return false;
    pattern.kind = static_cast<PatternKind>(*kind);
    pattern.tokens = *tokens;
    pattern.painted.clear();
    if (pattern.kind != PatternKind::painted) return parts.size() == 2;
    const auto cells =
        parts.size() == 3 ? read_cells(parts[2], static_cast<std::size_t>(*tokens * *tokens)) : std::nullopt;
    if (cells) pattern.painted = *cells;
    return cells.has_value();
}

constexpr LinkRow inverse_rows[] = {
    {"inverse.of", "q, key, keys, wq or wk",
     [](State& s, const std::string& text) {
         return read_into(s, [&](InverseState& next) {
             for (Index i = 0; i < change_count; ++i)
                 if (info(static_cast<ChangeOf>(i)).key == text) {
                     next.of = static_cast<ChangeOf>(i);
                     return true;
                 }
             return false;
         });
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         const ChangeOf of = s.of<InverseState>().of;
         if (of == usual.of<InverseState>().of) return std::nullopt;
         return std::string(info(of).key);
     }},
    {"inverse.wish", "queries, keys and their weights between 0 and 1, as 2.0:0.9,2.3:0.05",
     [](State& s, const std::string& text) {
         return read_into(s, [&](InverseState& next) { return read_wishes(next, text); });
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         const std::vector<CellWish>& wishes = s.of<InverseState>().wishes;
         if (wishes == usual.of<InverseState>().wishes) return std::nullopt;
         std::string text;
         for (const auto& [query, key, weight] : wishes)
             text += (text.empty() ? "" : ",") + std::to_string(query) + "." + std::to_string(key) + ":" +
                     shortest(weight);
         return text;
     }},
    {"inverse.pattern", "a pattern and its number of tokens, as previous,8",
     [](State& s, const std::string& text) {
         return read_into(s, [&](InverseState& next) { return read_pattern(next.pattern, text); });
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         const Pattern &pattern = s.of<InverseState>().pattern, &was = usual.of<InverseState>().pattern;
         if (pattern.kind == was.kind && pattern.tokens == was.tokens && pattern.painted == was.painted)
             return std::nullopt;
         std::string text = std::string(pattern_keys[static_cast<std::size_t>(pattern.kind)]) + "," +
                            std::to_string(pattern.tokens);
         if (pattern.kind == PatternKind::painted) text += "," + write_cells(pattern.painted);
         return text;
     }},
    {"inverse.seed", "a seed",
     [](State& s, const std::string& text) {
         return read_into(s, [&](InverseState& next) {
             const auto seed = read_integer<std::uint32_t>(text);
             if (seed) next.pattern.seed = *seed;
             return seed.has_value();
         });
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         const std::uint32_t seed = s.of<InverseState>().pattern.seed;
         if (seed == usual.of<InverseState>().pattern.seed) return std::nullopt;
         return std::to_string(seed);
     }},
    {"inverse.d", "a number of components from 1 to the pattern's tokens",
     [](State& s, const std::string& text) {
         return read_into(s, [&](InverseState& next) {
             const auto components = read_integer<Index>(text);
             if (components) next.components = *components;
             return components.has_value();
         });
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         const Index components = s.of<InverseState>().components;
         if (components == usual.of<InverseState>().components) return std::nullopt;
         return std::to_string(components);
     }},
};

}  // namespace

LinkRows inverse_links() { return {inverse_rows}; }

std::vector<std::uint8_t> cells_of(const Pattern& pattern) {
    if (pattern.kind == PatternKind::painted) return pattern.painted;
    const Index n = pattern.tokens;
    std::vector<Index> looked_at(static_cast<std::size_t>(n));
    std::iota(looked_at.begin(), looked_at.end(), Index{0});
    Random random(pattern.seed);
    if (pattern.kind == PatternKind::permutation)  // Fisher and Yates
        for (Index i = n - 1; i > 0; --i)
            std::swap(looked_at[static_cast<std::size_t>(i)],
                      looked_at[static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(i + 1)))]);
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(n * n));
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
            bool on = j == looked_at[static_cast<std::size_t>(i)];
            if (pattern.kind == PatternKind::previous) on = j == std::max<Index>(i - 1, 0);
            if (pattern.kind == PatternKind::first) on = j == 0;
            if (pattern.kind == PatternKind::blocks) on = i / pattern_block == j / pattern_block;
            cells[static_cast<std::size_t>(i * n + j)] = on;
        }
    return cells;
}

std::vector<double> target_of(const Pattern& pattern) {
    const std::vector<std::uint8_t> cells = cells_of(pattern);
    std::vector<double> target(cells.begin(), cells.end());
    for (auto row = target.begin(); row != target.end(); row += pattern.tokens) {
        const double sum = std::accumulate(row, row + pattern.tokens, 0.0);
        for (auto cell = row; sum > 0 && cell != row + pattern.tokens; ++cell) *cell /= sum;
    }
    return target;
}

const CellWish* InverseState::wish_of(Index query, Index key) const {
    const auto found = std::ranges::find_if(
        wishes, [&](const CellWish& wish) { return wish.query == query && wish.key == key; });
    return found == wishes.end() ? nullptr : &*found;
}

void InverseState::wish(Index query, Index key, double weight) {
    forget(query, key);
    const auto place = [](const CellWish& wish) { return std::pair(wish.query, wish.key); };
    wishes.insert(std::ranges::lower_bound(wishes, std::pair(query, key), {}, place), {query, key, weight});
}

void InverseState::forget(Index query, Index key) {
    std::erase_if(wishes, [&](const CellWish& wish) { return wish.query == query && wish.key == key; });
}

Status SetInverse::apply(State& state) const {
    if (inverse.wishes.size() > wish_limit)
        return Error{"There are at most " + std::to_string(wish_limit) + " wishes. Take one back first."};
    for (std::size_t i = 0; i < inverse.wishes.size(); ++i) {
        const auto [query, key, weight] = inverse.wishes[i];
        const bool ordered = i == 0 || std::pair(inverse.wishes[i - 1].query, inverse.wishes[i - 1].key) <
                                           std::pair(query, key);
        if (query < 0 || query >= position_limit || key < 0 || key >= position_limit || !ordered)
            return Error{"There is no such cell to wish something for."};
        if (!(weight > 0 && weight < 1))
            return Error{
                "A weight can be wished between 0 and 1, but not 0 or 1: scores would have to be infinite."};
    }
    const Pattern& pattern = inverse.pattern;
    if (pattern.tokens < pattern_least || pattern.tokens > pattern_limit)
        return Error{"A pattern has 2 to 16 tokens."};
    const bool painted = pattern.kind == PatternKind::painted;
    if (std::ssize(pattern.painted) != (painted ? pattern.tokens * pattern.tokens : 0) ||
        std::ranges::any_of(pattern.painted, [](std::uint8_t cell) { return cell > 1; }))
        return Error{"A painted pattern has a cell for each query and key."};
    if (inverse.components < 1 || inverse.components > pattern_limit)
        return Error{"A fit has 1 to 16 components."};
    state.edit<InverseState>() = inverse;
    return ok();
}

std::string SetInverse::describe(const State& before) const {
    const InverseState& was = before.of<InverseState>();
    if (inverse.of != was.of) return std::string("change ") + info(inverse.of).label;
    if (inverse.pattern != was.pattern)
        return "pattern " + std::string(pattern_keys[static_cast<std::size_t>(inverse.pattern.kind)]);
    if (inverse.components != was.components) return "d_k " + std::to_string(inverse.components);
    for (const CellWish& wish : inverse.wishes)
        if (const CellWish* then = was.wish_of(wish.query, wish.key); !then || *then != wish)
            return "wish " + shortest(wish.weight) + " for key " + std::to_string(wish.key) + " of query " +
                   std::to_string(wish.query);
    return inverse.wishes.empty() ? "no wish" : "one wish fewer";
}

Status MakeItSo::apply(State& state) const {
    for (const Command& edit : edits)
        if (const Status done = edit.apply(state); !done) return done;
    return ok();
}

}  // namespace attn::app
