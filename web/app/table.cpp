#include "app/table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/format.hpp"
#include "app/map_source.hpp"

namespace attn::app {

namespace {

// An HTML table of more rows than this serves nobody.
constexpr Index row_limit = 256;

struct Table {
    std::string title;
    std::vector<std::string> columns, row_labels;
    Matrix values;
};

// A masked weight is 0.
double as_weight(float cell) { return cell == masked_cell ? 0.0 : static_cast<double>(cell); }

Table worked_table(const Session& session) {
    const WorkedState& worked = session.state().worked;
    const auto& pin = session.state().pin;
    const MatrixId id = pin ? pin->matrix : MatrixId::weight;
    Table table{std::string(symbol(id)), {}, {}, session.worked().matrix(worked, id)};
    for (Index r = 0; r < table.values.rows; ++r) {
        const std::string name = cell_name(worked, {id, r, 0});
        const auto open = name.find('['), comma = name.rfind(", ");
        table.row_labels.push_back(name.substr(open + 1, comma - open - 1));
    }
    for (Index c = 0; c < table.values.cols; ++c)
        table.columns.push_back(is_stage(id) && c < std::ssize(worked.key_labels)
                                    ? worked.key_labels[static_cast<std::size_t>(c)]
                                    : std::to_string(c));
    return table;
}

Table word_table(const SentenceRun& run, const Selection& s) {
    const MapPointer map = word_map_of(run.trace, s.layer, s.head, run.words.tokens, Sink::shown);
    const Index n = std::min(map->queries(), row_limit);
    const std::vector<std::string> names(run.words.names.begin(), run.words.names.begin() + n);
    Table table{
        "Weights between words, layer " + std::to_string(s.layer) + ", head " + std::to_string(s.head), names,
        names, Matrix(n, n)};
    const std::vector<float> cells = cells_of(*map, {{0, n}, {0, n}});
    std::ranges::transform(cells, table.values.values.begin(), as_weight);
    return table;
}

Table sentence_table(const Session& session) {
    const SentenceRun* run = session.sentence();
    if (!run) return {};
    const Selection& s = session.state().selection;
    if (takes_words(session.state().sentence.map) && run->words.merges()) return word_table(*run, s);
    const Record& record = run->trace->layers()[static_cast<std::size_t>(s.layer)].attention;
    const Index n = std::min(run->trace->tokens(), row_limit);
    Table table{"Weights of layer " + std::to_string(s.layer) + ", head " + std::to_string(s.head),
                {run->pieces.begin(), run->pieces.begin() + n},
                {run->pieces.begin(), run->pieces.begin() + n},
                Matrix(n, n)};
    std::vector<float> cells(static_cast<std::size_t>(n * n));
    record.stage(Stage::weight, s.head, {0, n}, {0, n}, cells);
    table.values.values.assign(cells.begin(), cells.end());
    return table;
}

Table tensors_table(const Session& session) {
    const TensorSet* set = session.tensors().open();
    if (!set || (!set->finished() && !set->record())) return {};
    const Selection& s = session.state().selection;
    const bool words = set->shows_words(session.state().tensors.map);
    const MapPointer map =
        words ? set->make_word_map(s.layer, s.head) : set->make_map(s.layer, s.head, MapStage::weight);
    const auto& queries = words ? set->query_words().names : set->query_names();
    const auto& keys = words ? set->key_words().names : set->key_names();
    const Index rows = std::min(map->queries(), row_limit), cols = std::min(map->keys(), row_limit);
    Table table{(words ? "Weights between words of " : "Weights of ") + set->title() + ", layer " +
                    std::to_string(s.layer) + ", head " + std::to_string(s.head),
                {keys.begin(), keys.begin() + cols},
                {queries.begin(), queries.begin() + rows},
                Matrix(rows, cols)};
    const std::vector<float> cells = cells_of(*map, {{0, rows}, {0, cols}});
    std::ranges::transform(cells, table.values.values.begin(), as_weight);
    return table;
}

Table current(const Session& session) {
    switch (session.state().lens) {
        case LensId::worked: return worked_table(session);
        case LensId::tensors: return tensors_table(session);
        case LensId::sentence:
        case LensId::training: break;
    }
    return sentence_table(session);
}

}  // namespace

std::string table_json(const Session& session) {
    const Table table = current(session);
    nlohmann::json rows = nlohmann::json::array();
    for (Index r = 0; r < table.values.rows; ++r) {
        nlohmann::json cells = {table.row_labels[static_cast<std::size_t>(r)]};
        for (Index c = 0; c < table.values.cols; ++c) cells.push_back(fixed(table.values.at(r, c), 6));
        rows.push_back(std::move(cells));
    }
    const nlohmann::json json{{"title", table.title}, {"columns", table.columns}, {"rows", std::move(rows)}};
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string table_text(const Session& session) {
    const Table table = current(session);
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
            // NumPy closes a row with a bracket.
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
            if (rows.back().size() > static_cast<std::size_t>(worked_size_limit))
                return Error{"The pasted rows hold more than " + std::to_string(worked_size_limit) +
                             " numbers."};
            i = end;
        }
    }
    if (rows.back().empty()) rows.pop_back();
    if (rows.empty()) return Error{"The pasted text holds no numbers."};
    if (rows.size() > static_cast<std::size_t>(worked_size_limit))
        return Error{"The pasted text has " + std::to_string(rows.size()) + " rows; " +
                     std::to_string(worked_size_limit) + " is the most."};
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
