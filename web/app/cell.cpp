#include "app/cell.hpp"

#include <algorithm>

#include "app/catalogue.hpp"
#include "app/link_text.hpp"
#include "app/looks.hpp"

namespace attn::app {

namespace {

const LensEntry* lens_with(const CellKind& kind) {
    for (const LensEntry& lens : lens_list())
        if (std::ranges::find(lens.cells, &kind) != lens.cells.end()) return &lens;
    return nullptr;
}

std::optional<CellRef> read_own(std::span<const std::string_view> parts) {
    const LensEntry* lens = find_lens(parts[0]);
    if (!lens) return std::nullopt;
    const auto kind = std::ranges::find(lens->cells, parts[1], &CellKind::name);
    if (kind == lens->cells.end() || parts.size() != 2 + (*kind)->rank()) return std::nullopt;
    LensCell cell{*kind};
    for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
        const CellAxis& axis = (*kind)->axes[i];
        const std::string_view part = parts[i + 2];
        const auto word = std::ranges::find(axis.words, part);
        const auto index =
            axis.words.empty() ? read_integer<Index>(part) : std::optional(word - axis.words.begin());
        if (!index || !axis.holds(*index)) return std::nullopt;
        cell.at[i] = *index;
    }
    return CellRef{.stage = Stage::lens, .own = cell};
}

}  // namespace

std::string write_cell(const CellRef& cell) {
    if (const CellKind* kind = cell.own.kind) {
        const LensEntry* lens = lens_with(*kind);
        std::string text = std::string(lens ? lens->key : "") + "." + std::string(kind->name);
        for (std::size_t i = 0; i < kind->rank(); ++i) {
            const auto& words = kind->axes[i].words;
            const Index at = cell.own.at[i];
            text +=
                "." + (words.empty() ? std::to_string(at) : std::string(words[static_cast<std::size_t>(at)]));
        }
        return text;
    }
    return std::string(cell.stage == Stage::raw ? "scores" : info(cell.stage).key) + "." +
           std::to_string(cell.row) + "." + std::to_string(cell.col) +
           (cell.second  ? ".second"
            : cell.words ? ".words"
                         : "") +
           (cell.sink == Sink::shown ? "" : "." + std::string(sink_key(cell.sink)));
}

std::optional<CellRef> read_cell(std::string_view text, std::string_view lens) {
    const auto parts = split(text, '.');
    if (parts.size() < 2) return std::nullopt;
    const auto row = read_integer<Index>(parts[1]);
    if (!row) return read_own(parts);  // the word names a kind of number
    const auto stage = stage_by_key(parts[0]);
    const auto col = parts.size() > 2 ? read_integer<Index>(parts[2]) : std::nullopt;
    if (!stage || !col) return std::nullopt;
    if (const LensEntry* entry = find_lens(lens); *stage == Stage::lens && entry && entry->packed_cell)
        return parts.size() == 3 ? entry->packed_cell(*row, *col) : std::nullopt;
    CellRef cell{*stage, *row, *col};
    for (const auto& part : std::span(parts).subspan(3)) {
        if (part == "second" && !cell.second && !cell.words)
            cell.second = true;
        else if (part == "words" && !cell.second && !cell.words)
            cell.words = true;
        else if (part == sink_key(Sink::hidden) && cell.sink == Sink::shown)
            cell.sink = Sink::hidden;
        else if (part == sink_key(Sink::renormalised) && cell.sink == Sink::shown)
            cell.sink = Sink::renormalised;
        else
            return std::nullopt;
    }
    return cell;
}

}  // namespace attn::app
