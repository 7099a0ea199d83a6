// Writes a table for spreadsheets, for Markdown, and as a map in shades.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/format.hpp"
#include "app/table.hpp"
#include "io/csv_writer.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

constexpr std::array<const char*, 5> shades{" ", "░", "▒", "▓", "█"};
// Column widths of a map in shades, in characters; a table of many columns has room for positions only.
constexpr std::size_t least_width = 2, most_width = 7, narrow_width = 3, longest_row_name = 16;
constexpr Index most_named_columns = 32;

// In characters, assuming that all have the same width.
std::size_t width_of(std::string_view text) { return static_cast<std::size_t>(count_code_points(text)); }

std::string shortened(std::string_view text, std::size_t most) {
    std::string line = on_one_line(text);
    if (width_of(line) <= most) return line;
    return std::string(first_code_points(line, static_cast<std::ptrdiff_t>(most) - 1)) + "…";
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

std::string repeated(const char* character, std::size_t count) {
    std::string text;
    for (; count > 0; --count) text += character;
    return text;
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : on_one_line(text)) {
        if (std::string_view("\\`*_{}[]<>#|~$").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

const std::string& row_name(const Table& table, Index row) {
    return table.row_labels[static_cast<std::size_t>(row)];
}
const std::string& column_name(const Table& table, Index column) {
    return table.columns[static_cast<std::size_t>(column)];
}

// Returns the position if there is no room for the name.
std::string heading(const Table& table, Index column, std::size_t width) {
    return table.values.cols <= most_named_columns ? shortened(column_name(table, column), width)
                                                   : std::to_string(column);
}

std::size_t column_width(const Table& table) {
    if (table.values.cols > most_named_columns) return narrow_width;
    std::size_t width = least_width;
    for (const std::string& name : table.columns) width = std::max(width, width_of(name));
    return std::min(width, most_width);
}

double largest_magnitude(const Table& table) {
    double most = 0;
    for (const double value : table.values.values)
        if (std::isfinite(value)) most = std::max(most, std::abs(value));
    return most;
}

const char* shade_of(double value, double most) {
    if (value == -std::numeric_limits<double>::infinity()) return "·";
    if (!std::isfinite(value)) return "?";
    constexpr auto levels = static_cast<double>(shades.size());
    const double level = most > 0 ? std::floor(levels * std::abs(value) / most) : 0;
    return shades[static_cast<std::size_t>(std::min(level, levels - 1))];
}

std::string legend_of(const Table& table, double most) {
    std::string text;
    for (std::size_t level = 1; level < shades.size(); ++level)
        text += std::string(shades[level]) + " from " +
                fixed(most * static_cast<double>(level) / static_cast<double>(shades.size()), 3) + "   ";
    text += "largest " + fixed(most, 3);
    const auto any = [&](auto is) { return std::ranges::any_of(table.values.values, is); };
    if (any([](double value) { return std::isfinite(value) && value < 0; })) text += ", whatever the sign";
    if (any([](double value) { return value == -std::numeric_limits<double>::infinity(); }))
        text += "   · masked";
    return text + "\n";
}

}  // namespace

std::string table_cells(const Table& table) {
    std::string text;
    for (const std::string& name : table.columns) text += '\t' + on_one_line(name);
    text += '\n';
    for (Index r = 0; r < table.values.rows; ++r) {
        text += on_one_line(row_name(table, r));
        for (Index c = 0; c < table.values.cols; ++c)
            text += '\t' + shortest(static_cast<float>(table.values.at(r, c)));
        text += '\n';
    }
    return text;
}

std::string table_markdown(const Table& table) {
    std::string text = escaped(table.title) + "\n\n|";
    for (const std::string& name : table.columns) text += " | " + escaped(name);
    text += " |\n| ---";
    for (Index c = 0; c < table.values.cols; ++c) text += " | ---:";
    text += " |\n";
    for (Index r = 0; r < table.values.rows; ++r) {
        text += "| " + escaped(row_name(table, r));
        for (Index c = 0; c < table.values.cols; ++c)
            text += " | " + fixed(table.values.at(r, c), table_decimals);
        text += " |\n";
    }
    return text;
}

std::string table_shades(const Table& table) {
    const std::size_t width = column_width(table);
    std::size_t names = 0;
    for (const std::string& name : table.row_labels)
        names = std::max(names, std::min(width_of(name), longest_row_name));
    const double most = largest_magnitude(table);
    std::string text = on_one_line(table.title) + "\n\n" + blanks(names) + " │";
    for (Index c = 0; c < table.values.cols; ++c) {
        const std::string name = heading(table, c, width);
        text += ' ' + name + blanks(width - width_of(name));
    }
    text += '\n' + repeated("─", names + 1) + "┼" +
            repeated("─", (width + 1) * static_cast<std::size_t>(table.values.cols)) + '\n';
    for (Index r = 0; r < table.values.rows; ++r) {
        const std::string name = shortened(row_name(table, r), longest_row_name);
        text += blanks(names - width_of(name)) + name + " │";
        for (Index c = 0; c < table.values.cols; ++c)
            text += ' ' + repeated(shade_of(table.values.at(r, c), most), width);
        text += '\n';
    }
    return text + '\n' + legend_of(table, most);
}

std::string table_csv(const Table& table) {
    CsvWriter writer(table.columns);
    for (Index r = 0; r < table.values.rows; ++r) {
        std::vector<float> row;
        for (Index c = 0; c < table.values.cols; ++c)
            row.push_back(static_cast<float>(table.values.at(r, c)));
        writer.row(table.row_labels[static_cast<std::size_t>(r)], row);
    }
    return writer.text();
}

std::string written_table(const Table& table, std::string_view form) {
    return form == "markdown" ? table_markdown(table)
           : form == "shades" ? table_shades(table)
           : form == "csv"    ? table_csv(table)
                              : table_cells(table);
}

}  // namespace attn::app
