// Makes the matrices that lens Geometry shows.
#include <algorithm>
#include <array>
#include <utility>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "subjects/reading.hpp"

namespace attn::app::geometry {

namespace {

constexpr Index gauge_shown = 12;   // rows and columns of G, as a matrix
constexpr Index result_shown = 16;  // rows of a result

using CellOf = std::function<CellRef(Index row, Index col)>;

Sheet signed_sheet(const char* key, std::string title, const char* notation, SheetAxis rows,
                   SheetAxis columns, DenseMatrix values, CellOf cell) {
    return {.key = key,
            .title = std::move(title),
            .notation = notation,
            .rows = std::move(rows),
            .columns = std::move(columns),
            .value = [values = std::move(values)](Index row, Index col) { return values(row, col); },
            .cell = std::move(cell),
            .is_signed = true,
            .is_whole = true};
}

// The axes that several matrices have, and the cells of these.
struct Axes {
    const Model& model;
    SheetAxis queries, keys, components;

    Axes(const Model& m, const Attention& attention)
        : model(m),
          queries{"query", m.queries.labels(attention.query_names())},
          keys{"key", m.keys.labels(attention.key_names())},
          components(counted("component", m.record->d_k())) {}

    Sheet of_pairs(const char* key, const char* title, const char* notation, DenseMatrix values,
                   CellOf cell) const {
        return signed_sheet(key, title, notation, queries, keys, std::move(values),
                            [shown = model.queries, all = model.keys, cell = std::move(cell)](
                                Index row, Index col) { return cell(shown[row], all[col]); });
    }
    Sheet of_vectors(const char* key, const char* title, const char* notation, const DenseMatrix& values,
                     const CellKind& kind, bool of_keys = false) const {
        return signed_sheet(key, title, notation, of_keys ? keys : queries, components, values,
                            [tokens = of_keys ? model.keys : model.queries, &kind](Index row, Index col) {
                                return kind(tokens[row], col);
                            });
    }
    Sheet of_components(const char* key, const char* title, const char* notation,
                        std::span<const double> values, const CellKind& kind) const {
        const Index d = components.size();
        return signed_sheet(key, title, notation, components, components,
                            {d, d, {values.begin(), values.end()}},
                            [&kind](Index row, Index col) { return kind(row, col); });
    }
};

CellOf cell_of(const CellKind& kind) {
    return [&kind](Index row, Index col) { return kind(row, col); };
}

}  // namespace

Sheet form_sheet(Model& model, Subject& subject) {
    const HeadForm& form = model.form();
    const FormPicture& shown = model.picture();
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
    struct PartShown {
        std::string title;
        const CellKind& kind;
    };
    const PartShown part = model.form_part() == FormPart::whole ? PartShown{form.name(), cells::bilinear_form}
                           : model.form_part() == FormPart::symmetric
                               ? PartShown{"½ (M + Mᵀ)", cells::symmetric_part}
                               : PartShown{"½ (M − Mᵀ)", cells::antisymmetric_part};
    return signed_sheet(
        "geometry/m", part.title,
        shown.in_blocks() ? "the strongest number of each block" : "M[i, j] = L[i, a] R[j, a]",
        std::move(rows), std::move(columns), shown.values(),
        [&shown, &kind = part.kind](Index row, Index col) {
            const auto [i, j] = shown.at(row, col);
            return kind(i, j);
        });
}

std::vector<Sheet> gauge_sheets(Model& model, Subject& subject) {
    const GaugedScores& scores = model.gauged();
    const Axes axes(model, *subject.attention());
    std::vector<Sheet> sheets{
        axes.of_pairs("geometry/score", "Scores of Q G and K G⁻ᵀ", "the same as Q Kᵀ", scores.score32,
                      cell_of(cells::gauged_score)),
        axes.of_vectors("geometry/q", "Q G", "Q[i, b] G[b, a]", scores.moved32.q, cells::gauged_query),
        axes.of_vectors("geometry/k", "K G⁻ᵀ", "K[j, b] G⁻ᵀ[b, a]", scores.moved32.k, cells::gauged_key,
                        true)};
    if (axes.components.size() > gauge_shown) return sheets;
    sheets.push_back(axes.of_components("geometry/g", "G", "exp(t A)", scores.matrices.g, cells::gauge));
    sheets.push_back(
        axes.of_components("geometry/dual", "G⁻ᵀ", "exp(−t Aᵀ)", scores.matrices.dual, cells::dual_gauge));
    return sheets;
}

std::vector<Sheet> metric_sheets(Model& model, Subject& subject) {
    const MetricScores& scores = *model.metric();
    const Axes axes(model, *subject.attention());
    const Record& record = *model.record;
    DenseMatrix plain(model.queries.size(), model.keys.size());
    for (Index i = 0; i < plain.rows; ++i)
        for (Index j = 0; j < plain.cols; ++j)
            plain(i, j) = static_cast<double>(
                record.cell(Stage::raw, model.place.head.head, model.queries[i], model.keys[j]));
    std::vector<Sheet> sheets;
    if (axes.components.size() <= own_metric_limit) {
        sheets.push_back(axes.of_components("geometry/g", "g", "raises an index: q^a = g^{ab} q_b",
                                            scores.metric.g(), cells::metric));
        sheets.push_back(axes.of_components("geometry/inverse", "g⁻¹", "lowers it again",
                                            scores.metric.inverse(), cells::inverse_metric));
    }
    sheets.push_back(axes.of_pairs("geometry/score", "Scores q g k", "q^a k_a", scores.score32,
                                   cell_of(cells::metric_score)));
    sheets.push_back(axes.of_pairs("geometry/plain", "Scores Q Kᵀ", "without a metric", std::move(plain),
                                   [](Index row, Index col) { return RunCell{Stage::raw, row, col}; }));
    sheets.push_back(
        {.key = "geometry/weight",
         .title = "Weights of " + query_in_words(*subject.attention(), model.place.query),
         .notation = "softmax of the scores",
         .rows = {"metric", {"without", "under g"}},
         .columns = axes.keys,
         .value = [&scores, keys = model.keys](
                      Index row,
                      Index col) { return (row == 0 ? scores.plain : scores.under).at(keys[col]).weight; },
         .cell = [query = model.place.query, keys = model.keys](Index row, Index col) -> CellRef {
             return row == 0 ? RunCell{Stage::weight, query, keys[col]}
                             : cells::metric_weight(query, keys[col]);
         },
         .allowed = [&scores, keys = model.keys](Index,
                                                 Index col) { return scores.plain.at(keys[col]).allowed; },
         .decimals = 3,
         .is_whole = true});
    sheets.push_back(axes.of_vectors("geometry/raised", "Q raised", "q^a = g^{ab} q_b", scores.raised32,
                                     cells::raised_query));
    return sheets;
}

// With three indices, shows the result for the chosen head.
Sheet result_sheet(const Model& model, const NamedSum& sum) {
    const Shape& shape = sum.sum().loops().shape;
    const Index rows = shape.size() < 2 ? 1 : shape[shape.size() - 2],
                first = shape.size() == 3 ? std::min(model.place.head.head, shape[0] - 1) * rows : 0;
    const auto name = [&](std::size_t from_last) {
        return shape.size() < from_last ? "" : std::string(1, sum.text().result[shape.size() - from_last]);
    };
    return {.key = "geometry/out",
            .title = "out",
            .notation = sum.text().subscripts(),
            .about = shape.size() == 3 ? "index " + std::to_string(first / rows) + " of " + name(3) : "",
            .rows = counted(name(2), std::min(rows, result_shown)),
            .columns = counted(name(1), sum.last()),
            .value =
                [&sum, first](Index row, Index col) {
                    return static_cast<double>(
                        sum.sum().f32()[static_cast<std::size_t>((first + row) * sum.last() + col)]);
                },
            .cell = [first](Index row, Index col) { return cells::einsum(first + row, col); },
            .is_signed = true};
}

std::vector<Table> Model::tables(Subject& subject) {
    std::vector<Table> tables;
    if (!record) return tables;
    const auto add = [&](const std::vector<Sheet>& sheets) {
        for (const Sheet& sheet : sheets) tables.push_back(table_of(sheet));
    };
    if (state.part == Part::gauge) {
        add(gauge_sheets(*this, subject));
    } else if (state.part == Part::metric) {
        if (metric()) add(metric_sheets(*this, subject));
    } else if (state.part == Part::einsum) {
        const auto& of = sum();
        if (!of || !of->sum().done()) return tables;
        add({result_sheet(*this, *of)});
        const Index rows = std::min(of->leading(), table_row_limit), cols = of->last();
        if (rows == tables.front().values.rows) return tables;
        const auto values = of->sum().f32().subspan(0, static_cast<std::size_t>(rows * cols));
        tables.push_back({state.einsum, numbered_labels(cols), numbered_labels(rows),
                          Matrix(rows, cols, {values.begin(), values.end()})});
    } else if (const SingularDirections* all = form().directions()) {
        add({form_sheet(*this, subject)});
        const std::vector<std::string> directions = numbered_labels(all->count());
        const std::string of_form = " directions of " + form().name();
        tables.push_back({"Left" + of_form, numbered_labels(all->rows), directions,
                          Matrix(all->count(), all->rows, all->left)});
        tables.push_back({"Right" + of_form, numbered_labels(all->cols), directions,
                          Matrix(all->count(), all->cols, all->right)});
    }
    return tables;
}

}  // namespace attn::app::geometry
