// Draws the bilinear form: its matrix, its singular values, and what one of its directions finds.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::geometry {

namespace {

constexpr float chart_height = 270, least_list = 240;

const char* side_name(const HeadForm& form, bool right) {
    if (form.of() == FormOf::values) return right ? "writes" : "reads";
    return right ? "key side" : "query side";
}

struct Found {
    std::string name;
    double along;
    CellRef cell;
};

// Draws the tokens' components along a direction, as bars about zero.
void draw_along(const Drawing& drawing, present::Bars shown, const std::vector<Found>& found, float width) {
    shown.notation = shown.value;
    shown.most = 0;
    for (const Found& each : found) {
        shown.bars.push_back({each.name, static_cast<float>(each.along), fixed(each.along, 2)});
        if (std::isfinite(each.along))
            shown.most = std::max(shown.most, static_cast<float>(std::abs(each.along)));
    }
    shown.scale = ui::diverging_scale(shown.most);
    shown.cell = [&](Index bar) { return found[static_cast<std::size_t>(bar)].cell; };
    present::bars(drawing, shown, width);
}

// What M leaves out, or why it is not the chosen form.
const char* caption_of(const HeadForm& form, const HeadWeights* w, FormOf chosen) {
    if (!w)
        return chosen == FormOf::tokens ? nullptr
                                        : "Only q and k are known here, not the weights that made them: the "
                                          "form is Q Kᵀ, between tokens.";
    if (chosen == FormOf::values && form.of() != FormOf::values)
        return "There is no W_O here, so what the head writes is V itself; the form is W_Q W_Kᵀ.";
    if (form.of() == FormOf::tokens) return nullptr;
    if (w->crosses)
        return form.of() == FormOf::scores
                   ? "Rows of M read what is written, columns what the encoder gives: two spaces, so M has "
                     "no symmetric part."
                   : "Rows of M read what the encoder gives, columns are written for the decoder: two "
                     "spaces, so M has no symmetric part.";
    if (form.of() == FormOf::values) return nullptr;
    if (w->normalised)
        return "Norms come between the weights and q and k here, so M leaves out a factor of each token.";
    if (w->rotated)
        return "Positions turn q and k after the weights here: M is the form of two tokens at the same "
               "place.";
    return w->biased ? "q and k have biases here, too, which add to a score what M does not know." : nullptr;
}

void draw_map(Model& model, const Drawing& drawing, Subject& subject, float width) {
    if (!model.picture().done())
        drawing.visit.continue_with([&model] { return model.record && model.picture().step(); });
    present::sheet(drawing, form_sheet(model, subject), width);
    const HeadForm& form = model.form();
    const FormSquares& all = form.squares();
    std::string told = "‖M‖ = " + fixed(std::sqrt(all.whole), 3) + ".";
    const auto rows = static_cast<double>(form.factors().rows());
    if (all.square && all.whole > 0)
        told += " Symmetric " + fixed(100 * all.symmetric / all.whole, 1) + " %, antisymmetric " +
                fixed(100 * all.antisymmetric / all.whole, 1) +
                " % of ‖M‖²; a matrix of independent numbers has " + fixed(50 + 50 / rows, 1) + " and " +
                fixed(50 - 50 / rows, 1) + " % on average, ½ (1 ± 1/" + with_commas(form.factors().rows()) +
                ").";
    if (model.picture().cut())
        told += " The picture is of the first " + with_commas(form_side_limit) + " rows and columns.";
    ui::caption(told.c_str());
    ui::landmark_item("geometry/shares");
    if (const char* caption = caption_of(form, model.weights.get(), model.state.form)) ui::caption(caption);
}

void draw_singular(Model& model, const Drawing& drawing, float width) {
    const HeadForm& form = model.form();
    const SingularDirections& all = *form.directions();
    const Index r = model.direction();
    ui::ChartCurve bars{.name = "σ", .colour = ui::with_alpha(ui::theme().accent, 0.6f), .bars = true};
    for (Index i = 0; i < all.count(); ++i) bars.x.push_back(static_cast<double>(i));
    bars.y = all.values;
    const std::array curves{bars};
    const ui::Chart chart{.name = "singular",
                          .title = "Singular values of " + form.name(),
                          .x = {"direction", -0.5, static_cast<double>(all.count()) - 0.5, false, true},
                          .y = ui::fitted("σ", curves, true),
                          .marked = static_cast<double>(r)};
    const ui::ChartReply reply =
        present::chart(drawing, chart, width, chart_height, curves,
                       [](std::size_t, std::size_t point) { return cells::singular_value(point); });
    if (reply.held) {
        State next = drawing.state().of<State>();
        next.direction = std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{0}, all.count() - 1);
        // If the State's direction does not exist, the shown one is not chosen in its place.
        if (next.direction != r) set(drawing, next, ui::gesture());
    }
    const std::string sigma = fixed(all.values[static_cast<std::size_t>(r)], 3);
    const std::string added = form.of() == FormOf::values ? " writes " + sigma + " · (x · u) along v."
                              : form.of() == FormOf::tokens
                                  ? " adds " + sigma + " · u[i] · v[j] to a score."
                                  : " adds " + sigma + " · (x_i · u) · (x_j · v) to a score.";
    ui::caption(("Direction " + std::to_string(r) + added).c_str());
}

