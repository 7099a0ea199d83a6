// Makes the matrices that lens Gradient shows.
#include <algorithm>
#include <utility>

#include "app/format.hpp"
#include "lenses/gradient/gradient.hpp"
#include "model/network.hpp"
#include "subjects/head_copy.hpp"

namespace attn::app {

namespace {

// Returns the name of a gradient: "∂L/∂A[sat, ·]".
std::string title_of(Slope slope, const std::string& query) {
    if (slope == Slope::jacobian) return "∂A/∂S[" + query + ", ·]";
    return "∂L/∂" + std::string(info(slope).of) + (slope <= Slope::q ? "[" + query + ", ·]" : "");
}

}  // namespace

Sheet GradientLens::slope_sheet(Subject& subject, const Slopes& slopes, Slope slope) const {
    const Attention& attention = *subject.attention();
    const ShownTokens keys = keys_shown(slopes);
    const std::string query = label_at(attention.query_names(), slopes.query());
    const bool of_row = slope <= Slope::q, key_columns = columns_are_keys(slope),
               of_tokens = rows_are_keys(slope);
    const std::vector<Index> rows = rows_shown(slopes, slope, keys),
                             columns = columns_shown(slopes, slope, keys);
    const auto numbers = [](const std::vector<Index>& shown) {
        std::vector<std::string> names;
        for (const Index i : shown) names.push_back(std::to_string(i));
        return names;
    };
    const std::vector<std::string> key_names = keys.labels(attention.key_names());
    Sheet sheet{.key = "gradient/d" + std::string(info(slope).of),
                .title = title_of(slope, query),
                .notation = info(slope).formula,
                .rows = {"component", numbers(rows)},
                .columns = {"component", key_columns ? key_names : numbers(columns)},
                .value =
                    [&slopes, slope, rows, columns](Index r, Index c) {
                        return static_cast<double>(slopes.single(slope, rows[static_cast<std::size_t>(r)],
                                                                 columns[static_cast<std::size_t>(c)]));
                    },
                .cell =
                    [slope, rows, columns](Index r, Index c) {
                        return gradient_cells::derivative(slope, rows[static_cast<std::size_t>(r)],
                                                          columns[static_cast<std::size_t>(c)]);
                    },
                .decimals = 3,
                .is_signed = true,
                .is_whole = true};
    if (of_row) sheet.rows = {"query", {query}};
    if (of_tokens) sheet.rows = {"key", key_names};
    if (slope == Slope::x) {
        sheet.rows = {"token"};
        for (const Index row : rows) sheet.rows.labels.push_back(input_name(attention, slopes, row));
    }
    if (key_columns) sheet.columns.name = "key";
    if (is_of_pairs(slope))
        sheet.allowed = [&slopes, keys](Index, Index c) {
            return slopes.f64().allowed[static_cast<std::size_t>(keys[c])] != 0;
        };
    if (slope == Slope::jacobian) sheet.key = "gradient/jacobian";
    if (slopes.loss().along.empty()) return sheet;
    if (slope == Slope::output) sheet.notation = "back through the model";
    // A logit also depends on other queries, which use the same keys, values and weights in their own ways.
    if (slope >= Slope::k && slope <= Slope::w_v) sheet.notation += ", through this query’s row alone";
    return sheet;
}

std::vector<Sheet> GradientLens::sheets(Subject& subject, const Slopes& slopes) const {
    const Attention& attention = *subject.attention();
    const Record& record = slopes.record();
    const Index head = subject.chosen_head().head, query = slopes.query();
    const ShownTokens keys = keys_shown(slopes);
    std::vector<Sheet> all;
    const auto add = [&](Slope slope, std::string title, Matrix forward, Stage stage) {
        Sheet back = slope_sheet(subject, slopes, slope), sheet = back;
        sheet.key = "gradient/" + std::string(info(slope).of);
        sheet.title = std::move(title);
        sheet.notation.clear();
        sheet.value = numbers_of(std::move(forward));
        // In cross-attention, the rows of X belong to two texts, so its cells refer to their gradients.
        if (slope != Slope::x || !slopes.projections()->crosses)
            sheet.cell = [stage, cell = back.cell](Index r, Index c) {
                const auto [of, row, column] = cell(r, c)->own.at;
                return CellRef{stage, row, column};
            };
        sheet.decimals = 2;
        sheet.is_signed = stage != Stage::weight;
        all.push_back(std::move(sheet));
        all.push_back(std::move(back));
    };
    const auto of_keys = [&](std::span<const float> numbers) {
        Matrix matrix(1, keys.size());
        for (Index c = 0; c < matrix.cols; ++c)
            matrix.at(0, c) = static_cast<double>(numbers[static_cast<std::size_t>(keys[c])]);
        return matrix;
    };
    const RowGradient<float>& pass = slopes.f32();
    add(Slope::output, "Output", Matrix(1, record.d_v(), {pass.output.begin(), pass.output.end()}),
        Stage::output);
    add(Slope::weight, "Weights", of_keys(pass.weight), Stage::weight);
    const std::vector<Stage> stages = attention.stages();
    const auto scores = std::ranges::find_if(stages.rbegin(), stages.rend(), is_signed);
    if (scores != stages.rend()) add(Slope::masked, "Scores S", of_keys(pass.masked), *scores);
    if (slopes.has(Slope::raw)) {
        std::vector<float> raw(pass.scaled);
        for (float& each : raw) each /= static_cast<float>(record.scale());
        add(Slope::raw, "Raw scores R", of_keys(raw), Stage::raw);
        add(Slope::q, "Q", rows_of(record.q(), head, Range{query, query + 1}), Stage::q);
        add(Slope::k, "K", rows_of(record.k(), record.kv_head(head), keys.tokens()), Stage::k);
    }
    add(Slope::v, "V", rows_of(record.v(), record.kv_head(head), keys.tokens()), Stage::v);
    if (slopes.projections()) {
        const Projections& made_of = *slopes.projections();
        const std::vector<Index> shown = rows_shown(slopes, Slope::x, keys);
        Matrix in_view(std::ssize(shown), made_of.x.cols);
        for (Index r = 0; r < in_view.rows; ++r)
            for (Index c = 0; c < in_view.cols; ++c)
                in_view.at(r, c) = made_of.x.at(shown[static_cast<std::size_t>(r)], c);
        const std::string some = made_of.of_x == Stage::x
                                     ? ""
                                     : ", components " + std::to_string(made_of.first) + " to " +
                                           std::to_string(made_of.first + made_of.x.cols - 1),
                          name = made_of.of_x == Stage::x ? "X"
                                 : made_of.crosses        ? "X, what the encoder gives and the query’s input"
                                                          : "X, the normalised input";
        add(Slope::x, name + some, std::move(in_view), made_of.of_x);
        add(Slope::w_q, "W_Q" + some, made_of.w_q, Stage::w_q);
        add(Slope::w_k, "W_K" + some, made_of.w_k, Stage::w_k);
        add(Slope::w_v, "W_V" + some, made_of.w_v, Stage::w_v);
    }
    all.push_back(slope_sheet(subject, slopes, Slope::jacobian));
    return all;
}

// The gradient of the pinned cell comes first, otherwise that of the scores.
std::vector<Table> GradientLens::tables(Subject& subject) {
    std::vector<Table> tables;
    const Slopes* all = slopes(subject);
    if (!all) return tables;
    const auto& pin = state().pin;
    const Slope wanted = pin && pin->own.kind ? static_cast<Slope>(pin->own.at[0]) : Slope::masked;
    const std::string first = slope_sheet(subject, *all, wanted).key;
    for (const Sheet& sheet : sheets(subject, *all)) {
        tables.push_back(table_of(sheet));
        if (sheet.key == first) bring_forward(tables, tables.size() - 1);
    }
    return tables;
}

}  // namespace attn::app
