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
    return cell;
}

constexpr std::array<std::string_view, 4> total_keys{"row_entropy", "row_total", "column_total",
                                                     "marked_total"};

std::string write_own(const LensCell& cell) {
    const LensEntry* lens = lens_with(*cell.kind);
    std::string text = std::string(lens ? lens->key : "") + "." + std::string(cell.kind->name);
    for (std::size_t i = 0; i < cell.kind->rank(); ++i) {
        const auto& words = cell.kind->axes[i].words;
        const Index at = cell.at[i];
        text += "." + (words.empty() ? std::to_string(at) : std::string(words[static_cast<std::size_t>(at)]));
    }
    return text;
}

// Reads what follows the indices of a number of a run, or of a sum.
template <class Cell>
std::optional<CellRef> read_variant(Cell cell, std::span<const std::string_view> parts) {
    for (const auto& part : parts) {
        const auto unit = read_unit(part);
        const auto mean = read_mean(part);
        if (part == "second" && !cell.second && cell.unit == Unit::tokens)
            cell.second = true;
        else if (unit && *unit != Unit::tokens && !cell.second && cell.unit == Unit::tokens)
            cell.unit = *unit;
        else if (mean && *mean != HeadMean::one && !cell.second && cell.mean == HeadMean::one)
            cell.mean = *mean;
        else if (part == sink_key(Sink::hidden) && cell.sink == Sink::shown)
            cell.sink = Sink::hidden;
        else if (part == sink_key(Sink::renormalised) && cell.sink == Sink::shown)
            cell.sink = Sink::renormalised;
        else
            return std::nullopt;
    }
    return cell;
}
template <class Cell>
std::string write_variant(const Cell& cell) {
    std::string text = cell.second ? ".second" : "";
    if (cell.unit != Unit::tokens) text.append(".").append(unit_key(cell.unit));
    if (cell.sink != Sink::shown) text.append(".").append(sink_key(cell.sink));
    if (cell.mean != HeadMean::one) text.append(".").append(mean_key(cell.mean));
    return text;
}

}  // namespace

std::string write_cell(const CellRef& cell) {
    if (const LensCell* own = cell.own()) return write_own(*own);
    if (const MapSum* sum = cell.sum())
        return std::string(total_keys[static_cast<std::size_t>(sum->total)]) + "." + std::to_string(sum->at) +
               "." + std::to_string(number_of_pairs(sum->of)) + write_variant(*sum);
    const RunCell& run = *cell.run();
    return std::string(run.stage == Stage::raw ? "scores" : info(run.stage).key) + "." +
           std::to_string(run.row) + "." + std::to_string(run.col) + write_variant(run);
}

std::optional<CellRef> read_cell(std::string_view text, const State& state) {
    const auto parts = split(text, '.');
    if (parts.size() < 2) return std::nullopt;
    const auto row = read_integer<Index>(parts[1]);
    if (!row) return read_own(parts);  // the word names a kind of number
    const auto col = parts.size() > 2 ? read_integer<Index>(parts[2]) : std::nullopt;
    if (!col) return std::nullopt;
    const auto rest = std::span(parts).subspan(3);
    if (const auto stage = stage_by_key(parts[0])) return read_variant(RunCell{*stage, *row, *col}, rest);
    if (const auto total = std::ranges::find(total_keys, parts[0]); total != total_keys.end()) {
        const auto of = stage_of_pairs(*col);
        return of ? read_variant(MapSum{static_cast<MapTotal>(total - total_keys.begin()), *row, *of}, rest)
                  : std::nullopt;
    }
    const LensEntry* lens = find_lens(state.lens);
    if (!lens || !rest.empty()) return std::nullopt;
    if (parts[0] == "number") return lens->packed_cell ? lens->packed_cell(*row, *col) : std::nullopt;
    return lens->measured_cell ? lens->measured_cell(state, parts[0], *row, *col) : std::nullopt;
}

}  // namespace attn::app