// Draws what the direction finds in the tokens in view.
void draw_tokens(Model& model, const Drawing& drawing, const Attention& attention, bool right, float width) {
    const HeadForm& form = model.form();
    const Index r = model.direction();
    const std::span<const double> along = form.direction(r, right);
    const bool tokens = form.of() == FormOf::tokens, of_key = tokens ? right : form.reads_keys(right),
               keys = of_key && (tokens || model.weights->crosses);
    const ShownTokens& in_view = keys ? model.keys : model.queries;
    const auto labels = in_view.labels(keys ? attention.key_names() : attention.query_names());
    std::vector<Found> found;
    for (Index i = 0; i < in_view.size(); ++i) {
        const Index token = in_view[i], at = token - (right ? form.first_col() : form.first_row());
        // For a long text, the form holds only some tokens.
        if (tokens && (at < 0 || at >= std::ssize(along))) continue;
        double sum = tokens ? along[static_cast<std::size_t>(at)] : 0;
        for (Index b = 0; !tokens && b < std::ssize(along); ++b)
            sum += model.weights->input(token, b, of_key) * along[static_cast<std::size_t>(b)];
        found.push_back({labels[static_cast<std::size_t>(i)], sum,
                         tokens ? (right ? cells::right_singular_vector : cells::left_singular_vector)(r, at)
                                : (right ? cells::right_token : cells::left_token)(token, r)});
    }
    draw_along(drawing,
               {.key = right ? "geometry/right" : "geometry/left",
                .title = std::string("These tokens, ") + side_name(form, right),
                .value = tokens ? (right ? "v[j]" : "u[i]") : (right ? "x · v" : "x · u"),
                .bars = {}},
               found, width);
}

// Draws what it finds in the vocabulary.
void draw_words(Model& model, const Drawing& drawing, Subject& subject, bool right, bool low, float width) {
    const HeadForm& form = model.form();
    const TokenDirections& all = *model.words(right);
    const std::span<const TokenAlong> tokens = low ? all.lowest() : all.highest();
    std::vector<std::int32_t> ids;
    for (const TokenAlong& token : tokens) ids.push_back(token.id);
    const std::vector<std::string> names = subject.token_texts(ids);
    std::vector<Found> found;
    for (std::size_t i = 0; i < ids.size(); ++i)
        found.push_back(
            {i < names.size() ? names[i] : std::to_string(ids[i]), static_cast<double>(tokens[i].along),
             (right ? cells::right_vocabulary : cells::left_vocabulary)(ids[i], model.direction())});
    draw_along(drawing,
               {.key = std::string("geometry/word/") + (right ? "right" : "left") + (low ? "/low" : "/high"),
                .title = std::string("Vocabulary, ") + side_name(form, right) + (low ? " −" : " +"),
                .value = form.of() == FormOf::values && right ? "the direction through W_head"
                         : all.normalises()                   ? "norm(W_E) along it"
                                                              : "W_E along it",
                .bars = {}},
               found, width);
}

}  // namespace

void draw_form_controls(Model& model, const Drawing& drawing) {
    State next = model.state;
    const HeadForm& form = model.form();
    static constexpr std::array names{"W_Q W_Kᵀ", "W_V W_O", "Q Kᵀ"};
    ui::control(ui::need::many_choices, [&] {
        if (const auto chosen = ui::choice("geometry/form", names, static_cast<int>(form.of())))
            next.form = static_cast<FormOf>(*chosen);
    });
    if (form.squares().square) {
        ui::control(ui::need::named_choices, [&] {
            static constexpr std::array parts{"M", "symmetric", "antisymmetric"};
            if (const auto chosen = ui::choice("geometry/shown", parts, static_cast<int>(next.shown)))
                next.shown = static_cast<FormPart>(*chosen);
        });
    }
    if (form.directions()) {
        ui::control(ui::need::stepper, [&] {
            if (const auto to = ui::stepper("geometry/direction", "direction", model.direction(), 0,
                                            form.directions()->count() - 1))
                next.direction = *to;
        });
    }
    set(drawing, next, ui::gesture());
}

void draw_form(Model& model, const Drawing& drawing, Subject& subject) {
    model.update(drawing.visit, subject);
    const HeadForm& form = model.form();
    if (!form.finite()) return;
    if (!form.directions()) {
        drawing.visit.continue_with([&model] { return model.record && model.form().step(); });
        return ui::caption("Finding the directions …");
    }
    present::in_columns({[&](float width) { draw_map(model, drawing, subject, width); },
                         [&](float width) { draw_singular(model, drawing, width); }},
                        least_column);
    std::vector<present::Picture> found;
    for (const bool right : {false, true}) {
        if (!right || form.of() != FormOf::values)
            found.emplace_back(
                [&, right](float width) { draw_tokens(model, drawing, *subject.attention(), right, width); });
        const TokenDirections* words = model.words(right);
        if (words && !words->done())
            drawing.visit.continue_with([&model, right] {
                TokenDirections* now = model.record ? model.words(right) : nullptr;
                return now && !now->done() && now->step();
            });
        for (const bool low : {false, true})
            if (words && words->done())
                found.emplace_back(
                    [&, right, low](float width) { draw_words(model, drawing, subject, right, low, width); });
    }
    present::in_columns(found, least_list);
}

}  // namespace attn::app::geometry
