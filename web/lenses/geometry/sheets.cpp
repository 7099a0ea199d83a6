// Makes the matrices that lens Geometry shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index gauge_shown = 12;   // rows and columns of G, as a matrix
constexpr Index result_shown = 16;  // rows of a result

// Returns a matrix's cell by its row and column among the shown tokens.
using CellOf = std::function<CellRef(Index row, Index col)>;
CellOf lens_cell(const CellKind& kind) {
    return [&kind](Index row, Index col) { return kind(row, col); };
}
CellOf of_tokens(const ShownTokens& rows, const CellKind& kind) {
    return [rows, &kind](Index row, Index col) { return kind(rows[row], col); };
}
CellOf of_tokens(const ShownTokens& rows, const ShownTokens& cols, const CellKind& kind) {
    return [rows, cols, &kind](Index row, Index col) { return kind(rows[row], cols[col]); };
}

Sheet signed_sheet(std::string key, std::string title, std::string notation, SheetAxis rows,
                   SheetAxis columns, Matrix values, CellOf cell) {
    return {.key = std::move(key),
            .title = std::move(title),
            .notation = std::move(notation),
            .rows = std::move(rows),
            .columns = std::move(columns),
            .value = numbers_of(std::move(values)),
            .cell = std::move(cell),
            .is_signed = true,
            .is_whole = true};
}

const CellKind& kind_of(FormPart part) {
    return part == FormPart::whole       ? geometry_cells::bilinear_form
           : part == FormPart::symmetric ? geometry_cells::symmetric_part
                                         : geometry_cells::antisymmetric_part;
}

SheetAxis queries_of(const Attention& attention, const VectorsInView& shown) {
    return {"query", shown.queries.labels(attention.query_names())};
}
SheetAxis keys_of(const Attention& attention, const VectorsInView& shown) {
    return {"key", shown.keys.labels(attention.key_names())};
}

}  // namespace

Sheet GeometryLens::form_sheet(Subject& subject, const HeadForm& form) const {
    const FormPart part = form.squares().square ? now().shown : FormPart::whole;
    const FormPicture& shown = picture(subject, form, part);
    const Attention& attention = *subject.attention();
    const bool tokens = form.of() == FormOf::tokens;
    SheetAxis rows{tokens ? "query" : "input"}, columns{tokens                        ? "key"
                                                        : form.of() == FormOf::values ? "output"
                                                                                      : "input"};
    for (Index r = 0; r < shown.values().rows; ++r)
        rows.labels.push_back(tokens
                                  ? label_at(attention.query_names(), form.first_row() + shown.first_row(r))
                                  : std::to_string(shown.first_row(r)));
    for (Index c = 0; c < shown.values().cols; ++c)
        columns.labels.push_back(tokens
                                     ? label_at(attention.key_names(), form.first_col() + shown.first_col(c))
                                     : std::to_string(shown.first_col(c)));
    const std::string title = part == FormPart::whole       ? form.name()
                              : part == FormPart::symmetric ? "½ (M + Mᵀ)"
                                                            : "½ (M − Mᵀ)";
    return signed_sheet(
        "geometry/m", title,
        shown.in_blocks() ? "the strongest number of each block" : "M[i, j] = L[i, a] R[j, a]",
        std::move(rows), std::move(columns), shown.values(), [&shown, part](Index row, Index col) {
            const auto [i, j] = shown.at(row, col);
            return kind_of(part)(i, j);
        });
}

std::vector<Sheet> GeometryLens::gauge_sheets(Subject& subject) const {
    using namespace geometry_cells;
    const GaugedHead& head = *gauged(subject);
    const VectorsInView& shown = head.in_view;
    const SheetAxis queries = queries_of(*subject.attention(), shown),
                    keys = keys_of(*subject.attention(), shown),
                    components = counted("component", head.matrices.size);
    std::vector<Sheet> sheets{
        signed_sheet("geometry/score", "Scores of Q G and K G⁻ᵀ", "the same as Q Kᵀ", queries, keys,
                     head.score32, of_tokens(shown.queries, shown.keys, gauged_score)),
        signed_sheet("geometry/q", "Q G", "Q[i, b] G[b, a]", queries, components, head.q32,
                     of_tokens(shown.queries, gauged_query)),
        signed_sheet("geometry/k", "K G⁻ᵀ", "K[j, b] G⁻ᵀ[b, a]", keys, components, head.k32,
                     of_tokens(shown.keys, gauged_key))};
    if (const Index d = head.matrices.size; d <= gauge_shown) {
        sheets.push_back(signed_sheet("geometry/g", "G", "exp(t A)", components, components,
                                      Matrix(d, d, head.matrices.g), lens_cell(geometry_cells::gauge)));
        sheets.push_back(signed_sheet("geometry/dual", "G⁻ᵀ", "exp(−t Aᵀ)", components, components,
                                      Matrix(d, d, head.matrices.dual), lens_cell(dual_gauge)));
    }
    return sheets;
}

