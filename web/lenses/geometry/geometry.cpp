#include "lenses/geometry/geometry.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "subjects/projections.hpp"
#include "subjects/reading.hpp"

namespace attn::app::geometry {

namespace {

constexpr Index tokens_shown = 12;
constexpr std::size_t words_along = 6;

bool scores_given(const Attention& attention) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, Stage::raw) == stages.end();
}

DenseMatrix dense(Matrix&& m) { return {m.rows, m.cols, std::move(m.values)}; }

// A model's weights, or the numbers that were typed; null if the subject has neither.
std::shared_ptr<const HeadWeights> weights_of(Subject& subject, const app::State& state, HeadIndex head) {
    if (auto trace = subject.attention()->trace())
        return std::make_shared<HeadWeights>(head_weights(std::move(trace), head));
    auto typed = edited_projections(subject, state);
    if (!typed) return nullptr;
    const Index tokens = typed->x.rows;
    return std::make_shared<HeadWeights>(HeadWeights{.w_q = dense(std::move(typed->w_q)),
                                                     .w_k = dense(std::move(typed->w_k)),
                                                     .w_v = dense(std::move(typed->w_v)),
                                                     .tokens = tokens,
                                                     .key_tokens = tokens,
                                                     .x = dense(std::move(typed->x))});
}

// The tokens up to the chosen one that the form Q Kᵀ includes.
Range tokens_up_to(Index chosen, Index all) {
    const Index count = std::min(all, form_tokens_limit),
                first = std::clamp(chosen + 1 - count, Index{0}, all - count);
    return {first, first + count};
}

}  // namespace

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"Geometry begins with queries and keys; these weights were given finished."};
    const auto record = attention.record(subject.chosen().layer);
    if (!record) return std::nullopt;
    if (scores_given(attention))
        return Missing{"Geometry begins with queries and keys; here the scores were given."};
    if (record->d_k() == 0 || record->queries() == 0 || record->keys() == 0)
        return Missing{"Geometry begins with queries and keys; here they have no numbers."};
    return std::nullopt;
}

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    const ChosenRow row = chosen_row(subject);
    state = visit.state().of<State>();
    record = row.record;
    if (!record) return;
    place = {attention.version(), row.head, std::min(row.query, record->queries() - 1), subject.chosen().key};
    weights = weights_.of({place.version, place.head},
                          [&] { return weights_of(subject, visit.state(), place.head); });
    if (in_view_ == place) return;
    in_view_ = place;
    one_line = attention.one_line();
    const std::vector<float> shares = record->weights(place.head.head, place.query);
    const Index strongest = std::ranges::max_element(shares) - shares.begin();
    const std::array wanted{one_line ? place.query : -1, place.key.value_or(-1), strongest};
    // If queries and keys are the same tokens, both sides show the same ones.
    const std::span<const Index> of_queries = std::span(wanted).first(one_line ? wanted.size() : 0);
    queries = {record->queries(), tokens_shown, place.query, of_queries};
    keys = {record->keys(), tokens_shown, place.query, wanted};
}

Model::Key Model::key() const {
    const Result<NamedSum>* of = sum_.kept();
    return {place, state, of && *of && (*of)->done()};
}

// ---- The form ---------------------------------------------------------------------------------------------

FormOf Model::form_of() const {
    if (!weights) return FormOf::tokens;
    return state.form == FormOf::values && weights->w_o.empty() ? FormOf::scores : state.form;
}

Model::ShownForm& Model::shown_form() {
    const FormOf of = form_of();
    // The tokens matter to Q Kᵀ alone.
    const bool tokens = of == FormOf::tokens;
    const Place from{place.version, place.head, tokens ? place.query : 0, {}};
    return form_.of({from, of}, [&] {
        if (!tokens) return ShownForm{HeadForm(of, *weights)};
        return ShownForm{HeadForm(*record, place.head.head, tokens_up_to(place.query, record->queries()),
                                  tokens_up_to(place.query, record->keys()), !one_line)};
    });
}

FormPart Model::form_part() { return form().squares().square ? state.shown : FormPart::whole; }

FormPicture& Model::picture() {
    ShownForm& shown = shown_form();
    const FormPart part = form_part();
    return shown.picture.of(part, [&] { return FormPicture(shown.form.factors(), part); });
}

