#include "attention/edit.hpp"

#include <algorithm>
#include <ranges>

#include "attention/record.hpp"

namespace attn {

namespace {

// Calls f(column, its place among the edit's columns) for those in the range.
template <class F>
void for_each_column(const Edit& edit, Range range, F f) {
    if (edit.columns.empty()) {
        for (Index column = range.begin; column < range.end; ++column) f(column, column);
        return;
    }
    const auto begin = edit.columns.begin();
    for (auto at = std::lower_bound(begin, edit.columns.end(), range.begin);
         at != edit.columns.end() && *at < range.end; ++at)
        f(*at, at - begin);
}

// The place of a row among the edit's rows.
Index place_of(const Edit& edit, Index row) {
    return std::ranges::lower_bound(edit.rows, row) - edit.rows.begin();
}

// The values of a row by the place of their column.
class RowValues {
  public:
    RowValues(const Edit& edit, Index row) : values_(edit.values) {
        const std::size_t width = edit.columns.size();
        if (values_.size() > std::max<std::size_t>(width, 1))
            values_ = values_.subspan(static_cast<std::size_t>(place_of(edit, row)) * width, width);
    }
    float operator[](Index place) const {
        return values_[values_.size() == 1 ? 0 : static_cast<std::size_t>(place)];
    }

