#include "lenses/geometry/geometry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/format.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

// The tokens up to the chosen one.
Range tokens_up_to(Index chosen, Index all, Index most) {
    const Index count = std::min(all, most), first = std::clamp(chosen + 1 - count, Index{0}, all - count);
    return {first, first + count};
}

bool scores_given(const Attention& attention) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, Stage::raw) == stages.end();
}

// Writes the share of each part of the form, as "48 %"; nothing for a form that is not square.
std::string symmetric_share(const FormSquares& squares) {
    return squares.square && squares.whole > 0
               ? ", and " + percent(squares.symmetric / squares.whole) + " of it is symmetric"
               : "";
}

const char* gauge_name(GaugeKind kind) {
    switch (kind) {
        case GaugeKind::rotation: return "this rotation";
        case GaugeKind::stretch: return "this stretch";
        case GaugeKind::shear: return "this shear";
        case GaugeKind::mix: break;
    }
    return "this mix of all components";
}

double largest_move(const GaugedHead& head) {
    const Record& record = *head.in_view.record;
    const Matrix q = rows_of(record.q(), head.in_view.head, head.in_view.queries.tokens());
    double largest = 0;
    for (std::size_t i = 0; i < q.values.size(); ++i)
        largest = std::max(largest, std::abs(head.q.values[i] - q.values[i]));
    return largest;
}

struct Looked {
    Index key = -1;  // no key
    double weight = 0;
};
Looked strongest(const RowChain& row, Index keys) {
    Looked found;
    for (Index j = 0; j < keys; ++j)
        if (const double weight = row.at(j).weight; weight > found.weight) found = {j, weight};
    return found;
}

}  // namespace

std::optional<Missing> GeometryLens::missing(Subject& subject) const {
    const Attention* attention = subject.attention();
    if (attention->finished())
        return Missing{"Geometry begins with queries and keys; these weights were given finished."};
    const auto record = attention->record(subject.chosen().layer);
    if (!record) return std::nullopt;
    if (scores_given(*attention))
        return Missing{"Geometry begins with queries and keys; here the scores were given."};
    if (record->d_k() == 0 || record->queries() == 0 || record->keys() == 0)
        return Missing{"Geometry begins with queries and keys; here they have no numbers."};
    return std::nullopt;
}

std::shared_ptr<const Record> GeometryLens::record(Subject& subject) const {
    const Attention* attention = subject.attention();
    if (!attention || missing(subject)) return nullptr;
    return attention->record(subject.chosen().layer);
}

Index GeometryLens::query(const Record& record) const {
    return std::min(chosen_query(subject_in(visit())), record.queries() - 1);
}

GeometryLens::From GeometryLens::from(Subject& subject, bool tokens) const {
    const Selection s = subject.chosen();
    From made{subject.attention()->version(), {s.layer, s.head}, {}, {}};
    if (tokens) made.query = s.query, made.key = s.key;
    return made;
}

const std::optional<HeadWeights>& GeometryLens::weights(Subject& subject) const {
    const From now = from(subject, false);
    if (!weights_ || weights_->from != now)
        weights_ = {now, {}, head_weights(subject, state(), subject.chosen_head())};
    return weights_->what;
}

FormOf GeometryLens::form_of(Subject& subject) const {
    const auto& w = weights(subject);
    if (!w) return FormOf::tokens;
    return now().form == FormOf::values && w->w_o.empty() ? FormOf::scores : now().form;
}

HeadForm* GeometryLens::form(Subject& subject) const {
    const auto shown = record(subject);
    if (!shown) return nullptr;
    const FormOf of = form_of(subject);
    const From now = from(subject, of == FormOf::tokens);
    if (form_ && form_->from == now && form_->with == of) return form_->what.get();
    std::unique_ptr<HeadForm> made;
    if (of == FormOf::tokens) {
        const Index last = query(*shown);
        made = std::make_unique<HeadForm>(
            *shown, subject.chosen_head().head, tokens_up_to(last, shown->queries(), form_tokens_limit),
            tokens_up_to(last, shown->keys(), form_tokens_limit), !subject.attention()->one_line());
    } else {
        made = std::make_unique<HeadForm>(of, *weights(subject));
    }
    form_ = {now, of, std::move(made)};
    return form_->what.get();
}

FormPicture& GeometryLens::picture(Subject& subject, const HeadForm& shown, FormPart part) const {
    const From now = from(subject, shown.of() == FormOf::tokens);
    const PictureWith with{shown.of(), part};
    if (!picture_ || picture_->from != now || picture_->with != with)
        picture_ = {now, with, std::make_unique<FormPicture>(shown.factors(), part)};
    return *picture_->what;
}

