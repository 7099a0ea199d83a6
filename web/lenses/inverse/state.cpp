// Defines the settings of lens Make it so, and the commands that change them.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "lenses/inverse/inverse.hpp"

namespace attn::app::inverse {

namespace {

constexpr std::array<std::string_view, pattern_kind_count> pattern_keys{"previous", "itself",      "first",
                                                                        "blocks",   "permutation", "painted"};

// Reads "2.0:0.9,2.3:0.05".
std::optional<std::vector<CellWish>> read_wishes(std::string_view text) {
    std::vector<CellWish> wishes;
    for (const std::string_view part : split(text, ',')) {
        const auto sides = split(part, ':');
        const auto cell = split(sides[0], '.');
        const auto query = cell.size() == 2 ? read_integer<Index>(cell[0]) : std::nullopt;
        const auto key = cell.size() == 2 ? read_integer<Index>(cell[1]) : std::nullopt;
        const auto weight = sides.size() == 2 ? read_number(sides[1]) : std::nullopt;
        if (!query || !key || !weight) return std::nullopt;
        wishes.push_back({*query, *key, *weight});
    }
    return wishes;
}

// Reads "previous,8", "permutation,8" or "painted,8,80f1…".
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

std::string write_pattern(const Pattern& pattern) {
    std::string text = std::string(pattern_keys[static_cast<std::size_t>(pattern.kind)]) + "," +
                       std::to_string(pattern.tokens);
    if (pattern.kind == PatternKind::painted) text += "," + write_cells(pattern.painted);
    return text;
}

std::string write_wishes(const std::vector<CellWish>& wishes) {
    std::string text;
    for (const auto& [query, key, weight] : wishes)
        text += (text.empty() ? "" : ",") + std::to_string(query) + "." + std::to_string(key) + ":" +
                shortest(weight);
    return text;
}

std::optional<ChangeOf> read_change(std::string_view text) {
    for (Index i = 0; i < change_count; ++i)
        if (info(static_cast<ChangeOf>(i)).key == text) return static_cast<ChangeOf>(i);
    return std::nullopt;
}

constexpr std::array<const char*, change_count> change_names{"queries", "these keys", "all keys", "W_Q",
                                                             "W_K"};
constexpr std::string_view change_examples[] = {"key", "keys", "wq", "wk", "q"},
                           pattern_examples[] = {"previous,8", "permutation,5"},
                           wish_examples[] = {"2.0:0.9,2.3:0.05", "1.0:0.5"};

Status check(const State& state) {
    if (state.wishes.size() > wish_limit)
        return Error{"There are at most " + std::to_string(wish_limit) + " targets. Take one back first."};
    for (std::size_t i = 0; i < state.wishes.size(); ++i) {
        const auto [query, key, weight] = state.wishes[i];
        const bool ordered =
            i == 0 || std::pair(state.wishes[i - 1].query, state.wishes[i - 1].key) < std::pair(query, key);
        if (query < 0 || query >= position_limit || key < 0 || key >= position_limit || !ordered)
            return Error{"Choose a weight of this head; this cell does not exist."};
        if (!(weight > 0 && weight < 1))
            return Error{"A target must be above 0 and below 1: otherwise scores would have to be infinite."};
    }
    const Pattern& pattern = state.pattern;
    if (pattern.tokens < pattern_least || pattern.tokens > pattern_limit)
        return Error{"A pattern has 2 to 16 tokens."};
    const bool painted = pattern.kind == PatternKind::painted;
    if (std::ssize(pattern.painted) != (painted ? pattern.tokens * pattern.tokens : 0) ||
        std::ranges::any_of(pattern.painted, [](std::uint8_t cell) { return cell > 1; }))
        return Error{"A painted pattern has a cell for each query and key."};
    return ok();
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"inverse.of", [](const S& s) { return std::string("change ") + change_name(s.of); },
         spelled<&S::of, read_change, [](ChangeOf of) { return info(of).key; }>("change", change_examples)},
        {"inverse.pattern",
         [](const S& s) {
             return "pattern " + std::string(pattern_keys[static_cast<std::size_t>(s.pattern.kind)]);
         },
         FieldPart<S>{
             {.kind = FieldValue::Kind::spelled, .what = "pattern", .names = pattern_examples},
             [](const FieldValue&, S& to, std::string_view text) { return read_pattern(to.pattern, text); },
             [](const FieldValue&, const S& s) { return write_pattern(s.pattern); },
             [](const FieldValue&, const S&) { return true; },
             [](const S& a, const S& b) { return write_pattern(a.pattern) == write_pattern(b.pattern); }}},
        {"inverse.seed", "seed {}",
         whole<[](S& s) -> auto& { return s.pattern.seed; }>("seed", 0, seed_limit)},
        {"inverse.d", "d_k {}", whole<&S::components>("number of components", 1, pattern_limit)},
        {"inverse.wish",
         {"targets {}", "no target"},
         spelled<&S::wishes, read_wishes, write_wishes>("target weight of a query and a key", wish_examples)},
    };
    static const Fields<S> fields{.all = all, .check = check};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 5>()}; }

const char* change_name(ChangeOf of) { return change_names[static_cast<std::size_t>(of)]; }

const CellWish* State::wish_of(Index query, Index key) const {
    const auto found = std::ranges::find_if(
        wishes, [&](const CellWish& wish) { return wish.query == query && wish.key == key; });
    return found == wishes.end() ? nullptr : &*found;
}

void State::wish(Index query, Index key, double weight) {
    forget(query, key);
    const auto place = [](const CellWish& wish) { return std::pair(wish.query, wish.key); };
    wishes.insert(std::ranges::lower_bound(wishes, std::pair(query, key), {}, place), {query, key, weight});
}

void State::forget(Index query, Index key) {
    std::erase_if(wishes, [&](const CellWish& wish) { return wish.query == query && wish.key == key; });
}

}  // namespace attn::app::inverse