  private:
    std::span<const float> values_;
};

template <class Real>
Real result(Operation operation, const RowValues& values, Index place, Real computed) {
    switch (operation) {
        case Operation::zero: return 0;
        case Operation::scale: return computed * static_cast<Real>(values[place]);
        case Operation::add: return computed + static_cast<Real>(values[place]);
        default: return static_cast<Real>(values[place]);
    }
}

// The derivative of the edited number by what was computed.
float slope(const Edit& edit) {
    switch (edit.operation) {
        case Operation::scale: return edit.values.front();
        case Operation::add: return 1;
        default: return 0;
    }
}

}  // namespace

bool Edit::touches(Index of_head, Index row) const {
    return (!head || *head == of_head) && (rows.empty() || std::ranges::binary_search(rows, row));
}

void change(const Edit& edit, HeadsView<float> numbers, Index first_row) {
    for (Index head = 0; head < numbers.heads; ++head)
        for (Index r = 0; r < numbers.rows; ++r) {
            const Index row = first_row + r;
            if (!edit.touches(head, row)) continue;
            const RowValues values(edit, row);
            float* const to = numbers.head(head).row(r);
            for_each_column(edit, {0, numbers.cols}, [&](Index column, Index place) {
                to[column] = result(edit.operation, values, place, to[column]);
            });
        }
}

std::optional<double> changed(const Edit& edit, double computed, Index head, Index row, Index column) {
    std::optional<double> out;
    if (edit.touches(head, row))
        for_each_column(edit, {column, column + 1}, [&](Index, Index place) {
            out = result(edit.operation, RowValues(edit, row), place, computed);
        });
    return out;
}

float slope_of(const Edit& edit, Index head, Index row, Index column) {
    const bool in_column = edit.columns.empty() || std::ranges::binary_search(edit.columns, column);
    return in_column && edit.touches(head, row) ? slope(edit) : 1;
}

void change_back(const Edit& edit, HeadsView<float> gradient, Index first_row) {
    const float factor = slope(edit);
    for (Index head = 0; head < gradient.heads; ++head)
        for (Index r = 0; r < gradient.rows; ++r) {
            if (!edit.touches(head, first_row + r)) continue;
            float* const of_row = gradient.head(head).row(r);
            for_each_column(edit, {0, gradient.cols}, [&](Index column, Index) { of_row[column] *= factor; });
        }
}

bool touches(const CellEdits& edits, CellEdit::Of of, Index head, Index query) {
    return std::ranges::any_of(
        edits, [&](const CellEdit& each) { return each.of == of && each.edit.touches(head, query); });
}

bool needs_whole_row(const CellEdits& edits, Index head, Index query) {
    return std::ranges::any_of(edits, [&](const CellEdit& each) {
        return each.edit.operation == Operation::mean && each.edit.touches(head, query);
    });
}

namespace {

template <class Real>
Real mean_of_seen(std::span<const Real> row, std::span<const std::uint8_t> seen) {
    double sum = 0;
    Index count = 0;
    for (std::size_t j = 0; j < row.size(); ++j)
        if (seen[j]) {
            sum += static_cast<double>(row[j]);
            ++count;
        }
    return count == 0 ? Real{0} : static_cast<Real>(sum / static_cast<double>(count));
}

// The other runs' numbers at these cells, or their mean.
std::vector<float> taken_from(const CellEdit& each, Index head, Index query, Range keys) {
    const auto count = static_cast<std::size_t>(keys.size());
    std::vector<double> sums(count);
    std::vector<float> row(count);
    const std::vector<Index>& rows = each.edit.from_rows;
    const Index from = rows.empty() ? query : rows[static_cast<std::size_t>(place_of(each.edit, query))];
    for (const auto& record : each.from) {
        record->stage(each.of == CellEdit::Of::score ? Stage::masked : Stage::weight, head, {from, from + 1},
                      keys, row);
        for (std::size_t j = 0; j < count; ++j) sums[j] += static_cast<double>(row[j]);
    }
    for (std::size_t j = 0; j < count; ++j)
        row[j] = static_cast<float>(sums[j] / static_cast<double>(each.from.size()));
    return row;
}

// The keys among these that the other runs have; the edit has no others.
Range keys_of(const CellEdit& each, Range keys) {
    if (!each.from.empty()) keys.end = std::min(keys.end, each.from.front()->keys());
    return keys;
}

// The columns that an edit changes, of its keys; of weights those that are seen.
template <class F>
void for_each_cell(const CellEdit& each, Range keys, std::span<const std::uint8_t> seen, F f) {
    const Index first = keys.begin;
    for_each_column(each.edit, keys, [&](Index key, Index place) {
        const auto j = static_cast<std::size_t>(key - first);
        if (each.of == CellEdit::Of::score || seen[j]) f(j, place);
    });
}

template <class Real>
void change_row(const CellEdits& edits, CellEdit::Of of, Index head, Index query, Index first_key,
                std::span<Real> row, std::span<const std::uint8_t> seen) {
    for (const CellEdit& each : edits) {
        if (each.of != of || !each.edit.touches(head, query)) continue;
        const Range keys = keys_of(each, {first_key, first_key + std::ssize(row)});
        const auto set = [&](auto value) {
            for_each_cell(each, keys, seen, [&](std::size_t j, Index place) { row[j] = value(j, place); });
        };
        if (keys.size() <= 0) continue;
        if (each.edit.operation == Operation::mean) {
            const Real mean = mean_of_seen<Real>(row, seen);
            set([&](std::size_t, Index) { return mean; });
        } else if (!each.from.empty()) {
            const std::vector<float> taken = taken_from(each, head, query, keys);
            set([&](std::size_t j, Index) { return static_cast<Real>(taken[j]); });
        } else {
            const RowValues values(each.edit, query);
            set([&](std::size_t j, Index place) {
                return result(each.edit.operation, values, place, row[j]);
            });
        }
    }
}

template <class Real>
void change_row_back(const CellEdits& edits, CellEdit::Of of, Index head, Index query,
                     std::span<Real> gradient, std::span<const std::uint8_t> seen) {
    for (const CellEdit& each : std::views::reverse(edits)) {
        if (each.of != of || !each.edit.touches(head, query)) continue;
        const auto factor = static_cast<Real>(slope(each.edit));
        Real stopped = 0;
        for_each_cell(each, keys_of(each, {0, std::ssize(gradient)}), seen, [&](std::size_t j, Index) {
            stopped += gradient[j];
            gradient[j] *= factor;
        });
        const auto count =
            static_cast<Real>(std::ranges::count_if(seen, [](std::uint8_t bit) { return bit != 0; }));
        if (each.edit.operation != Operation::mean || count == 0) continue;
        for (std::size_t j = 0; j < seen.size(); ++j)
            if (seen[j]) gradient[j] += stopped / count;
    }
}

}  // namespace

void change_cells(const CellEdits& edits, CellEdit::Of of, Index head, Index query, Index first_key,
                  std::span<float> row, std::span<const std::uint8_t> seen) {
    change_row(edits, of, head, query, first_key, row, seen);
}

void change_cells(const CellEdits& edits, CellEdit::Of of, Index head, Index query, Index first_key,
                  std::span<double> row, std::span<const std::uint8_t> seen) {
    change_row(edits, of, head, query, first_key, row, seen);
}

void change_cells_back(const CellEdits& edits, CellEdit::Of of, Index head, Index query,
                       std::span<float> gradient, std::span<const std::uint8_t> seen) {
    change_row_back(edits, of, head, query, gradient, seen);
}

void change_cells_back(const CellEdits& edits, CellEdit::Of of, Index head, Index query,
                       std::span<double> gradient, std::span<const std::uint8_t> seen) {
    change_row_back(edits, of, head, query, gradient, seen);
}

}  // namespace attn
