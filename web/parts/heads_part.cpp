// Implements what the pictures of all heads share, and the line of controls above them.
#include "parts/heads_part.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "app/format.hpp"
#include "present/present.hpp"
#include "runs/merged_heads.hpp"
#include "subjects/explain_measured.hpp"
#include "subjects/subject.hpp"
#include "subjects/tables.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::parts {

namespace {

using app::HeadsChoice;

// Returns the first of these scores that the heads have, except `but`.
HeadScore first_measured(const HeadsView& view, std::initializer_list<HeadScore> scores,
                         std::optional<HeadScore> but = std::nullopt) {
    for (const HeadScore score : scores)
        if (view.heads.measures(score) && score != but) return score;
    return HeadScore::entropy;
}

// Goes to the head with the highest score, then to the next best. The control is drawn before the heads have
// been measured, so that nothing moves later.
void find_control(const HeadsView& view) {
    constexpr const char *name = "heads/find", *label = "Find a head that …";
    if (!app::subject_in(view.drawing.visit).attention()->trace()) return;
    ui::next_control(ui::menu_width);
    if (!view.named) {
        ui::button(name, label, Status(Error{"The heads have not been measured yet."}));
        return;
    }
    const RoleTable& table = view.named->table;
    std::vector<HeadRole> roles;
    std::vector<const char*> items;
    for (std::size_t i = 0; i < head_roles.size(); ++i) {
        const auto role = static_cast<HeadRole>(i);
        if (!table.measures(role)) continue;
        roles.push_back(role);
        items.push_back(info(role).finds);
    }
    if (const auto chosen = ui::menu(name, label, items))
        if (const auto next = next_of_role(table, roles[static_cast<std::size_t>(*chosen)], *view.chosen()))
            view.choose(*next);
    // A head that finds repetition (an induction or duplicate-token head) finds none in a text without it.
    const auto role = view.named->role(*view.chosen());
    if (role != HeadRole::induction && role != HeadRole::duplicate_token) return;
    const app::TextModel* model = app::subject_in(view.drawing.visit).text_model();
    const auto offer = model ? model->offer_repetition() : std::nullopt;
    if (!offer) return;
    ui::next_control(ui::text_size(offer->label).x + 20);
    if (ui::button("heads/repeat", offer->label.c_str())) view.drawing.visit.perform(offer->command);
    ui::tooltip("Nothing in this text comes twice, and this head looks for what does.");
}

void survey_controls(const HeadsView& view) {
    using enum HeadScore;
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    const auto [by, against] = view.choice;
    static constexpr std::array<const char*, 3> names{"by layer", "by score", "scatter"};
    if (const auto chosen = ui::choice("heads/view", names, against ? 2 : by ? 1 : 0)) {
        HeadsChoice choice;
        if (*chosen == 1) choice.by = by.value_or(first_measured(view, {induction, entropy}));
        if (*chosen == 2) {
            const auto widest = widest_scores(view.heads);
            choice.by = widest ? (*widest)[0] : first_measured(view, {previous_token, entropy});
            choice.against =
                widest ? (*widest)[1]
                       : first_measured(view, {induction, previous_token, first_token, entropy}, choice.by);
        }
        view.choose_view(choice);
    }
    if (by && !against) {
        ui::next_control(ui::menu_width);
        if (const auto chosen = score_menu(view, "heads/by", "Score", *by))
            view.choose_view({*chosen, std::nullopt});
    }
    find_control(view);
    ImGui::PopStyleVar();
    if (by) {
        ui::caption(("Scores are measured " + view.measured_on +
                     (view.named ? "; the names of heads, on " + view.named->repeats : "") + ".")
                        .c_str());
        ui::landmark_item("heads/measured");
    }
    for (const auto& score : {by, against})
        if (score && !view.heads.measures(*score)) ui::caption(view.refused(*score).c_str());
}

}  // namespace

std::optional<HeadIndex> HeadsView::chosen() const {
    const app::Selection s = selection_of(drawing);
    if (!means) return HeadIndex{s.layer, s.head};
    const app::HeadMean mean = attention.mean_of(map);
    if (mean == app::HeadMean::one) return std::nullopt;
    return HeadIndex{number_of_mean(attention, mean, s.layer), 0};
}

// A mean is chosen for the map and the flow; other lenses stay with the chosen head.
void HeadsView::choose(HeadIndex head) const {
    if (head == chosen() && means) return;
    app::MapChoice shown = map;
    app::Selection next = drawing.state().selection;
    if (means) {
        const auto [mean, layer] = mean_at(attention, head.layer);
        shown.mean = mean;
        shown.stage = Stage::weight;
        // A mean over all layers is that of the chosen one, too.
        if (number_of_mean(attention, mean, selection_of(drawing).layer) != head.layer) next.layer = layer;
    } else {
        if (map.mean == app::HeadMean::one) return choose_head(drawing, head);
        shown.mean = app::HeadMean::one;
        next.layer = head.layer;
        next.head = head.head;
    }
    drawing.visit.perform(app::Together{{app::SetMap{std::move(shown)}, app::Select{next}}});
}

void HeadsView::point(HeadIndex head) const {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (!means && head != chosen()) drawing.now.head = head;
}

std::string HeadsView::short_name(HeadIndex head) const {
    if (!means) return layers.short_head(head);
    const auto [mean, layer] = mean_at(attention, head.layer);
    return mean == app::HeadMean::all && layers.decoder == 0 ? "all" : layers.name(layer);
}

std::string HeadsView::long_name(HeadIndex head, const char* between) const {
    if (!means) return app::head_text(head, layers, between);
    const auto [mean, layer] = mean_at(attention, head.layer);
    return app::capitalised(mean_text(attention.of(layer), mean, {layer, 0}));
}

