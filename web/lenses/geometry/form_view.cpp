// The bilinear form: its matrix, its singular values, and what one of its directions finds.
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

constexpr float chart_height = 270;

const CellKind& kind_of(FormPart part) {
    return part == FormPart::whole       ? geometry_cells::bilinear_form
           : part == FormPart::symmetric ? geometry_cells::symmetric_part
                                         : geometry_cells::antisymmetric_part;
}

const char* side_name(const HeadForm& form, bool right) {
    if (form.of() == FormOf::values) return right ? "writes" : "reads";
    return right ? "key side" : "query side";
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
    const Attention& attention = *subject.attention();
    const bool tokens = form.of() == FormOf::tokens;
    const auto label = [&](Index i, bool right) {
        if (!tokens) return std::to_string(i);
        return right ? label_at(attention.key_names(), form.first_col() + i)
                     : label_at(attention.query_names(), form.first_row() + i);
    };
    std::vector<std::string> rows, cols;
    for (Index r = 0; r < shown.values().rows; ++r) rows.push_back(label(shown.first_row(r), false));
    for (Index c = 0; c < shown.values().cols; ++c) cols.push_back(label(shown.first_col(c), true));
    ui::Lines lines(width, matrix_gap);
    ui::MatrixGrid grid;
    grid.name = "geometry/m";
    grid.title = part == FormPart::whole       ? form.name()
                 : part == FormPart::symmetric ? "½ (M + Mᵀ)"
                                               : "½ (M − Mᵀ)";
    grid.notation = shown.in_blocks() ? "the strongest number of each block" : "M[i, j] = L[i, a] R[j, a]";
    grid.values = &shown.values();
    grid.row_labels = rows;
    grid.column_labels = cols;
    grid.row_axis = tokens ? "query" : "input";
    grid.column_axis = tokens ? "key" : form.of() == FormOf::values ? "output" : "input";
    grid.is_signed = true;
    draw_matrix(drawing, lines, grid, [&](Index row, Index col) {
        const auto [i, j] = shown.at(row, col);
        return kind_of(part)(i, j);
    });
    lines.finish();
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
    const ui::ChartReply reply = present::chart(drawing, chart, width, chart_height, curves);
    if (reply.held) {
        GeometryState next = now();
        next.direction = std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{0}, all.count() - 1);
        // A direction that is there is not chosen anew because the one of the State is not.
        if (next.direction != direction) set(next, ui::gesture());
    }
    if (!reply.over) return;
    const CellRef cell = geometry_cells::singular_value(reply.over->point);
    drawing.now.cell = cell;
    if (reply.clicked) present::pin(drawing, cell);
}

// What the direction finds in the tokens in view.
void GeometryLens::draw_reading(const Drawing& drawing, Subject& subject, const HeadForm& form,
                                ui::Lines& lines) {
    const Attention& attention = *subject.attention();
    const VectorsInView shown = *in_view(subject);
    const Index r = direction(subject);
    const SingularDirections& all = *form.directions();
    const auto side = [&](bool right) {
        const bool tokens = form.of() == FormOf::tokens;
        const bool of_key = tokens ? right : form.reads_keys(right);
        const bool keys = of_key && (tokens || weights(subject)->crosses);
        const ShownTokens& in_view = keys ? shown.keys : shown.queries;
        const Index before = right ? form.first_col() : form.first_row();
        Matrix values(in_view.size(), 1);
        for (Index i = 0; i < in_view.size(); ++i) {
            const Index token = in_view[i];
            const std::span<const double> along = right ? all.right_of(r) : all.left_of(r);
            if (tokens) {  // of a long text the form holds some
                const Index at = token - before;
                const bool held = at >= 0 && at < std::ssize(along);
                values.at(i, 0) = held ? along[static_cast<std::size_t>(at)] : NAN;
                continue;
            }
            for (Index b = 0; b < std::ssize(along); ++b)
                values.at(i, 0) +=
                    weights(subject)->input(token, b, of_key) * along[static_cast<std::size_t>(b)];
        }
        const auto labels = in_view.labels(keys ? attention.key_names() : attention.query_names());
        const std::vector<std::string> column{right ? "v" : "u"};
        ui::MatrixGrid grid;
        grid.name = right ? "geometry/right" : "geometry/left";
        grid.title = std::string("These tokens, ") + side_name(form, right);
        grid.notation = tokens ? (right ? "v[j]" : "u[i]") : (right ? "x · v" : "x · u");
        grid.values = &values;
        grid.row_labels = labels;
        grid.column_labels = column;
        grid.row_axis = tokens ? (right ? "key" : "query") : "token";
        grid.column_axis = "direction";
        grid.allowed = [&](Index row, Index) { return !std::isnan(values.at(row, 0)); };
        grid.is_signed = true;
        draw_matrix(drawing, lines, grid, [&](Index place, Index) {
            const Index row = in_view[place];
            if (tokens)
                return (right ? geometry_cells::right_singular_vector : geometry_cells::left_singular_vector)(
                    r, row - before);
            return (right ? geometry_cells::right_token : geometry_cells::left_token)(row, r);
        });
    };
    side(false);
    if (form.of() != FormOf::values) side(true);
}