Index Model::direction() {
    const SingularDirections* all = form().directions();
    return all ? std::min(state.direction, std::max<Index>(all->count() - 1, 0)) : 0;
}

TokenDirections* Model::words(bool right) {
    ShownForm& shown = shown_form();
    if (!shown.form.directions() || !weights) return nullptr;
    auto& words = shown.words[right].of(direction(), [&] {
        const auto along = word_direction(*weights, shown.form, direction(), right);
        return along ? std::optional<TokenDirections>(std::in_place, *along->tokens, along->norm,
                                                      along->direction, words_along)
                     : std::nullopt;
    });
    return words ? &*words : nullptr;
}

// ---- The gauge, the metric, the einsum --------------------------------------------------------------------

const GaugedScores& Model::gauged() {
    return gauged_.of({place, state.gauge}, [&] {
        return GaugedScores(queries_and_keys(*record, place.head.head, queries.tokens(), keys.tokens()),
                            fitted(state.gauge, record->d_k()));
    });
}

const Result<MetricScores>& Model::metric() {
    return metric_.of({place, {state.metric, state.own}}, [&]() -> Result<MetricScores> {
        const Index size = record->d_k();
        const Matrix g = metric_of(state, size);
        if (g.rows != size)
            return Error{"This metric has " + many(g.rows, "row") + ", and the vectors here have " +
                         many(size, "component") + "."};
        auto metric = Metric::of(size, g.values);
        if (!metric) return metric.error();
        return MetricScores(*record, place.head.head,
                            queries_and_keys(*record, place.head.head, queries.tokens(), keys.tokens()),
                            *std::move(metric), place.query);
    });
}

NamedHead Model::named_head() const {
    return {record, weights, place.head, place.query,
            std::min(place.key.value_or(place.query), record->keys() - 1)};
}

Result<NamedSum>& Model::sum() {
    return sum_.of({place, state.einsum}, [&] { return NamedSum::of(named_head(), state.einsum); });
}

// ---- Its numbers ------------------------------------------------------------------------------------------

bool Model::holds(const LensCell& cell) {
    if (!cell.is_within()) return false;
    const auto [row, col, third] = cell.at;
    const auto is = [&](const auto&... kinds) { return ((cell.kind == &kinds) || ...); };
    const auto within = [&](Index rows, Index cols) { return row < rows && col < cols; };
    const Index d = record->d_k();
    if (is(cells::metric, cells::inverse_metric, cells::raised_query, cells::metric_score,
           cells::metric_weight) &&
        !metric())
        return false;
    if (is(cells::gauge, cells::dual_gauge, cells::metric, cells::inverse_metric)) return within(d, d);
    if (is(cells::gauged_query, cells::raised_query)) return queries.holds(row) && col < d;
    if (is(cells::gauged_key)) return keys.holds(row) && col < d;
    if (is(cells::gauged_score, cells::metric_score)) return queries.holds(row) && keys.holds(col);
    if (is(cells::metric_weight)) return row == place.query && keys.holds(col);
    if (is(cells::einsum)) {
        const auto& of = sum();
        return of && of->sum().done() && within(of->leading(), of->last());
    }
    const HeadForm& shown = form();
    if (!shown.finite()) return false;
    const FormFactors& factors = shown.factors();
    if (is(cells::bilinear_form)) return within(factors.rows(), factors.cols());
    if (is(cells::symmetric_part, cells::antisymmetric_part))
        return shown.squares().square && within(factors.rows(), factors.cols());
    const SingularDirections* all = shown.directions();
    if (!all) return false;
    if (is(cells::singular_value)) return row < all->count();
    if (is(cells::left_singular_vector)) return within(all->count(), all->rows);
    if (is(cells::right_singular_vector)) return within(all->count(), all->cols);
    if (is(cells::left_projection, cells::right_projection)) return within(all->count(), factors.rank());
    if (shown.of() == FormOf::tokens) return false;
    const HeadWeights& w = *weights;
    if (is(cells::left_token)) return within(shown.reads_keys(false) ? w.key_tokens : w.tokens, all->count());
    if (is(cells::right_token)) return shown.of() == FormOf::scores && within(w.key_tokens, all->count());
    return w.trace && within(w.trace->model()->config().vocab_size, all->count());
}

