#include "subjects/explain_sums.hpp"

#include <cmath>

#include "app/format.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// More would stall the page, because each cell is explained by all products of its row.
constexpr Index most_cells = 1024;
constexpr double most_products = 1e7;

std::string ends_of(Range range) {
    return std::to_string(range.begin) + " to " + std::to_string(range.end - 1);
}

// The result of a BlockJob over the whole window.
struct Shown {
    double cells = 0, sum = 0, entropy = 0;
    float strongest = masked_cell;
};
Shown shown_by(const BlockJob& job, bool is_signed) {
    Shown all;
    for (const double sum : job.sums().queries) all.sum += sum;
    for (const double entropy : job.sums().entropies) all.entropy += entropy;
    for (const float count : job.blocks().count) all.cells += static_cast<double>(count);
    for (const float value : job.blocks().strongest) {
        const bool stronger = is_signed ? std::abs(value) > std::abs(all.strongest) : value > all.strongest;
        if (value != masked_cell && (all.strongest == masked_cell || stronger)) all.strongest = value;
    }
    return all;
}

}  // namespace

std::optional<MapSumExplainer::Part> MapSumExplainer::part_of(Attention& attention, const HeadIndex& head,
                                                              const MapSum& sum,
                                                              const std::optional<Window>& marked,
                                                              const std::vector<TokenSpan>& spans) {
    if (attention.stage_for(sum.of) != sum.of || attention.being_measured(sum.of)) return std::nullopt;
    Part part{attention.version(), head, sum, marked, {.stage = sum.of, .sink = sum.sink}, nullptr, {}};
    part.choice.unit = sum.unit;
    part.choice.mean = sum.mean;
    part.choice.spans = spans;
    const HeadMaps maps = attention.shown_maps(part.choice);
    part.map = maps ? maps(head.layer, head.head) : nullptr;
    if (!part.map || attention.unit_of(part.choice) != sum.unit || attention.mean_of(part.choice) != sum.mean)
        return std::nullopt;
    part.window = whole(*part.map);
    const auto narrow = [](Range& to, Range from) {
        const bool within = from.begin >= 0 && from.end <= to.end && from.size() > 0;
        to = from;
        return within;
    };
    const Range one{sum.at, sum.at + 1};
    bool there = false;
    if (sum.is_of_column())
        there = narrow(part.window.keys, one);
    else if (sum.is_of_row())
        there = narrow(part.window.queries, one);
    else if (marked)
        there = narrow(part.window.queries, marked->queries) && narrow(part.window.keys, marked->keys);
    return there ? std::optional(std::move(part)) : std::nullopt;
}

std::optional<Explained> MapSumExplainer::of(Visit& visit, Attention& attention, const HeadIndex& head,
                                             const MapSum& sum, const CellExplainer& cell_at) {
    const std::optional<Window>& marked = looks_of(visit.state()).marked;
    const std::vector<TokenSpan>& spans = looks_of(visit.state()).map.spans;
    if (!part_ || part_->choice.spans != spans || part_->version != attention.version() ||
        part_->head != head || part_->sum != sum || part_->marked != marked) {
        kept_.reset();
        job_.reset();
        part_ = part_of(attention, head, sum, marked, spans);
        if (!part_) return std::nullopt;
        job_.emplace(part_->map, part_->window, tile_side, tile_side);
    }
    if (kept_) return kept_;
    constexpr int slices = 4;  // per frame
    for (int i = 0; i < slices && job_->step(); ++i) continue;
    Explained out = explained(attention, cell_at);
    if (job_->done()) {
        kept_ = out;
        job_.reset();
        part_->map.reset();  // because a closed subject would keep its numbers in memory
    } else {
        visit.continue_with([this] { return job_ && job_->step(); });
    }
    return out;
}

