// Draws the bilinear form: its matrix, its singular values, and what one of its directions finds.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float chart_height = 270, least_list = 240;

const char* side_name(const HeadForm& form, bool right) {
    if (form.of() == FormOf::values) return right ? "writes" : "reads";
    return right ? "key side" : "query side";
}

// Draws the tokens' components along a direction, as bars about zero.
void draw_along(const Drawing& drawing, present::Bars shown,
                const std::vector<std::pair<std::string, double>>& found, std::vector<CellRef> cells,
                float width) {
    shown.notation = shown.value;
    shown.most = 0;
    for (const auto& [name, along] : found) {
        shown.bars.push_back({name, static_cast<float>(along), fixed(along, 2)});
        if (std::isfinite(along)) shown.most = std::max(shown.most, static_cast<float>(std::abs(along)));
    }
    shown.scale = ui::diverging_scale(shown.most);
    shown.cell = [cells = std::move(cells)](Index bar) { return cells[static_cast<std::size_t>(bar)]; };
    present::bars(drawing, shown, width);
}

}  // namespace

void GeometryLens::draw_form_controls(Subject& subject, const HeadForm& form) {
    GeometryState next = now();
    const auto& w = weights(subject);
    static constexpr std::array names{"W_Q W_Kᵀ", "W_V W_O", "Q Kᵀ"};
    ImGui::BeginGroup();
    if (const auto chosen = ui::choice("geometry/form", names, static_cast<int>(form.of())))
        next.form = static_cast<FormOf>(*chosen);
    ImGui::EndGroup();
    if (form.squares().square) {
        ui::next_control(ui::need::named_choices);
        ImGui::BeginGroup();
        static constexpr std::array parts{"M", "symmetric", "antisymmetric"};
        if (const auto chosen = ui::choice("geometry/shown", parts, static_cast<int>(now().shown)))
            next.shown = static_cast<FormPart>(*chosen);
        ImGui::EndGroup();
    }
    if (form.directions()) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto to = ui::stepper("geometry/direction", "direction", direction(subject), 0,
                                        form.directions()->count() - 1))
            next.direction = *to;
        ImGui::EndGroup();
    }
    set(next, ui::gesture());
    if (!w && now().form != FormOf::tokens)
        ui::caption(
            "Only q and k are known here, not the weights that made them: the form is Q Kᵀ, between tokens.");
    else if (now().form == FormOf::values && form.of() != FormOf::values)
        ui::caption("There is no W_O here, so what the head writes is V itself; the form is W_Q W_Kᵀ.");
    else if (w && w->crosses && form.of() != FormOf::tokens)
        ui::caption(
            form.of() == FormOf::scores
                ? "Rows of M read what is written, columns what the encoder gives: two spaces, so M has no "
                  "symmetric part."
                : "Rows of M read what the encoder gives, columns are written for the decoder: two spaces, "
                  "so M has no symmetric part.");
    else if (form.of() == FormOf::scores && w->normalised)
        ui::caption(
            "Norms come between the weights and q and k here, so M leaves out a factor of each token.");
    else if (form.of() == FormOf::scores && w->turned)
        ui::caption(
            "Positions turn q and k after the weights here: M is the form of two tokens at the same place.");
    else if (form.of() == FormOf::scores && w->biased)
        ui::caption("q and k have biases here, too, which add to a score what M does not know.");
}

void GeometryLens::draw_form_map(const Drawing& drawing, Subject& subject, const HeadForm& form,
                                 float width) {
    const FormPart part = form.squares().square ? now().shown : FormPart::whole;
    FormPicture& shown = picture(subject, form, part);
    if (!shown.done())
        drawing.visit.continue_with([this, &shown, begun = picture_->from] {
            return picture_ && picture_->from == begun && picture_->what.get() == &shown && shown.step();
        });
    present::sheet(drawing, form_sheet(subject, form), width);
    const FormSquares& all = form.squares();
    std::string told = "‖M‖ = " + fixed(std::sqrt(all.whole), 3) + ".";
    const auto rows_in_all = static_cast<double>(form.factors().rows());
    if (all.square && all.whole > 0)
        told += " Symmetric " + fixed(100 * all.symmetric / all.whole, 1) + " %, antisymmetric " +
                fixed(100 * all.antisymmetric / all.whole, 1) +
                " % of ‖M‖²; a matrix of independent numbers has " + fixed(50 + 50 / rows_in_all, 1) +
                " and " + fixed(50 - 50 / rows_in_all, 1) + " % on average, ½ (1 ± 1/" +
                with_commas(form.factors().rows()) + ").";
    if (shown.cut())
        told += " The picture is of the first " + with_commas(form_side_limit) + " rows and columns.";
    ui::caption(told.c_str());
    ui::landmark_item("geometry/shares");
}

void GeometryLens::draw_singular(const Drawing& drawing, const HeadForm& form, Index direction, float width) {
    const SingularDirections& all = *form.directions();
    ui::ChartCurve bars{.name = "σ", .colour = ui::with_alpha(ui::theme().accent, 0.6f), .bars = true};
    for (Index r = 0; r < all.count(); ++r) {
        bars.x.push_back(static_cast<double>(r));
        bars.y.push_back(all.values[static_cast<std::size_t>(r)]);
    }
    const std::array curves{bars};
    const ui::Chart chart{.name = "singular",
                          .title = "Singular values of " + form.name(),
                          .x = {"direction", -0.5, static_cast<double>(all.count()) - 0.5, false, true},
                          .y = ui::fitted("σ", curves, true),
                          .marked = static_cast<double>(direction)};
    const ui::ChartReply reply =
        present::chart(drawing, chart, width, chart_height, curves,
                       [](std::size_t, std::size_t point) { return geometry_cells::singular_value(point); });
    if (!reply.held) return;
    GeometryState next = now();
    next.direction = std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{0}, all.count() - 1);
    // If the State's direction does not exist, the shown one is not chosen in its place.
    if (next.direction != direction) set(next, ui::gesture());
}

