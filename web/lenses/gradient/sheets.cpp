// Makes the matrices that lens Gradient shows.
#include <algorithm>
#include <utility>

#include "app/format.hpp"
#include "lenses/gradient/gradient.hpp"
#include "subjects/head_copy.hpp"

namespace attn::app::gradient {

namespace {

Sheet slope_sheet(const Model& model, Subject& subject, Slope slope) {
    const Attention& attention = *subject.attention();
    const Slopes& slopes = *model.slopes();
    const std::vector<Index> rows = rows_shown(slopes, slope, model.keys),
                             columns = columns_shown(slopes, slope, model.keys);
    const auto numbered = [](const std::vector<Index>& shown) {
        SheetAxis axis{"component"};
        for (const Index i : shown) axis.labels.push_back(std::to_string(i));
        return axis;
    };
    const SheetAxis keys{"key", model.keys.labels(attention.key_names())};
    const std::string query = label_at(attention.query_names(), slopes.query());
    const bool is_jacobian = slope == Slope::jacobian, is_of_row = slope <= Slope::q || is_jacobian;
    Sheet sheet{.key = "gradient/" + (is_jacobian ? "jacobian" : "d" + std::string(info(slope).of)),
                .title = (is_jacobian ? "∂A/∂S" : "∂L/∂" + std::string(info(slope).of)) +
                         (is_of_row ? "[" + query + ", ·]" : ""),
                .notation = info(slope).formula,
                .rows = rows_are_keys(slope) ? keys : numbered(rows),
                .columns = columns_are_keys(slope) ? keys : numbered(columns),
                .value =
                    [&slopes, slope, rows, columns](Index r, Index c) {
                        return static_cast<double>(slopes.single(slope, rows[static_cast<std::size_t>(r)],
                                                                 columns[static_cast<std::size_t>(c)]));
                    },
                .cell =
                    [slope, rows, columns](Index r, Index c) {
                        return cells::derivative(slope, rows[static_cast<std::size_t>(r)],
                                                 columns[static_cast<std::size_t>(c)]);
                    },
                .decimals = 3,
                .is_signed = true,
                .is_whole = true};
    if (slope <= Slope::q) sheet.rows = {"query", {query}};
    if (slope == Slope::x) {
        sheet.rows = {"token"};
        for (const Index row : rows) sheet.rows.labels.push_back(input_name(attention, slopes, row));
    }
    if (is_of_pairs(slope))
        sheet.allowed = [&slopes, columns](Index, Index c) {
            return slopes.f64().allowed[static_cast<std::size_t>(columns[static_cast<std::size_t>(c)])] != 0;
        };
    if (slopes.loss().along.empty()) return sheet;
    if (slope == Slope::output) sheet.notation = "back through the model";
    // A logit also depends on other queries, which use the same keys, values and weights in their own ways.
    if (slope >= Slope::k && slope <= Slope::w_v) sheet.notation += ", through this query’s row alone";
    return sheet;
}

}  // namespace

std::vector<Sheet> sheets(const Model& model, Subject& subject) {
    const Slopes& slopes = *model.slopes();
    const ShownTokens& keys = model.keys;
    const Record& record = slopes.record();
    const Index head = model.row->head.head, kv_head = record.kv_head(head), query = slopes.query();
    std::vector<Sheet> all;
    const auto add = [&](Slope slope, std::string title, Matrix forward, Stage stage) {
        Sheet back = slope_sheet(model, subject, slope), sheet = back;
        sheet.key = "gradient/" + std::string(info(slope).of);
        sheet.title = std::move(title);
        sheet.notation.clear();
        sheet.value = numbers_of(std::move(forward));
        // In cross-attention, the rows of X belong to two texts, so its cells refer to their gradients.
        if (slope != Slope::x || !slopes.projections()->crosses)
            sheet.cell = [stage, cell = back.cell](Index r, Index c) {
                const auto [of, row, column] = cell(r, c)->own()->at;
                return RunCell{stage, row, column};
            };
        sheet.decimals = 2;
        sheet.is_signed = stage != Stage::weight;
        all.push_back(std::move(sheet));
        all.push_back(std::move(back));
    };
    const auto of_keys = [&](const std::vector<float>& numbers, float scale = 1) {
        Matrix matrix(1, keys.size());
        for (Index c = 0; c < matrix.cols; ++c)
            matrix.at(0, c) = static_cast<double>(numbers[static_cast<std::size_t>(keys[c])] / scale);
        return matrix;
    };
    const RowGradient<float>& pass = slopes.f32();
    add(Slope::output, "Output", Matrix(1, record.d_v(), {pass.output.begin(), pass.output.end()}),
        Stage::output);
    add(Slope::weight, "Weights", of_keys(pass.weight), Stage::weight);
    const std::vector<Stage> stages = subject.attention()->stages();
    const auto scores = std::ranges::find_if(stages.rbegin(), stages.rend(), is_signed);
    if (scores != stages.rend()) add(Slope::masked, "Scores S", of_keys(pass.masked), *scores);
    if (slopes.has(Slope::raw)) {
        add(Slope::raw, "Raw scores R", of_keys(pass.scaled, static_cast<float>(record.scale())), Stage::raw);
        add(Slope::q, "Q", rows_of(record.q(), head, Range{query, query + 1}), Stage::q);
        add(Slope::k, "K", rows_of(record.k(), kv_head, keys.tokens()), Stage::k);
    }
    add(Slope::v, "V", rows_of(record.v(), kv_head, keys.tokens()), Stage::v);
    if (slopes.projections()) {
        const Projections& made_of = *slopes.projections();
        const std::vector<Index> shown = rows_shown(slopes, Slope::x, keys);
        Matrix in_view(std::ssize(shown), made_of.x.cols);
        for (Index r = 0; r < in_view.rows; ++r)
            for (Index c = 0; c < in_view.cols; ++c)
                in_view.at(r, c) = made_of.x.at(shown[static_cast<std::size_t>(r)], c);
        const bool whole = made_of.of_x == Stage::x;
        const std::string some = whole ? ""
                                       : ", components " + std::to_string(made_of.first) + " to " +
                                             std::to_string(made_of.first + made_of.x.cols - 1),
                          name = whole             ? "X"
                                 : made_of.crosses ? "X, what the encoder gives and the query’s input"
                                                   : "X, the normalised input";
        add(Slope::x, name + some, std::move(in_view), made_of.of_x);
        add(Slope::w_q, "W_Q" + some, made_of.w_q, Stage::w_q);
        add(Slope::w_k, "W_K" + some, made_of.w_k, Stage::w_k);
        add(Slope::w_v, "W_V" + some, made_of.w_v, Stage::w_v);
    }
    all.push_back(slope_sheet(model, subject, Slope::jacobian));
    return all;
}

// The gradient of the pinned cell comes first, otherwise that of the scores.
std::vector<Table> Model::tables(Subject& subject) {
    std::vector<Table> tables;
    if (!slopes()) return tables;
    const Slope wanted = pin && pin->own() ? static_cast<Slope>(pin->own()->at[0]) : Slope::masked;
    const std::string first = slope_sheet(*this, subject, wanted).key;
    for (const Sheet& sheet : sheets(*this, subject)) {
        tables.push_back(table_of(sheet));
        if (sheet.key == first) bring_forward(tables, tables.size() - 1);
    }
    return tables;
}

}  // namespace attn::app::gradient