void HeadsView::explain(HeadIndex head, HeadScore score) const {
    app::RunCell cell = app::head_score_cell(heads, head, score);
    cell.unit = unit;
    if (means) cell.mean = app::HeadMean::layer;
    drawing.now.cell = cell;
    if (ui::clicked()) present::pin(drawing, *drawing.now.cell);
}

std::string HeadsView::introduced(HeadIndex head) const {
    if (means) return long_name(head) + "\nA mean is no head: nothing in the model computes it.";
    const std::string told = named ? named->told(head) : "";
    return long_name(head) + (told.empty() ? "" : "\n" + told);
}

std::string HeadsView::spoken(HeadIndex head, std::span<const HeadScore> by) const {
    std::string text = long_name(head, ", ");
    if (const std::string name = named && !means ? named->name(head) : ""; !name.empty())
        text.append(", ").append(name);
    for (const HeadScore score : by)
        if (number(head, score)) text.append(", ").append(told(head, score));
    return text;
}

std::string HeadsView::written(HeadIndex head, HeadScore score) const {
    const auto value = number(head, score);
    if (!value) return heads.scores(head) ? "–" : "…";
    const bool long_way = score == HeadScore::distance && *value >= 10;
    return app::fixed(*value, !long_way ? 2 : *value < 100 ? 1 : 0);
}

std::string HeadsView::told(HeadIndex head, HeadScore score) const {
    std::string in = number(head, score) ? info(score).unit : "";
    if (in == "tokens") in = app::unit_key(unit);
    return std::string(info(score).name) + " " + written(head, score) + (in.empty() ? "" : " " + in) +
           (number(head, score) ? " " + measured_on : "");
}

std::string HeadsView::refused(HeadScore score) const {
    if (heads.measures(score)) return "";
    const std::string name = std::string("“") + info(score).name + "” ";
    return heads.measures(HeadScore::distance)
               ? name +
                     "compares tokens, and there are none here: drop their list, tokens.json or tokens.txt."
               : name + "needs self-attention: as many queries as keys.";
}

std::optional<HeadScore> score_menu(const HeadsView& view, const char* name, const char* label,
                                    HeadScore taken) {
    std::optional<HeadScore> chosen;
    ImGui::SetNextItemWidth(ui::menu_width);
    if (ui::begin_list(name, label, info(taken).name)) {
        for (std::size_t i = 0; i < head_scores.size(); ++i) {
            const auto score = static_cast<HeadScore>(i);
            const std::string refused = view.refused(score);
            if (ui::list_option((std::string(name) + "/" + std::string(info(score).key)).c_str(),
                                info(score).name, score == taken, refused.empty()) &&
                score != taken)
                chosen = score;
            ui::tooltip(refused.empty() ? info(score).meaning : refused.c_str());
        }
        ui::end_list();
    } else {
        ui::tooltip(info(taken).meaning);
    }
    return chosen;
}

bool arrow_pressed(ImGuiKey key) {
    return (ImGui::IsItemFocused() || ImGui::IsItemHovered()) &&
           ImGui::Shortcut(
               key, ImGuiInputFlags_Repeat | ImGuiInputFlags_RouteGlobal | ImGuiInputFlags_RouteOverFocused);
}

namespace {

// Measures heads that no subject does; they stay alive while a slice runs.
void measure(app::Visit& visit, const std::shared_ptr<HeadOverview>& heads) {
    if (heads && !heads->done())
        visit.continue_with([heads] { return heads->step_maps() || heads->step_scores(); });
}

}  // namespace

void draw_heads(const app::Drawing& drawing, app::Attention& attention, float width, float most_height) {
    const app::MapChoice map = app::looks_of(drawing.state()).map;  // a click may change the State's
    const auto by_unit = attention.merged_heads().by_unit(attention, map);
    HeadOverview* heads = by_unit ? by_unit.get() : attention.overview();
    if (!heads) return;
    const app::Selection s = selection_of(drawing);
    heads->look_at({s.layer, s.head});
    const Unit unit = attention.unit_of(weights_of(map));
    const HeadsView view{
        drawing,
        *heads,
        app::looks_of(drawing.state()).heads,
        weight_scale(attention, heads->extent()),
        app::subject_in(drawing.visit).named_heads(),
        attention.numbering(),
        attention.measured_on() + (unit == Unit::tokens ? "" : ", by " + std::string(app::unit_key(unit))),
        attention,
        map,
        unit};
    measure(drawing.visit, by_unit);
    present::Card::Text text{.key = "heads", .title = "Heads", .is_listed = false};
    if (heads->done()) text.table = [&] { return app::scores_table(attention, map); };
    const present::Card card(drawing, std::move(text), width);
    if (!drawing.visit.figure_of("card/heads")) survey_controls(view);
    const auto [by, against] = view.choice;
    by&& against ? head_scatter(view, *by, *against, card.width(), most_height)
                 : head_grid(view, by, card.width(), most_height);
    if (attention.has_negative_weights()) return;
    const auto means = attention.merged_heads().means(attention, map);
    if (!means) return;
    if (heads->done()) measure(drawing.visit, means);  // their room is there before, so that nothing moves
    const HeadsView of_means{drawing,
                             *means,
                             view.choice,
                             weight_scale(attention, means->extent()),
                             nullptr,
                             view.layers,
                             view.measured_on,
                             attention,
                             map,
                             unit,
                             true};
    ui::caption("Means over heads, which nothing in the model computes:");
    means_grid(of_means, by, card.width());
}

}  // namespace attn::parts
