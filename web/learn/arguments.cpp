#include "learn/arguments.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/catalogue.hpp"
#include "app/link_text.hpp"
#include "io/quote.hpp"
#include "subjects/reading.hpp"

namespace attn::app::learn {

namespace {

using lesson::Value;

struct Alias {
    std::string_view name;
    Stage stage;
};
// What lessons call stages whose keys are those of matrices.
constexpr Alias aliases[] = {{"q", Stage::q},       {"k", Stage::k},       {"v", Stage::v},
                             {"x", Stage::x},       {"score", Stage::raw}, {"out", Stage::output},
                             {"scores", Stage::raw}};

std::optional<Index> whole(const Value& value) {
    const double* number = std::get_if<double>(&value);
    if (number == nullptr || *number != std::floor(*number) || std::abs(*number) > 1e9) return std::nullopt;
    return static_cast<Index>(*number);
}

// Removes quotation marks and the marks of a space.
std::string bare(std::string_view name) {
    constexpr std::string_view space_marks[] = {"·", "␣", "▁", "Ġ", " "};
    for (bool cut = true; cut;) {
        cut = false;
        for (const std::string_view mark : space_marks)
            if (name.starts_with(mark) && name.size() > mark.size()) {
                name.remove_prefix(mark.size());
                cut = true;
            }
    }
    return std::string(name);
}

Result<Index> token_called(const std::vector<std::string>& names, const std::string& word) {
    std::optional<Index> found;
    for (Index i = 0; i < std::ssize(names); ++i) {
        const std::string& name = names[static_cast<std::size_t>(i)];
        if (name != word && bare(name) != bare(word)) continue;
        if (found)
            return Error{"Several tokens are " + quote(word) + "; give the position of one, counted from 0."};
        found = i;
    }
    if (!found) return Error{"No token is " + quote(word) + "."};
    return *found;
}

// A row or a column that is not a token.
Result<Index> number_at(const Value& given) {
    const auto index = whole(given);
    if (!index || *index < 0) return Error{"A component is a whole number from 0 on."};
    return *index;
}

std::string without_quotes(std::string text) {
    for (const std::string_view mark : {"“", "”"})
        if (const auto at = text.find(mark); at != std::string::npos) text.erase(at, mark.size());
    return text;
}

}  // namespace

Result<Index> token_at(const Attention& attention, const Value& given, Side side) {
    const auto& names = side == Side::query ? attention.query_names() : attention.key_names();
    if (const std::string* word = std::get_if<std::string>(&given)) return token_called(names, *word);
    const auto index = whole(given);
    const Index count = side == Side::query ? attention.queries() : attention.keys();
    if (!index || *index < 0 || *index >= count)
        return Error{"A token is a word or a position from 0 to " + std::to_string(count - 1) + "."};
    return *index;
}

std::string query_in_words_alone(const Attention& attention, Index query) {
    return without_quotes(query_in_words(attention, query));
}
std::string key_in_words_alone(const Attention& attention, Index key) {
    return without_quotes(key_in_words(attention, key));
}

std::optional<Stage> stage_called(std::string_view name) {
    const auto alias = std::ranges::find(aliases, name, &Alias::name);
    if (alias != std::end(aliases)) return alias->stage;
    const auto stage = stage_by_key(name);
    // Measured numbers have names of their own.
    return stage && !is_measured(*stage) ? stage : std::nullopt;
}

std::span<const std::string_view> stage_names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const Alias& each : aliases) all.push_back(each.name);
        for (const StageInfo& each : stage_table)
            if (!is_measured(each.stage)) all.push_back(each.key);
        return all;
    }();
    return names;
}

Result<RunCell> stage_cell(const Attention& attention, Stage stage, std::span<const Value> given) {
    if (given.size() != 2) return Error{"This number has a row and a column."};
    const bool of_keys =
        stage == Stage::k || stage == Stage::v || stage == Stage::value_out || stage == Stage::k_pre_rope;
    const bool has_names = rows_are_tokens(stage);
    const auto row =
        has_names ? token_at(attention, given[0], of_keys ? Side::key : Side::query) : number_at(given[0]);
    if (!row) return row.error();
    const bool of_pairs = is_of_pairs(stage) || stage == Stage::exponential;
    const auto col = of_pairs ? token_at(attention, given[1], Side::key) : number_at(given[1]);
    if (!col) return col.error();
    return RunCell{.stage = stage, .row = *row, .col = *col};
}

Result<CellRef> lens_cell(const Attention& attention, std::string_view name, std::span<const Value> given) {
    const std::string_view key = name.substr(0, name.find('.'));
    const LensEntry* lens = find_lens(key);
    if (lens == nullptr) return Error{"No lens is called " + quote(key) + "."};
    const std::string_view number = name.substr(std::min(key.size() + 1, name.size()));
    const auto kind = std::ranges::find(lens->cells, number, &CellKind::name);
    if (kind == lens->cells.end())
        return Error{"The lens " + std::string(lens->name) + " has no number called " + quote(number) + "."};
    if (given.size() != (*kind)->rank())
        return Error{std::string(name) + " takes " + std::to_string((*kind)->rank()) + " places."};
    LensCell cell{*kind};
    for (std::size_t i = 0; i < given.size(); ++i) {
        const CellAxis& axis = (*kind)->axes[i];
        std::optional<Index> at = whole(given[i]);
        if (const std::string* word = std::get_if<std::string>(&given[i])) {
            const auto found = std::ranges::find(axis.words, *word);
            if (found != axis.words.end())
                at = found - axis.words.begin();
            else if (const auto token =
                         token_at(attention, *word, axis.name == "query" ? Side::query : Side::key))
                at = *token;
        }
        if (!at || !axis.holds(*at))
            return Error{std::string(name) + " has no such " + std::string(axis.name) + "."};
        cell.at[i] = *at;
    }
    return CellRef(cell);
}

std::string pin_kind(const CellRef& cell) {
    const std::string whole_name = write_cell(cell);
    const std::size_t first = whole_name.find('.');
    return whole_name.substr(0, cell.own() ? whole_name.find('.', first + 1) : first);
}

std::optional<HeadRole> role_called(std::string_view name) {
    for (std::size_t i = 0; i < head_roles.size(); ++i) {
        std::string spaced(name);
        std::ranges::replace(spaced, '_', ' ');
        if (name == head_roles[i].key || spaced == head_roles[i].name ||
            spaced + " token" == head_roles[i].name ||
            std::string_view(head_roles[i].name).starts_with(spaced + " ("))
            return static_cast<HeadRole>(i);
    }
    return std::nullopt;
}

std::optional<HeadIndex> read_head(std::string_view text) {
    const auto parts = split(text, '.');
    if (parts.size() != 2) return std::nullopt;
    const auto layer = read_integer<Index>(parts[0]), head = read_integer<Index>(parts[1]);
    if (!layer || !head || *layer < 0 || *head < 0) return std::nullopt;
    return HeadIndex{*layer, *head};
}

}  // namespace attn::app::learn
