// Explains how similar two runs are: cosines between their vectors and rows, and differences of weights.
#include "app/format.hpp"
#include "lenses/compare/compare.hpp"
#include "subjects/explain_measured.hpp"

namespace attn::app {

namespace {

std::vector<Term> products(const Tensor& first, Index first_row, const Tensor& second, Index second_row) {
    std::vector<Term> terms;
    for (Index i = 0; i < first.dim(1); ++i)
        terms.push_back({i, static_cast<double>(first.matrix()(first_row, i)),
                         static_cast<double>(second.matrix()(second_row, i))});
    return terms;
}

// Returns a row's weights in double.
std::vector<double> weights_of(const Record& record, Index head, Index query) {
    const RowChain row = row_chain(record, head, query);
    std::vector<double> weights;
    for (Index key = 0; key < record.keys(); ++key) weights.push_back(row.at(key).weight);
    return weights;
}

}  // namespace

bool CompareLens::shows(Subject& subject, const CellRef& cell) const {
    return subject.second() && (cell.stage == Stage::weight || cell.stage == Stage::cosine ||
                                cell.stage == Stage::row_cosine || cell.stage == Stage::difference);
}

std::optional<Explained> CompareLens::explain(Subject& subject, const CellPlace& place) {
    const CellRef& cell = place.cell;
    Attention *first = subject.attention(), *second = subject.second();
    const bool of_two =
        cell.stage == Stage::cosine || cell.stage == Stage::row_cosine || cell.stage == Stage::difference;
    if (!of_two) return subject.explain_at(place);
    if (!first || !second) return std::nullopt;
    Explained out;
    const auto names = subject.comparison_names();
    out.provenance = names.first + " and " + names.second;
    if (cell.stage == Stage::difference) {
        const auto& [queries, keys] = pairings_of(*first, *second);
        const auto query = queries.alignment().second_of(cell.row),
                   key = keys.alignment().second_of(cell.col);
        const Places here{place.head}, there{beside(place.head, *second), true};
        if (!query || !key) return std::nullopt;
        const CellPlace from = here(Stage::weight, cell.row, cell.col),
                        to = there(Stage::weight, *query, *key);
        const auto a = subject.explain_at(from), b = subject.explain_at(to);
        if (!a || !b) return std::nullopt;
        out.title = "Difference of " + a->title;
        out.formula = "first − second";
        out.operands = {{"first", a->f64, 1, a->f64, from, std::nullopt, from},
                        {"second", b->f64, -1, -b->f64, to, std::nullopt, to}};
        out.operands_title = "Two weights";
        out.left_name = "weights";
        out.right_name = "signs";
        out.f32 = a->f32 - b->f32;
        out.f64 = a->f64 - b->f64;
        out.line("difference", out.dot());
        return out;
    }
    const Index query = alike_.query, second_query = alike_.second_query;
    if (query < 0 || query >= first->queries() || second_query < 0 || second_query >= second->queries())
        return std::nullopt;
    const std::string words = in_quotes(first->query_names()[static_cast<std::size_t>(query)]) + " and " +
                              in_quotes(second->query_names()[static_cast<std::size_t>(second_query)]);
    if (cell.stage == Stage::cosine) {
        const QueryStack stack = query_stack(*first), other = query_stack(*second);
        if (cell.row >= std::ssize(alike_.residual) || cell.col != 0 || !stack.trace || !other.trace)
            return std::nullopt;
        const bool last = cell.row == std::ssize(stack.trace->layers());
        const auto residual = [&](const QueryStack& of) -> const Tensor& {
            return last ? of.trace->final_residual()
                        : of.trace->layers()[static_cast<std::size_t>(cell.row)].resid_pre;
        };
        const auto at = [&](Index row, bool of_second) -> PlaceOf {
            return [=](Index i) {
                return Places{{stack.first + (last ? cell.row - 1 : cell.row), 0}, of_second}(
                    last ? Stage::final_residual : Stage::resid_pre, row, i);
            };
        };
        explain_cosine(out, products(residual(stack), query, residual(other), second_query), at(query, false),
                       at(second_query, true));
        out.title = "Cosine of " + words + ", " +
                    (cell.row == 0 ? "embedding" : "after layer " + std::to_string(cell.row - 1));
        out.operands_title = "Residuals, a · b";
        out.f32 = static_cast<double>(
            static_cast<float>(alike_.residual[static_cast<std::size_t>(cell.row)].value()));
        return out;
    }
    const HeadIndex head{cell.row, cell.col};
    const bool alike = alike_.layers.holds(head.layer);
    const auto a = alike ? first->record(head.layer) : nullptr,
               b = alike ? second->record(head.layer) : nullptr;
    if (!a || !b || head.head >= a->heads() || head.head >= b->heads()) return std::nullopt;
    // Paired keys are one component; every other key is a component that is 0 in the other row.
    const std::vector<double> row = weights_of(*a, head.head, query),
                              other = weights_of(*b, head.head, second_query);
    const Alignment& alignment = pairings_of(*first, *second).keys.alignment();
    std::vector<Term> terms;
    std::vector<std::optional<Index>> keys, second_keys;
    for (Index key = 0; key < std::ssize(row); ++key) {
        const auto pair = alignment.second_of(key);
        terms.push_back({std::ssize(terms), row[static_cast<std::size_t>(key)],
                         pair ? other[static_cast<std::size_t>(*pair)] : 0});
        keys.push_back(key);
        second_keys.push_back(pair);
    }
    for (Index key = 0; key < std::ssize(other); ++key) {
        if (alignment.first_of(key)) continue;
        terms.push_back({std::ssize(terms), 0, other[static_cast<std::size_t>(key)]});
        keys.push_back(std::nullopt);
        second_keys.push_back(key);
    }
    const auto at = [&](Index of, bool of_second, const auto& of_terms) -> PlaceOf {
        return [=, &of_terms](Index i) -> std::optional<CellPlace> {
            const auto& key = of_terms[static_cast<std::size_t>(i)];
            return key ? std::optional(Places{head, of_second}(Stage::weight, of, *key)) : std::nullopt;
        };
    };
    explain_cosine(out, terms, at(query, false, keys), at(second_query, true, second_keys));
    for (std::size_t i = 0; i < terms.size(); ++i)
        out.operands[i].name =
            keys[i] ? label_at(first->key_names(), *keys[i]) : label_at(second->key_names(), *second_keys[i]);
    out.title = "Cosine of two rows, " + head_text(head, first->numbering(), ", ");
    out.operands_title = "Weights of " + words;
    const auto number =
        static_cast<std::size_t>((head.layer - alike_.layers.begin) * alike_.heads + head.head);
    if (number < alike_.rows.size())
        out.f32 = static_cast<double>(static_cast<float>(alike_.rows[number].value()));
    return out;
}

}  // namespace attn::app