Explained MapSumExplainer::explained(Attention& attention, const CellExplainer& cell_at) const {
    const HeadIndex& head = part_->head;
    const MapSum& added = part_->sum;
    const MapWindow& window = part_->window;
    const bool of_row = added.is_of_row(), of_column = added.is_of_column(),
               entropy = added.total == MapTotal::row_entropy;
    const ShownAxis queries = attention.query_axis(part_->choice), keys = attention.key_axis(part_->choice);
    const auto name_of = [&](const ShownAxis& axis, Index i) {
        const std::string name = label_at(axis.names, i);
        return attention.has_tokens() ? in_quotes(name) : name;
    };
    const std::string of_map(symbol(part_->choice.stage));
    const std::string where = of_row ? name_of(queries, added.at) + ", ·"
                              : of_column
                                  ? "·, " + name_of(keys, added.at)
                                  : "queries " + ends_of(window.queries) + ", keys " + ends_of(window.keys);
    Explained out;
    out.title = (entropy ? "Entropy of " : "Σ ") + of_map + "[" + where + "]";
    out.provenance = (added.mean == HeadMean::one ? head_text(head, attention.numbering(), ", ")
                                                  : mean_text(attention, added.mean, head)) +
                     " · " + attention.title();
    out.formula = entropy     ? "−Σ_j w ln w, w = " + of_map + "[" + name_of(queries, added.at) + ", j]"
                  : of_row    ? "Σ_j " + of_map + "[" + name_of(queries, added.at) + ", j]"
                  : of_column ? "Σ_i " + of_map + "[i, " + name_of(keys, added.at) + "]"
                              : "Σ_i Σ_j " + of_map + "[i, j]";
    if (!job_->done()) {
        out.f32 = out.f64 = std::nan("");
        out.recomputed = false;
        out.note = "Adding it up: " + percent(job_->progress()) + ".";
        return out;
    }
    const Shown shown = shown_by(*job_, part_->map->is_signed());
    out.f32 = entropy ? shown.entropy : shown.sum;
    if (entropy) out.unit = "nats";

    const auto record = attention.record(head.layer);
    const Index cells = window.queries.size() * window.keys.size();
    const double products =
        static_cast<double>(attention.meant(added.mean, head).size()) *
        (record ? static_cast<double>(record->keys()) * static_cast<double>(record->d_k()) : 1);
    out.recomputed = cells <= most_cells && static_cast<double>(cells) * products <= most_products;
    std::optional<CellPlace> strongest_at;
    for (Index q = window.queries.begin; out.recomputed && q < window.queries.end; ++q)
        for (Index k = window.keys.begin; k < window.keys.end; ++k) {
            const CellPlace at{head,
                               RunCell{added.of, q, k, added.second, added.unit, added.sink, added.mean}};
            const auto why = cell_at(at);
            if (!why || why->masked) continue;
            if (!strongest_at && part_->map->cell(q, k) == shown.strongest) strongest_at = at;
            const double right = !entropy ? 1 : why->f64 > 0 ? -std::log(why->f64) : 0;
            out.operands.push_back({of_row      ? name_of(keys, k)
                                    : of_column ? name_of(queries, q)
                                                : name_of(queries, q) + "→" + name_of(keys, k),
                                    why->f64, right, why->f64 * right, at});
            out.f64 += out.operands.back().product;
        }
    if (!out.recomputed) {
        out.f64 = out.f32;
        out.note = "There are " + with_commas(cells) +
                   " cells here, too many to go through each of them again in double.";
    }
    out.operands_title = entropy ? "Weights · −ln of them" : "Its cells";
    out.left_name = entropy ? "weights" : "cells";
    out.right_name = entropy ? "logs" : "ones";
    if (out.recomputed) out.line("sum", entropy ? out.dot() : out.sum());
    const std::string count = with_commas(static_cast<std::ptrdiff_t>(shown.cells));
    out.steps.push_back({"cells", "that are not masked", count, false});
    out.steps.push_back({entropy ? "entropy" : "sum", entropy ? "in nats" : "", four(out.f64), true});
    if (added.total == MapTotal::marked_total && shown.cells > 0) {
        out.steps.push_back({"mean", four(out.f64) + " / " + count, four(out.f64 / shown.cells), false});
        out.steps.push_back(
            {"strongest", "", four(static_cast<double>(shown.strongest)), false, strongest_at});
    }
    return out;
}

}  // namespace attn::app
