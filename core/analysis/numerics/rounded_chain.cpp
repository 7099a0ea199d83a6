#include "analysis/numerics/rounded_chain.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {

namespace {

constexpr Index most_queries = 32, most_cells = 16'384, numbers_a_step = 16'384;

}  // namespace

double error_of(ErrorMeasure measure, double value, double exact) {
    if (!std::isfinite(value) || !std::isfinite(exact)) return NAN;
    const double off = std::abs(value - exact);
    return measure == ErrorMeasure::absolute ? off : exact == 0 ? NAN : off / std::abs(exact);
}

void StageErrors::add(const ChainCell& at, double value, double exact) {
    ++count;
    if (value == 0 && exact != 0) ++vanished;
    if (!std::isfinite(value) && std::isfinite(exact)) {
        if (not_finite++ == 0) first_not_finite = at;
        return;
    }
    for (const ErrorMeasure measure : {ErrorMeasure::absolute, ErrorMeasure::relative}) {
        Largest& most = largest[static_cast<std::size_t>(measure)];
        if (const double error = error_of(measure, value, exact); error > most.error) most = {error, at};
    }
}

void StageErrors::add(const StageErrors& more) {
    for (std::size_t i = 0; i < largest.size(); ++i)
        if (more.largest[i].error > largest[i].error) largest[i] = more.largest[i];
    not_finite += more.not_finite;
    if (!first_not_finite) first_not_finite = more.first_not_finite;
    vanished += more.vanished;
    count += more.count;
}

ChainWindow chain_window(std::shared_ptr<const Record> record, Index head, Index query) {
    const Index queries = record->queries();
    const Index rows = std::clamp<Index>(most_cells / std::max<Index>(record->keys(), 1), 1, most_queries);
    const Index begin = query / rows * rows;
    return {std::move(record), head, {begin, std::min(begin + rows, queries)}};
}

RoundedChain::RoundedChain(ChainWindow window, const Arithmetic& arithmetic,
                           std::shared_ptr<const RoundedChain> exact)
    : window_(std::move(window)), arithmetic_(arithmetic), exact_(std::move(exact)) {}

bool RoundedChain::step() {
    if (done_) return false;
    const Record& record = *window_.record;
    const auto begun = static_cast<Index>(rows_.size());
    if (begun > 0 && !rows_.back().done()) {
        if (!rows_.back().step()) measure(rows_.back().query());
    } else if (begun < window_.queries.size()) {
        rows_.emplace_back(window_.record, window_.head, window_.queries.begin + begun, arithmetic_);
    } else {
        const Index end =
            std::min(record.keys(),
                     next_input_ + std::max<Index>(
                                       1, numbers_a_step / std::max<Index>(1, record.d_k() + record.d_v())));
        for (; next_input_ < end; ++next_input_) measure_input(next_input_);
        done_ = next_input_ == record.keys();
    }
    return !done_;
}

Index RoundedChain::columns(ChainStage stage) const {
    if (is_of_pairs(stage)) return window_.record->keys();
    if (stage == ChainStage::sum) return 1;
    const bool is_scored = stage == ChainStage::q || stage == ChainStage::k;
    return is_scored ? window_.record->d_k() : window_.record->d_v();
}

bool RoundedChain::sees(const ChainCell& cell) const {
    if (is_of_pairs(cell.stage)) return row(cell.row).sees(cell.column);
    if (!is_of_keys(cell.stage)) return true;
    return std::ranges::any_of(rows_, [&](const RoundedRow& each) { return each.sees(cell.row); });
}

double RoundedChain::at(const ChainCell& cell) const {
    if (is_of_keys(cell.stage))
        return rounded_input(*window_.record, window_.head, cell.stage, cell.row, cell.column,
                             arithmetic_.format);
    return row(cell.row).at(cell.stage, cell.column);
}

double RoundedChain::exact_at(const ChainCell& cell) const {
    if (cell.stage != ChainStage::product) return exact().at(cell);
    const Index component = row(cell.row).product_component(cell.column);
    const auto input = [&](ChainStage stage, Index of) {
        return rounded_input(*window_.record, window_.head, stage, of, component, NumberFormat::f64);
    };
    return window_.record->d_k() == 0 ? 0
                                      : input(ChainStage::q, cell.row) * input(ChainStage::k, cell.column);
}

void RoundedChain::measure(Index query) {
    ChainErrors& errors = row_errors_.emplace_back();
    const auto add = [&](ChainStage stage, Index column) {
        const ChainCell cell{stage, query, column};
        errors[number_of(stage)].add(cell, at(cell), exact_at(cell));
    };
    for (std::size_t i = 0; i < chain_stage_count; ++i) {
        const auto stage = static_cast<ChainStage>(i);
        if (is_of_keys(stage)) continue;
        if (stage == ChainStage::sum && row(query).max_key() < 0) continue;
        for (Index column = 0; column < columns(stage); ++column)
            if (!is_of_pairs(stage) || row(query).sees(column)) add(stage, column);
        errors_[i].add(errors[i]);
    }
}

void RoundedChain::measure_input(Index key) {
    for (const ChainStage stage : {ChainStage::k, ChainStage::v}) {
        if (!sees({stage, key, 0})) return;
        for (Index a = 0; a < columns(stage); ++a) {
            const ChainCell cell{stage, key, a};
            errors_[number_of(stage)].add(cell, at(cell), exact_at(cell));
        }
    }
}

// ---- Back to where it began -------------------------------------------------------------------------------

std::optional<ChainCell> RoundedChain::first_not_finite() const {
    for (const StageErrors& errors : errors_)
        if (errors.first_not_finite) return traced_back(*errors.first_not_finite).back();
    return std::nullopt;
}