// ---- Texts ------------------------------------------------------------------------------------------------

namespace {

const char* gauge_name(GaugeKind kind) {
    switch (kind) {
        case GaugeKind::rotation: return "this rotation";
        case GaugeKind::stretch: return "this stretch";
        case GaugeKind::shear: return "this shear";
        case GaugeKind::mix: break;
    }
    return "this mix of all components";
}

std::string gauge_headline(const GaugedScores& scores) {
    if (!scores.finite)
        return "Some number of q or k in view is not finite, so a gauge has nothing to leave as it is.";
    if (scores.gauge.t == 0) return "At t = 0 the gauge is the identity: nothing has moved yet.";
    return "Under " + std::string(gauge_name(scores.gauge.kind)) + ", q moves by up to " +
           fixed(scores.moved_by, 3) + " a component, and no score in view by more than " +
           fixed(scores.off32, 1) + ".\nIn double precision, no score moves by more than " +
           fixed(scores.off, 1) + ".";
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

std::string metric_headline(Model& model, const Attention& attention) {
    const auto& scores = model.metric();
    if (!scores) return scores.error().message;
    const std::string asks = query_in_words(attention, model.place.query);
    const Looked before = strongest(scores->plain, model.record->keys()),
                 after = strongest(scores->under, model.record->keys());
    if (before.key < 0 || after.key < 0)
        return "No key has a weight for " + asks + ", with this metric or without.";
    return "Under this metric, " + asks + " looks most at " + key_in_words(attention, after.key) + " (" +
           percent(after.weight) + ").\nWithout it, " + asks + " looks most at " +
           (before.key == after.key ? "the same key" : key_in_words(attention, before.key)) + " (" +
           percent(before.weight) + ").";
}

std::string einsum_headline(const Result<NamedSum>& of) {
    if (!of) return of.error().message;
    std::string told = "This sum makes " + many(std::ssize(of->sum().f64()), "number") + " of " +
                       with_commas(of->sum().loops().multiply_adds) + " products";
    if (const auto& same = of->same())
        told += ", and it is " + std::string(same->matrix->name) + ", the " + same->matrix->what;
    return told + ".";
}

std::string form_headline(const HeadForm& form) {
    if (!form.finite()) return "Some number of " + form.name() + " is not finite, so it has no directions.";
    const SingularDirections* all = form.directions();
    if (!all) return "Finding the directions of " + form.name() + ".";
    const std::string used = "about " + fixed(all->effective_rank(), 1);
    const bool nearly_all = all->effective_rank() > 0.9 * static_cast<double>(all->count());
    const FormSquares& squares = form.squares();
    return std::string("This head ") + (form.of() == FormOf::scores ? "compares" : "writes") + " along " +
           many(all->count(), "direction") + " and uses " + (nearly_all ? "nearly all" : used) +
           " of them.\n" + form.name() + " is " + std::to_string(form.factors().rows()) + " × " +
           std::to_string(form.factors().cols()) + " and uses " + used + " of its directions" +
           (squares.square && squares.whole > 0
                ? ", and " + percent(squares.symmetric / squares.whole) + " of it is symmetric"
                : "") +
           ".";
}

}  // namespace

std::string Model::headline(Subject& subject) {
    if (!record) return "";
    switch (state.part) {
        case Part::gauge: return gauge_headline(gauged());
        case Part::metric: return metric_headline(*this, *subject.attention());
        case Part::einsum: return einsum_headline(sum());
        case Part::form: break;
    }
    return form_headline(form());
}

Guide Model::guide(Subject&) {
    return {
        "Scores as a bilinear form",
        "A score is x_i M x_jᵀ with M = W_Q W_Kᵀ: what the head compares is in M alone, and M has at most "
        "d_k directions. Each reads something of the query and something of the key, and adds their "
        "product (Elhage et al. 2021). In cross-attention, x_j is what the encoder gives.\n\n"
        "Q and K are not unique: any invertible G moves both, and no score. A metric between their "
        "components does change scores, as another W_Q would.\n\n"
        "Click a number to see what it is made of."};
}

}  // namespace attn::app::geometry
