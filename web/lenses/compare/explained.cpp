// Explains how similar two runs are: cosines between their vectors and rows, and differences of weights.
#include "app/format.hpp"
#include "lenses/compare/compare.hpp"
#include "subjects/explain_measured.hpp"

namespace attn::app::compare {

namespace {

// Returns a row's weights in double.
std::vector<double> weights_of(const Record& record, Index head, Index query) {
    const RowChain row = row_chain(record, head, query);
    std::vector<double> weights;
    for (Index key = 0; key < record.keys(); ++key) weights.push_back(row.at(key).weight);
    return weights;
}

std::optional<Explained> explain_difference(CompareLens& lens, Subject& subject, const HeadIndex& head,
                                            Index row, Index col) {
    const auto& [queries, keys] = lens.pairings(subject);
    const auto query = queries.alignment().second_of(row), key = keys.alignment().second_of(col);
    if (!query || !key) return std::nullopt;
    const Places here{head}, there{beside(head, *second_of(subject)), true};
    const CellPlace from = here(Stage::weight, row, col), to = there(Stage::weight, *query, *key);
    const auto a = subject.explain_at(from), b = subject.explain_at(to);
    if (!a || !b) return std::nullopt;
    Explained out{.title = "Difference of " + a->title,
                  .f32 = a->f32 - b->f32,
                  .formula = "first − second",
                  .operands_title = "Two weights"};
    out.term("first", a->f64, 1, from, std::nullopt, from);
    out.term("second", b->f64, -1, to, std::nullopt, to);
    out.line("difference", out.dot("weights", "signs"));
    return out;
}

std::optional<Explained> explain_residual(const Alike& alike, Subject& subject, Index bar,
                                          const std::string& words) {
    const QueryStack stack = query_stack(*subject.attention()), other = query_stack(*second_of(subject));
    if (bar >= std::ssize(alike.residual) || !stack.trace || !other.trace) return std::nullopt;
    const bool last = bar == std::ssize(stack.trace->layers());
    const auto residual = [&](const QueryStack& of) {
        const Tensor& rows =
            last ? of.trace->final_residual() : of.trace->layers()[static_cast<std::size_t>(bar)].resid_pre;
        return rows.matrix();
    };
    const ConstMatrix a = residual(stack), b = residual(other);
    std::vector<Term> terms;
    for (Index i = 0; i < a.cols; ++i)
        terms.push_back(
            {i, static_cast<double>(a(alike.query, i)), static_cast<double>(b(alike.second_query, i))});
    const HeadIndex layer{stack.first + (last ? bar - 1 : bar), 0};
    const Stage stage = last ? Stage::final_residual : Stage::resid_pre;
    Explained out{.title = "Cosine of " + words + ", " +
                           (bar == 0 ? "embedding" : "after layer " + std::to_string(bar - 1)),
                  .f32 = single(alike.residual[static_cast<std::size_t>(bar)].value()),
                  .operands_title = "Residuals, a · b"};
    explain_cosine(
        out, terms, [&](Index i) { return Places{layer}(stage, alike.query, i); },
        [&](Index i) { return Places{layer, true}(stage, alike.second_query, i); });
    return out;
}

std::optional<Explained> explain_row(const Alike& alike, Subject& subject, const Alignment& alignment,
                                     const HeadIndex& head, const std::string& words) {
    const Attention &first = *subject.attention(), &second = *second_of(subject);
    const bool shared = alike.layers.holds(head.layer);
    const auto a = shared ? first.record(head.layer) : nullptr,
               b = shared ? second.record(head.layer) : nullptr;
    if (!a || !b || head.head >= a->heads() || head.head >= b->heads()) return std::nullopt;
    // Paired keys are one component; every other key is a component that is 0 in the other row.
    const std::vector<double> row = weights_of(*a, head.head, alike.query),
                              other = weights_of(*b, head.head, alike.second_query);
    struct Component {
        std::optional<Index> key, second_key;
    };
    std::vector<Component> components;
    for (Index key = 0; key < std::ssize(row); ++key) components.push_back({key, alignment.second_of(key)});
    for (Index key = 0; key < std::ssize(other); ++key)
        if (!alignment.first_of(key)) components.push_back({std::nullopt, key});
    std::vector<Term> terms;
    for (const auto& [key, second_key] : components)
        terms.push_back({std::ssize(terms), key ? row[static_cast<std::size_t>(*key)] : 0,
                         second_key ? other[static_cast<std::size_t>(*second_key)] : 0});
    const auto place = [&](Index query, bool of_second, std::optional<Index> key) {
        return key ? std::optional(Places{head, of_second}(Stage::weight, query, *key)) : std::nullopt;
    };
    const auto at = [&](Index i) { return components[static_cast<std::size_t>(i)]; };
    Explained out{.title = "Cosine of two rows, " + head_text(head, first.numbering(), ", "),
                  .operands_title = "Weights of " + words};
    explain_cosine(
        out, terms, [&](Index i) { return place(alike.query, false, at(i).key); },
        [&](Index i) { return place(alike.second_query, true, at(i).second_key); });
    for (std::size_t i = 0; i < components.size(); ++i)
        out.operands[i].name = components[i].key ? label_at(first.key_names(), *components[i].key)
                                                 : label_at(second.key_names(), *components[i].second_key);
    if (head.head < alike.heads)
        out.f32 = single(alike.row(head.layer - alike.layers.begin, head.head).value());
    return out;
}

}  // namespace

CellKinds numbers() {
    static constexpr std::array<const CellKind*, 3> kinds{&cells::cosine, &cells::row_cosine,
                                                          &cells::difference};
    return kinds;
}

std::optional<CellRef> measured_cell(const app::State&, std::string_view name, Index row, Index col) {
    if (row < 0 || col < 0) return std::nullopt;
    if (name == cells::cosine.name && col == 0) return cells::cosine(row);
    if (name == cells::row_cosine.name) return cells::row_cosine(row, col);
    return name == cells::difference.name ? std::optional(cells::difference(row, col)) : std::nullopt;
}

std::optional<Explained> CompareLens::explain(Subject& subject, const CellPlace& place) {
    const LensCell* cell = place.cell.own();
    if (!cell) return subject.explain_at(place);
    const Attention *first = subject.attention(), *second = second_of(subject);
    if (!first || !second || !cell->is_within()) return std::nullopt;
    std::optional<Explained> out;
    if (cell->kind == &cells::difference) {
        out = explain_difference(*this, subject, place.head, cell->at[0], cell->at[1]);
    } else if (const Alike* alike = last_alike();
               alike && alike->query < first->queries() && alike->second_query < second->queries()) {
        const std::string words = in_quotes(label_at(first->query_names(), alike->query)) + " and " +
                                  in_quotes(label_at(second->query_names(), alike->second_query));
        out = cell->kind == &cells::cosine ? explain_residual(*alike, subject, cell->at[0], words)
                                           : explain_row(*alike, subject, pairings(subject).keys.alignment(),
                                                         {cell->at[0], cell->at[1]}, words);
    }
    if (out) {
        const auto [first_name, second_name] = subject.comparing()->comparison_names();
        out->provenance = first_name + " and " + second_name;
    }
    return out;
}

}  // namespace attn::app::compare