// Draws what the direction finds in the tokens in view.
void GeometryLens::draw_tokens(const Drawing& drawing, Subject& subject, const HeadForm& form, bool right,
                               float width) {
    const Attention& attention = *subject.attention();
    const VectorsInView shown = *in_view(subject);
    const Index r = direction(subject);
    const std::span<const double> along =
        right ? form.directions()->right_of(r) : form.directions()->left_of(r);
    const bool tokens = form.of() == FormOf::tokens, of_key = tokens ? right : form.reads_keys(right),
               keys = of_key && (tokens || weights(subject)->crosses);
    const ShownTokens& in_view = keys ? shown.keys : shown.queries;
    const Index before = right ? form.first_col() : form.first_row();
    std::vector<std::pair<std::string, double>> found;
    std::vector<CellRef> cells;
    const auto labels = in_view.labels(keys ? attention.key_names() : attention.query_names());
    for (Index i = 0; i < in_view.size(); ++i) {
        const Index token = in_view[i], at = token - before;
        // For a long text, the form holds only some tokens.
        if (tokens && (at < 0 || at >= std::ssize(along))) continue;
        double sum = tokens ? along[static_cast<std::size_t>(at)] : 0;
        for (Index b = 0; !tokens && b < std::ssize(along); ++b)
            sum += weights(subject)->input(token, b, of_key) * along[static_cast<std::size_t>(b)];
        found.emplace_back(labels[static_cast<std::size_t>(i)], sum);
        cells.push_back(tokens
                            ? (right ? geometry_cells::right_singular_vector
                                     : geometry_cells::left_singular_vector)(r, at)
                            : (right ? geometry_cells::right_token : geometry_cells::left_token)(token, r));
    }
    draw_along(drawing,
               {.key = right ? "geometry/right" : "geometry/left",
                .title = std::string("These tokens, ") + side_name(form, right),
                .value = tokens ? (right ? "v[j]" : "u[i]") : (right ? "x · v" : "x · u"),
                .bars = {}},
               found, std::move(cells), width);
}

// Draws what it finds in the vocabulary.
void GeometryLens::draw_words(const Drawing& drawing, Subject& subject, const HeadForm& form, bool right,
                              bool low, float width) {
    const TokenDirections& all = *words(subject, right);
    const std::span<const TokenAlong> tokens = low ? all.lowest() : all.highest();
    std::vector<std::int32_t> ids;
    for (const TokenAlong& token : tokens) ids.push_back(token.id);
    std::vector<std::string> names = subject.token_texts(ids);
    for (std::size_t i = names.size(); i < ids.size(); ++i) names.push_back(std::to_string(ids[i]));
    std::vector<std::pair<std::string, double>> found;
    std::vector<CellRef> cells;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        found.emplace_back(names[i], static_cast<double>(tokens[i].along));
        cells.push_back((right ? geometry_cells::right_vocabulary : geometry_cells::left_vocabulary)(
            ids[i], direction(subject)));
    }
    draw_along(drawing,
               {.key = std::string("geometry/word/") + (right ? "right" : "left") + (low ? "/low" : "/high"),
                .title = std::string("Vocabulary, ") + side_name(form, right) + (low ? " −" : " +"),
                .value = form.of() == FormOf::values && right ? "the direction through W_head"
                         : all.normalises()                   ? "norm(W_E) along it"
                                                              : "W_E along it",
                .bars = {}},
               found, std::move(cells), width);
}

void GeometryLens::draw_form(const Drawing& drawing, Subject& subject) {
    if (HeadForm* before = form(subject); before && ui::settings()) draw_form_controls(subject, *before);
    HeadForm& shown = *form(subject);
    if (!shown.finite()) return;
    if (!shown.directions()) {
        drawing.visit.continue_with(
            [this, &shown] { return form_ && form_->what.get() == &shown && shown.step(); });
        return ui::caption("Finding the directions …");
    }
    ImGui::Dummy({0, 6});
    const Index r = direction(subject);
    const auto singular = [&](float width) {
        draw_singular(drawing, shown, r, width);
        const std::string sigma = fixed(shown.directions()->values[static_cast<std::size_t>(r)], 3);
        const std::string added = shown.of() == FormOf::values ? " writes " + sigma + " · (x · u) along v."
                                  : shown.of() == FormOf::tokens
                                      ? " adds " + sigma + " · u[i] · v[j] to a score."
                                      : " adds " + sigma + " · (x_i · u) · (x_j · v) to a score.";
        ui::caption(("Direction " + std::to_string(r) + added).c_str());
    };
    present::in_columns({[&](float width) { draw_form_map(drawing, subject, shown, width); }, singular},
                        least_column);
    std::vector<present::Picture> found;
    for (const bool right : {false, true}) {
        if (!right || shown.of() != FormOf::values)
            found.emplace_back(
                [&, right](float width) { draw_tokens(drawing, subject, shown, right, width); });
        TokenDirections* along = words(subject, right);
        if (along && !along->done())
            drawing.visit.continue_with([this, along, right] {
                return words_[right] && words_[right]->what.get() == along && along->step();
            });
        for (const bool low : {false, true})
            if (along && along->done())
                found.emplace_back(
                    [&, right, low](float width) { draw_words(drawing, subject, shown, right, low, width); });
    }
    present::in_columns(found, least_list);
}

}  // namespace attn::app
