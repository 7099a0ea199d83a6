#include "app/table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/format.hpp"

namespace attn::app {

namespace {

nlohmann::json json_of(const Table& table) {
    nlohmann::json rows = nlohmann::json::array();
    for (Index r = 0; r < table.values.rows; ++r) {
        nlohmann::json cells = {table.row_labels[static_cast<std::size_t>(r)]};
        for (Index c = 0; c < table.values.cols; ++c)
            cells.push_back(fixed(table.values.at(r, c), table_decimals));
        rows.push_back(std::move(cells));
    }
    return {{"title", table.title}, {"columns", table.columns}, {"rows", std::move(rows)}};
}

std::string dumped(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string tables_json(std::span<const Table> tables) {
    nlohmann::json all = nlohmann::json::array();
    for (const Table& table : tables) all.push_back(json_of(table));
    return dumped(all);
}

std::string table_text(const Table& table) {
    std::string text;
    for (Index r = 0; r < table.values.rows; ++r)
        for (Index c = 0; c < table.values.cols; ++c) {
            text += shortest(static_cast<float>(table.values.at(r, c)));
            text += c + 1 < table.values.cols ? '\t' : '\n';
        }
    return text;
}

Result<Matrix> parse_numbers(const std::string& text) {
    std::vector<std::vector<double>> rows(1);
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '\n' || c == '\r' || c == ';') {
            if (!rows.back().empty()) rows.emplace_back();
            ++i;
        } else if (c == '\t' || c == ' ' || c == ',' || c == '[' || c == ']' || c == '(' || c == ')') {
            // NumPy ends a row with a bracket.
            if (c == ']' && !rows.back().empty()) rows.emplace_back();
            ++i;
        } else if (text.compare(i, 6, "array(") == 0) {
            i += 6;
        } else {
            const std::size_t end = std::min(text.find_first_of("\n\r\t ,;[]()", i), text.size());
            const auto value = read_number(std::string_view(text).substr(i, end - i));
            if (!value)
                return Error{"'" + text.substr(i, std::min<std::size_t>(end - i, 24)) + "' in row " +
                             std::to_string(rows.size()) + " of the pasted text is not a number."};
            rows.back().push_back(*value);
            if (rows.back().size() > static_cast<std::size_t>(matrix_size_limit))
                return Error{"The pasted rows hold more than " + std::to_string(matrix_size_limit) +
                             " numbers."};
            i = end;
        }
    }
    if (rows.back().empty()) rows.pop_back();
    if (rows.empty()) return Error{"The pasted text holds no numbers."};
    if (rows.size() > static_cast<std::size_t>(matrix_size_limit))
        return Error{"The pasted text has " + std::to_string(rows.size()) + " rows; " +
                     std::to_string(matrix_size_limit) + " is the most."};
    Matrix m(std::ssize(rows), std::ssize(rows[0]));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].size() != rows[0].size())
            return Error{"Row " + std::to_string(r + 1) + " of the pasted text has " +
                         std::to_string(rows[r].size()) + " numbers, the first row has " +
                         std::to_string(rows[0].size()) + "."};
        for (std::size_t c = 0; c < rows[r].size(); ++c)
            m.at(static_cast<Index>(r), static_cast<Index>(c)) = rows[r][c];
    }
    return m;
}

}  // namespace attn::app