// What it finds in the vocabulary.
void GeometryLens::draw_words(const Drawing& drawing, Subject& subject, const HeadForm& form,
                              ui::Lines& lines) {
    for (const bool right : {false, true}) {
        TokenDirections* found = words(subject, right);
        if (!found) continue;
        if (!found->done()) {
            drawing.visit.continue_with([this, found, right] {
                return words_[right] && words_[right]->what.get() == found && found->step();
            });
            continue;
        }
        for (const bool low : {false, true}) {
            const std::span<const TokenAlong> tokens = low ? found->lowest() : found->highest();
            std::vector<std::int32_t> ids;
            Matrix values(std::ssize(tokens), 1);
            for (const TokenAlong& token : tokens) {
                values.at(std::ssize(ids), 0) = static_cast<double>(token.along);
                ids.push_back(token.id);
            }
            std::vector<std::string> names = subject.token_texts(ids);
            for (std::size_t i = names.size(); i < ids.size(); ++i) names.push_back(std::to_string(ids[i]));
            const std::vector<std::string> column{right ? "v" : "u"};
            ui::MatrixGrid grid;
            grid.name = std::string("geometry/word/") + (right ? "right" : "left") + (low ? "/low" : "/high");
            grid.title = std::string("Vocabulary, ") + side_name(form, right) + (low ? " −" : " +");
            grid.notation = form.of() == FormOf::values && right ? "the direction through W_head"
                            : found->normalises()                ? "norm(W_E) along it"
                                                                 : "W_E along it";
            grid.values = &values;
            grid.row_labels = names;
            grid.column_labels = column;
            grid.row_axis = "token";
            grid.column_axis = "direction";
            grid.is_signed = true;
            const Index r = direction(subject);
            draw_matrix(drawing, lines, grid, [&](Index row, Index) {
                return (right ? geometry_cells::right_vocabulary : geometry_cells::left_vocabulary)(
                    ids[static_cast<std::size_t>(row)], r);
            });
        }
    }
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
    ui::columns(
        "geometry/form", least_column, ui::column_gap,
        [&](float width) { draw_form_map(drawing, subject, shown, width); },
        [&](float width) {
            draw_singular(drawing, shown, r, width);
            const std::string sigma = fixed(shown.directions()->values[static_cast<std::size_t>(r)], 3);
            const std::string added =
                shown.of() == FormOf::values   ? " writes " + sigma + " · (x · u) along v."
                : shown.of() == FormOf::tokens ? " adds " + sigma + " · u[i] · v[j] to a score."
                                               : " adds " + sigma + " · (x_i · u) · (x_j · v) to a score.";
            ui::caption(("Direction " + std::to_string(r) + added).c_str());
        });
    ImGui::Dummy({0, 8});
    ui::Lines lines(ImGui::GetContentRegionAvail().x, matrix_gap);
    draw_reading(drawing, subject, shown, lines);
    draw_words(drawing, subject, shown, lines);
    lines.finish();
}

}  // namespace attn::app