// The operand that is to blame; nothing: the number itself was made here.
std::optional<ChainCell> RoundedChain::cause(const ChainCell& of) const {
    const RoundedRow& here = row(of.row);
    const auto odd = [&](ChainStage stage, Index row, Index column) -> std::optional<ChainCell> {
        const ChainCell cell{stage, row, column};
        return std::isfinite(at(cell)) ? std::nullopt : std::optional(cell);
    };
    const auto odd_key = [&](ChainStage stage) -> std::optional<ChainCell> {
        for (Index key = 0; key < window_.record->keys(); ++key)
            if (here.sees(key))
                if (const auto found = odd(stage, of.row, key)) return found;
        return std::nullopt;
    };
    const Index j = of.column;
    switch (of.stage) {
        case ChainStage::q:
        case ChainStage::k:
        case ChainStage::v: return std::nullopt;
        case ChainStage::product: {
            const Index a = here.product_component(j);
            const auto q = odd(ChainStage::q, of.row, a);
            return q ? q : odd(ChainStage::k, j, a);
        }
        case ChainStage::raw: return odd(ChainStage::product, of.row, j);
        case ChainStage::scaled: return odd(ChainStage::raw, of.row, j);
        case ChainStage::capped: return odd(ChainStage::scaled, of.row, j);
        case ChainStage::masked: return odd(ChainStage::capped, of.row, j);
        case ChainStage::shifted: {
            const auto own = odd(ChainStage::masked, of.row, j);
            return own || !arithmetic_.is_shifted() ? own : odd(ChainStage::masked, of.row, here.max_key());
        }
        case ChainStage::exponential: return odd(ChainStage::shifted, of.row, j);
        case ChainStage::sum: {
            if (here.at(ChainStage::sum, 0) != 0) return odd_key(ChainStage::exponential);
            return ChainCell{ChainStage::exponential, of.row, here.max_key()};
        }
        case ChainStage::weight: {
            const auto own = odd(ChainStage::exponential, of.row, j);
            if (own) return own;
            const double sum = here.at(ChainStage::sum, 0);
            return std::isfinite(sum) && sum != 0 ? std::nullopt
                                                  : std::optional(ChainCell{ChainStage::sum, of.row, 0});
        }
        case ChainStage::output: break;
    }
    if (const auto weight = odd_key(ChainStage::weight)) return weight;
    for (Index key = 0; key < window_.record->keys(); ++key)
        if (here.sees(key))
            if (const auto value = odd(ChainStage::v, key, j)) return value;
    return std::nullopt;
}

std::vector<ChainCell> RoundedChain::traced_back(const ChainCell& from) const {
    std::vector<ChainCell> way{from};
    while (!is_of_keys(way.back().stage)) {
        const auto next = cause(way.back());
        if (!next) break;
        way.push_back(*next);
    }
    return way;
}

// ---- Extremes ---------------------------------------------------------------------------------------------

std::array<std::optional<ExtremeAt>, extreme_count> extremes(const RoundedChain& exact, bool with_values) {
    std::array<std::optional<ExtremeAt>, extreme_count> all;
    const ChainWindow& window = exact.window();
    const Record& record = *window.record;
    const auto take = [&](Extreme which, double log2, const ChainCell& at) {
        auto& kept = all[static_cast<std::size_t>(which)];
        const bool is_least = which >= Extreme::least_exponential;
        if (std::isnan(log2)) return;
        if (!kept || (is_least ? log2 < kept->log2 : log2 > kept->log2)) kept = {log2, at};
    };
    // The largest of some numbers, whose logarithm is taken once.
    const auto take_largest = [&](Extreme which, ChainStage stage, Index row, Index columns, auto&& sees) {
        double most = -1;
        ChainCell at;
        for (Index column = 0; column < columns; ++column) {
            const ChainCell cell{stage, row, column};
            if (!sees(column)) continue;
            if (const double size = std::abs(exact.at(cell)); size > most) {
                most = size;
                at = cell;
            }
        }
        if (most >= 0) take(which, std::log2(most), at);
    };
    const auto all_of_them = [](Index) { return true; };
    for (Index query = window.queries.begin; query < window.queries.end; ++query) {
        const RoundedRow& row = exact.row(query);
        const auto sees = [&](Index key) { return row.sees(key); };
        take_largest(Extreme::largest_q, ChainStage::q, query, record.d_k(), all_of_them);
        if (row.max_key() < 0) continue;
        take_largest(Extreme::largest_raw, ChainStage::raw, query, record.keys(), sees);
        take_largest(Extreme::largest_score, ChainStage::masked, query, record.keys(), sees);
        double sum = 0, least = 0;
        ChainCell highest{ChainStage::masked, query, row.max_key()}, lowest = highest;
        for (Index key = 0; key < record.keys(); ++key) {
            if (!row.sees(key)) continue;
            const double below = row.at(ChainStage::masked, key) - row.max();
            sum += std::exp(below);
            if (!(below < least)) continue;
            least = below;
            lowest.column = key;
        }
        constexpr double bits_of_e = std::numbers::log2e;
        take(Extreme::largest_exponential, row.max() * bits_of_e, highest);
        take(Extreme::largest_sum, row.max() * bits_of_e + std::log2(sum), highest);
        take(Extreme::least_exponential, least * bits_of_e, lowest);
        take(Extreme::least_weight, least * bits_of_e - std::log2(sum), lowest);
    }
    for (Index key = 0; key < record.keys(); ++key) {
        if (!exact.sees({ChainStage::k, key, 0})) continue;
        take_largest(Extreme::largest_k, ChainStage::k, key, record.d_k(), all_of_them);
        if (with_values) take_largest(Extreme::largest_v, ChainStage::v, key, record.d_v(), all_of_them);
    }
    return all;
}

}  // namespace attn