std::vector<Sheet> GeometryLens::metric_sheets(Subject& subject) const {
    using namespace geometry_cells;
    const MetricHead& head = **metric(subject);
    const Attention& attention = *subject.attention();
    const VectorsInView& shown = head.in_view;
    const SheetAxis queries = queries_of(attention, shown), keys = keys_of(attention, shown),
                    components = counted("component", head.metric.size());
    Matrix plain(shown.queries.size(), shown.keys.size()), weights(2, shown.keys.size());
    for (Index i = 0; i < plain.rows; ++i)
        for (Index j = 0; j < plain.cols; ++j)
            plain.at(i, j) = static_cast<double>(
                shown.record->cell(Stage::raw, shown.head, shown.queries[i], shown.keys[j]));
    for (Index j = 0; j < weights.cols; ++j) {
        weights.at(0, j) = head.plain.at(shown.keys[j]).weight;
        weights.at(1, j) = head.under.at(shown.keys[j]).weight;
    }
    std::vector<Sheet> sheets;
    if (const Index d = head.metric.size(); d <= own_metric_limit) {
        sheets.push_back(signed_sheet("geometry/g", "g", "raises an index: q^a = g^{ab} q_b", components,
                                      components,
                                      Matrix(d, d, {head.metric.g().begin(), head.metric.g().end()}),
                                      lens_cell(geometry_cells::metric)));
        sheets.push_back(
            signed_sheet("geometry/inverse", "g⁻¹", "lowers it again", components, components,
                         Matrix(d, d, {head.metric.inverse().begin(), head.metric.inverse().end()}),
                         lens_cell(inverse_metric)));
    }
    const auto more = std::to_array<Sheet>(
        {signed_sheet("geometry/score", "Scores q g k", "q^a k_a", queries, keys, head.score32,
                      of_tokens(shown.queries, shown.keys, metric_score)),
         signed_sheet("geometry/plain", "Scores Q Kᵀ", "without a metric", queries, keys, std::move(plain),
                      [shown](Index row, Index col) {
                          return CellRef{Stage::raw, shown.queries[row], shown.keys[col]};
                      }),
         {.key = "geometry/weight",
          .title = "Weights of " + query_in_words(attention, head.query),
          .notation = "softmax of the scores",
          .rows = {"metric", {"without", "under g"}},
          .columns = keys,
          .value = numbers_of(std::move(weights)),
          .cell =
              [&head, shown](Index row, Index col) {
                  return row == 0 ? CellRef{Stage::weight, head.query, shown.keys[col]}
                                  : metric_weight(head.query, shown.keys[col]);
              },
          .allowed = [&head, shown](Index, Index col) { return head.plain.at(shown.keys[col]).allowed; },
          .decimals = 3,
          .is_whole = true},
         signed_sheet("geometry/raised", "Q raised", "q^a = g^{ab} q_b", queries, components, head.raised32,
                      of_tokens(shown.queries, raised_query))});
    sheets.insert(sheets.end(), more.begin(), more.end());
    return sheets;
}

// With three indices, shows the result for the chosen head.
Sheet GeometryLens::result_sheet(const NamedSum& all) const {
    const Shape& shape = all.sum().loops().shape;
    const Index rows = shape.size() < 2 ? 1 : shape[shape.size() - 2],
                first = shape.size() == 3 ? std::min(state().selection.head, shape[0] - 1) * rows : 0;
    const auto name = [&](std::size_t from_last) {
        return shape.size() < from_last ? "" : std::string(1, all.text().result[shape.size() - from_last]);
    };
    Sheet sheet{.key = "geometry/out",
                .title = "out",
                .notation = all.text().subscripts(),
                .rows = counted(name(2), std::min(rows, result_shown)),
                .columns = counted(name(1), all.last()),
                .value =
                    [&all, first](Index row, Index col) {
                        return static_cast<double>(
                            all.sum().f32()[static_cast<std::size_t>((first + row) * all.last() + col)]);
                    },
                .cell = [first](Index row, Index col) { return geometry_cells::einsum(first + row, col); },
                .is_signed = true};
    if (shape.size() == 3) sheet.about = "index " + std::to_string(first / rows) + " of " + name(3);
    return sheet;
}

std::vector<Table> GeometryLens::tables(Subject& subject) {
    std::vector<Table> tables;
    if (!in_view(subject)) return tables;
    if (now().part == GeometryPart::gauge) {
        for (const Sheet& sheet : gauge_sheets(subject)) tables.push_back(table_of(sheet));
    } else if (now().part == GeometryPart::metric) {
        if (!*metric(subject)) return tables;
        for (const Sheet& sheet : metric_sheets(subject)) tables.push_back(table_of(sheet));
    } else if (now().part == GeometryPart::einsum) {
        const auto& of = *sum(subject);
        if (!of || !(*of)->sum().done()) return tables;
        const NamedSum& all = **of;
        tables.push_back(table_of(result_sheet(all)));
        const Index rows = std::min(all.leading(), table_row_limit), cols = all.last();
        if (rows == tables.front().values.rows) return tables;
        const auto values = all.sum().f32().subspan(0, static_cast<std::size_t>(rows * cols));
        tables.push_back({now().einsum, numbered_labels(cols), numbered_labels(rows),
                          Matrix(rows, cols, {values.begin(), values.end()})});
    } else {
        const HeadForm& f = *form(subject);
        const SingularDirections* all = f.directions();
        if (!all) return tables;
        tables.push_back(table_of(form_sheet(subject, f)));
        const std::vector<std::string> directions = numbered_labels(all->count());
        tables.push_back({"Left directions of " + f.name(), numbered_labels(all->rows), directions,
                          Matrix(all->count(), all->rows, all->left)});
        tables.push_back({"Right directions of " + f.name(), numbered_labels(all->cols), directions,
                          Matrix(all->count(), all->cols, all->right)});
    }
    return tables;
}

}  // namespace attn::app