Index GeometryLens::direction(Subject& subject) const {
    const HeadForm* shown = form(subject);
    if (!shown || !shown->directions()) return 0;
    return std::min(now().direction, std::max<Index>(shown->directions()->count() - 1, 0));
}

TokenDirections* GeometryLens::words(Subject& subject, bool right) const {
    const HeadForm* shown = form(subject);
    if (!shown || !shown->directions() || shown->of() == FormOf::tokens) return nullptr;
    auto& kept = words_[right];
    const From now = from(subject, false);
    const WordsWith with{shown->of(), direction(subject)};
    if (kept && kept->from == now && kept->with == with) return kept->what.get();
    kept = {now, with, nullptr};
    if (const auto along = word_direction(*weights(subject), *shown, with.direction, right))
        kept->what =
            std::make_unique<TokenDirections>(*along->tokens, along->norm, along->direction, words_along);
    return kept->what.get();
}

std::optional<VectorsInView> GeometryLens::in_view(Subject& subject) const {
    const auto shown = record(subject);
    if (!shown) return std::nullopt;
    const Index last = query(*shown), head = subject.chosen_head().head;
    const std::vector<float> weights = shown->weights(head, last);
    const Index strongest = std::ranges::max_element(weights) - weights.begin();
    const bool one_line = subject.attention()->one_line();
    const std::array wanted{one_line ? last : -1, state().selection.key.value_or(-1), strongest};
    // If queries and keys are the same tokens, both sides show the same ones.
    const std::span<const Index> of_queries = std::span(wanted).first(one_line ? wanted.size() : 0);
    return VectorsInView{shown.get(),
                         head,
                         {shown->queries(), geometry_tokens_shown, last, of_queries},
                         {shown->keys(), geometry_tokens_shown, last, wanted}};
}

const GaugedHead* GeometryLens::gauged(Subject& subject) const {
    const auto vectors = in_view(subject);
    if (!vectors) return nullptr;
    const From now_from = from(subject, true);
    if (!gauged_ || gauged_->from != now_from || gauged_->with != now().gauge)
        gauged_.emplace(now_from, now().gauge, GaugedHead(*vectors, now().gauge));
    return &gauged_->what;
}

const Result<MetricHead>* GeometryLens::metric(Subject& subject) const {
    const auto vectors = in_view(subject);
    if (!vectors) return nullptr;
    const From now_from = from(subject, true);
    const MetricWith with{now().metric, now().own};
    if (metric_ && metric_->from == now_from && metric_->with == with) return &metric_->what;
    const Index size = vectors->record->d_k();
    const Matrix g = metric_of(now(), size);
    const auto made = [&]() -> Result<MetricHead> {
        if (g.rows != size)
            return Error{"This metric has " + many(g.rows, "row") + ", and the vectors here have " +
                         many(size, "component") + "."};
        auto metric = Metric::of(size, g.values);
        if (!metric) return metric.error();
        return MetricHead(*vectors, *std::move(metric), query(*vectors->record));
    };
    metric_.emplace(now_from, with, made());
    return &metric_->what;
}

const Result<std::unique_ptr<NamedSum>>* GeometryLens::sum(Subject& subject) const {
    if (!record(subject)) return nullptr;
    const From now_from = from(subject, true);
    if (!sum_ || sum_->from != now_from || sum_->with != now().einsum)
        sum_.emplace(now_from, now().einsum, NamedSum::of(subject, state(), weights(subject), now().einsum));
    return &sum_->what;
}

bool GeometryLens::holds(Subject& subject, const LensCell& cell) const {
    using namespace geometry_cells;
    const auto shown = record(subject);
    const auto [row, col, third] = cell.at;
    if (!shown || !cell.kind || !cell.is_within()) return false;
    const auto is = [&](const auto&... kinds) { return ((cell.kind == &kinds) || ...); };
    const auto within = [&](Index rows, Index cols) { return row < rows && col < cols; };
    const Index d = shown->d_k();
    const auto vectors = *in_view(subject);
    if (is(gauge, dual_gauge, geometry_cells::metric, inverse_metric)) return within(d, d);
    if (is(gauged_query, raised_query)) return vectors.queries.holds(row) && col < d;
    if (is(gauged_key)) return vectors.keys.holds(row) && col < d;
    if (is(gauged_score, metric_score)) return vectors.queries.holds(row) && vectors.keys.holds(col);
    if (is(metric_weight)) return row == query(*shown) && vectors.keys.holds(col);
    if (is(einsum)) {
        const auto* of = sum(subject);
        return of && *of && (**of)->sum().done() && within((**of)->leading(), (**of)->last());
    }
    const HeadForm* f = form(subject);
    if (!f || !f->finite()) return false;
    if (is(bilinear_form)) return within(f->factors().rows(), f->factors().cols());
    if (is(symmetric_part, antisymmetric_part))
        return f->squares().square && within(f->factors().rows(), f->factors().cols());
    const SingularDirections* all = f->directions();
    if (!all) return false;
    const auto& w = weights(subject);
    const bool of_weights = w && f->of() != FormOf::tokens;
    if (is(singular_value)) return row < all->count();
    if (is(left_singular_vector)) return within(all->count(), all->rows);
    if (is(right_singular_vector)) return within(all->count(), all->cols);
    if (is(left_projection, right_projection)) return within(all->count(), f->factors().rank());
    if (is(left_token))
        return of_weights && within(f->reads_keys(false) ? w->key_tokens : w->tokens, all->count());
    if (is(right_token))
        return of_weights && f->of() == FormOf::scores && within(w->key_tokens, all->count());
    return of_weights && w->trace && within(w->trace->model()->config().vocab_size, all->count());
}

