// Lens Tensors: attention that a person brings, finished or as Q and K, with every head, one of them large, and what is
// odd about its numbers.
#include <algorithm>
#include <array>

#include "lenses/columns.hpp"
#include "lenses/heads_view.hpp"
#include "lenses/tensors_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

using Causal = app::TensorRule::Causal;

Pointed tensors_pointed;  // in the last frame

// How far it is, beside the button that stops it or lets it go on.
void work_under_way(TensorsView& view) {
    const std::optional<double> map = tensors_map_progress();
    if (view.set.done() && !map) return;
    const std::string what(view.set.done() ? "map" : view.set.doing());
    const double share = view.set.done() ? *map : static_cast<double>(view.set.progress());
    ui::next_control(230);
    ImGui::BeginGroup();
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted((what + " " + std::to_string(static_cast<int>(share * 100)) + " %").c_str());
    ImGui::SameLine(0, 10);
    if (ui::button("tensors/stop", view.set.paused() ? "Go on" : "Stop")) view.set.pause(!view.set.paused());
    ImGui::EndGroup();
}

void heading(TensorsView& view) {
    ui::heading(view.set.title().c_str());
    ui::landmark_item("tensors/title");
    ui::caption(view.set.summary().c_str());
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {10, 4});
    if (ui::button("tensors/choose", "Open others…")) view.session.choose_tensors();
    ui::next_control(90);
    if (!view.set.answers().empty()) {
        if (ui::button("tensors/again", "Ask again", !view.session.tensors().opening()))
            view.session.tensors().ask_again();
        ui::tooltip("Asks anew what names and shapes left open");
        ui::next_control(70);
    }
    const bool close = ui::button("tensors/close", "Close");
    ui::tooltip("Forgets these files, which frees their memory");
    work_under_way(view);
    ImGui::PopStyleVar();
    ImGui::Dummy({0, 4});
    if (close) view.session.close_tensors();
}

// Labels stand at the left of their group.
void group(auto&& draw) {
    ImGui::BeginGroup();
    draw();
    ImGui::EndGroup();
}

// How Q and K become weights.
void rule(TensorsView& view) {
    app::TensorRule rule = view.session.state().tensors.rule;
    const bool past = view.set.keys() > view.set.queries();
    group([&] {
        ui::label("causal");
        if (const auto taken = ui::choice("tensors/causal", std::span(app::causal_names).first(past ? 3 : 2),
                                          static_cast<int>(rule.causal))) {
            rule.causal = static_cast<Causal>(*taken);
            view.session.perform(app::SetTensorRule{rule});
        }
    });
    if (past)
        ui::tooltip(
            "yes: the first query looks at the first key. With a past: the last query at the last key");
    ui::next_control(220);
    group([&] {
        ui::label("scale");
        if (const auto taken = ui::choice("tensors/scale", app::scale_names, rule.scale_by_sqrt_d ? 0 : 1)) {
            rule.scale_by_sqrt_d = *taken == 0;
            view.session.perform(app::SetTensorRule{rule});
        }
    });
    ImGui::Dummy({0, 4});
}

void which_head(TensorsView& view) {
    const app::Selection& s = view.selection();
    if (view.set.layers() > 1) {
        group([&] {
            if (const auto layer = ui::stepper("tensors/layer", "layer", s.layer, 0, view.set.layers() - 1))
                view.select_head(*layer, s.head);
        });
        ui::next_control(190);
    }
    if (view.set.heads() > 1)
        group([&] {
            if (const auto head = ui::stepper("tensors/head", "head", s.head, 0, view.set.heads() - 1))
                view.select_head(s.layer, *head);
        });
}

void remarks(const TensorsView& view) {
    const std::vector<std::string> all = view.set.remarks();
    if (all.empty()) return;
    ImGui::Dummy({0, 4});
    ui::section("To know of these files");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::Indent(12);
        ui::caption(ui::wrapped(all[i], ImGui::GetContentRegionAvail().x).c_str());
        ImGui::Unindent(12);
        ui::landmark_item("remark/" + std::to_string(i));
        ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + 3, ImGui::GetItemRectMax().y},
                                                  ui::theme().changed, 2);
    }
}

void heads_of_set(TensorsView& view, float width, float most_height) {
    app::HeadOverview* heads = view.set.overview();
    if (!heads) return;
    heads->look_at({view.selection().layer, view.selection().head});
    HeadsView all{view.session,
                  view.hover,
                  *heads,
                  view.session.state().tensors.heads,
                  [](app::Session& session, const app::HeadsChoice& choice) {
                      session.perform(app::SetTensorHeads{choice});
                  },
                  weight_scale(view.set, heads->extent())};
    head_survey(all, width, most_height);
}

void parts(TensorsView& view) {
    const float width = ImGui::GetContentRegionAvail().x, window = std::max(ImGui::GetWindowHeight(), 480.0f);
    const bool several = view.set.layers() * view.set.heads() > 1;
    tensors_flow(view, width, window * 0.45f);
    ImGui::Dummy({0, 8});
    if (!several || width < two_columns_from) {
        if (several) {
            which_head(view);
            ImGui::Dummy({0, 4});
        }
        tensors_map(view, width, window * (several ? 1e3f : 0.78f));
        if (several) {
            ImGui::Dummy({0, 8});
            heads_of_set(view, width, window * 0.7f);
        }
        remarks(view);
        return;
    }
    const float left = std::floor((width - column_gap) * 0.42f);
    column("left", left, [&](float w) {
        which_head(view);
        ImGui::Dummy({0, 4});
        heads_of_set(view, w, window * 0.6f);
        remarks(view);
    });
    ImGui::SameLine(0, column_gap);
    column("right", width - left - column_gap, [&](float w) { tensors_map(view, w, window * 0.78f); });
}

}  // namespace

void TensorsView::select_head(Index layer, Index head) {
    app::Selection s = selection();
    s.layer = layer;
    s.head = head;
    session.perform(app::Select{s}, ui::gesture());
}

void TensorsView::select(std::optional<Index> query, std::optional<Index> key) {
    app::Selection s = selection();
    s.query = query;
    s.key = key;
    session.perform(app::Select{s}, ui::gesture());
}

ui::ColourScale weight_scale(const app::TensorSet& set, float extent) {
    if (set.finished() && set.findings().negative.count > 0) return ui::diverging_scale(extent);
    return ui::sequential_scale(std::max(extent, 1.0f));
}

void tensors(app::Session& session, Hover& hover) {
    hover = {};
    tensors_questions(session);
    tensors_waiting(session);
    app::TensorSet* set = session.tensors().open();
    if (!set) {
        forget_tensors_map();
        forget_tensors_flow();
        return tensors_invitation(session);
    }
    {
        TensorsView view{session, *set, hover, {}};
        heading(view);
    }
    set = session.tensors().open();
    if (!set) return;  // closed in its heading
    TensorsView view{
        session,
        *set,
        hover,
        {within(tensors_pointed.query, set->queries()), within(tensors_pointed.key, set->keys())}};
    if (!set->finished()) rule(view);
    parts(view);
    tensors_pointed = view.now;
    if (session.state().pin && !ImGui::GetIO().WantTextInput &&
        ImGui::Shortcut(ImGuiKey_Escape, ImGuiInputFlags_RouteFocused))
        session.perform(app::Pin{std::nullopt});
}

}  // namespace attn::lenses