bool GeometryLens::shows(Subject& subject, const CellRef& cell) const { return holds(subject, cell.own); }

std::string GeometryLens::spoken(Subject& subject) {
    const auto shown = record(subject);
    if (!shown) return "";
    const Attention& attention = *subject.attention();
    if (now().part == GeometryPart::gauge) {
        const GaugedHead& head = *gauged(subject);
        if (!head.finite)
            return "Some number of q or k in view is not finite, so a gauge has nothing to leave as it is.";
        if (head.gauge.t == 0) return "At t = 0 the gauge is the identity: nothing has moved yet.";
        return "Under " + std::string(gauge_name(head.gauge.kind)) + ", q moves by up to " +
               fixed(largest_move(head), 3) + " a component, and no score in view by more than " +
               fixed(head.off32, 1) + ".\nIn double precision, no score moves by more than " +
               fixed(head.off, 1) + ".";
    }
    if (now().part == GeometryPart::metric) {
        const auto& head = *metric(subject);
        if (!head) return head.error().message;
        const Index keys = shown->keys();
        const std::string asks = query_in_words(attention, head->query);
        const Looked before = strongest(head->plain, keys), after = strongest(head->under, keys);
        if (before.key < 0 || after.key < 0)
            return "No key has a weight for " + asks + ", with this metric or without.";
        const std::string found = key_in_words(attention, after.key) + " (" + percent(after.weight) + ")";
        return "Under this metric, " + asks + " looks most at " + found + ".\nWithout it, " + asks +
               " looks most at " +
               (before.key == after.key ? "the same key" : key_in_words(attention, before.key)) + " (" +
               percent(before.weight) + ").";
    }
    if (now().part == GeometryPart::einsum) {
        const auto& of = *sum(subject);
        if (!of) return of.error().message;
        const NamedSum& all = **of;
        const auto elements = std::ssize(all.sum().f64());
        std::string told = "This sum makes " + many(elements, "number") + " of " +
                           with_commas(all.sum().loops().multiply_adds) + " products";
        if (all.same())
            told +=
                ", and it is " + std::string(all.same()->matrix->name) + ", the " + all.same()->matrix->what;
        return told + ".";
    }
    const HeadForm& f = *form(subject);
    if (!f.finite()) return "Some number of " + f.name() + " is not finite, so it has no directions.";
    const SingularDirections* all = f.directions();
    if (!all) return "Finding the directions of " + f.name() + ".";
    const double used = all->effective_rank();
    const bool nearly_all = used > 0.9 * static_cast<double>(all->count());
    return std::string("This head ") + (f.of() == FormOf::scores ? "compares" : "writes") + " along " +
           many(all->count(), "direction") + " and uses " +
           (nearly_all ? "nearly all of them" : "about " + fixed(used, 1) + " of them") + ".\n" + f.name() +
           " is " + std::to_string(f.factors().rows()) + " × " + std::to_string(f.factors().cols()) +
           " and uses about " + fixed(used, 1) + " of its directions" + symmetric_share(f.squares()) + ".";
}

Guide GeometryLens::guide(Subject&) const {
    return {
        "Scores as a bilinear form",
        "A score is x_i M x_jᵀ with M = W_Q W_Kᵀ: what the head compares is in M alone, and M has at most "
        "d_k directions. Each reads something of the query and something of the key, and adds their "
        "product (Elhage et al. 2021). In cross-attention, x_j is what the encoder gives.\n\n"
        "Q and K are not unique: any invertible G moves both, and no score. A metric between their "
        "components does change scores, as another W_Q would.\n\n"
        "Click a number to see what it is made of."};
}

}  // namespace attn::app
