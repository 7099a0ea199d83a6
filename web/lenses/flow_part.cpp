#include "lenses/flow_part.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/saving.hpp"
#include "render/flow.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/plot.hpp"
#include "widgets/scroll.hpp"

namespace attn::lenses {

namespace {

constexpr std::array<const char*, 2> form_names{"arcs", "columns"};

std::string name_of(const FlowPart& part, HeadIndex head) {
    return (part.layers > 1 ? "layer " + std::to_string(head.layer) + " · " : "") + "head " +
           std::to_string(head.head);
}

// The kept heads that there are, in their order, and the chosen one where it is not among them.
std::vector<HeadIndex> shown_heads(const FlowPart& part) {
    std::vector<HeadIndex> heads;
    for (const HeadIndex& head : part.choice.heads)
        if (head.layer < part.layers && head.head < part.heads) heads.push_back(head);
    const HeadIndex chosen = part.chosen();
    if (std::ranges::find(heads, chosen) == heads.end()) heads.push_back(chosen);
    return heads;
}

app::FlowForm form_of(const FlowPart& part) {
    return part.one_line ? part.choice.form : app::FlowForm::columns;
}

void choose_flow(FlowPart& part, app::FlowChoice flow, std::uint64_t gesture = 0) {
    part.choose(part.session, std::move(flow), gesture);
}

void choose_head(FlowPart& part, HeadIndex head) {
    app::Selection selection = part.session.state().selection;
    selection.layer = head.layer;
    selection.head = head.head;
    part.session.perform(app::Select{selection}, ui::gesture());
}

void choose_words(FlowPart& part, std::optional<Index> query, std::optional<Index> key) {
    app::Selection selection = part.session.state().selection;
    const auto token = part.queries.token(query);
    if (selection.query != token) selection.counterpart.reset();
    selection.query = token;
    selection.key = part.keys.token(key);
    part.session.perform(app::Select{selection}, ui::gesture());
}

// ---- Controls ----------------------------------------------------------------------------------------------------

void mass_slider(FlowPart& part) {
    app::FlowChoice flow = part.choice;
    float percent = flow.mass * 100;
    ImGui::SetNextItemWidth(110);
    if (ImGui::SliderFloat("##mass", &percent, 0, 100, "", ImGuiSliderFlags_AlwaysClamp)) {
        flow.mass = percent / 100;
        choose_flow(part, flow, ui::gesture());
    }
    ui::landmark_item("flow/mass");
    ui::tooltip("For each word the fewest keys that make up this share of its weights");
    ImGui::SameLine(0, 8);
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::AlignTextToFramePadding();
    ImGui::Text("%3.0f %%", static_cast<double>(percent));
}

// One head's colour and name; a kept one can be let go.
void head_chip(FlowPart& part, HeadIndex head, ImU32 colour, bool kept) {
    const bool chosen = head == part.chosen();
    const std::string name = std::to_string(head.layer) + "." + std::to_string(head.head),
                      landmark = "flow/head/" + std::to_string(head.layer) + "/" + std::to_string(head.head);
    ui::next_control(ui::text_size(name).x + 60);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ui::button(landmark.c_str(), ("     " + name).c_str())) choose_head(part, head);
    const ImVec2 max = ImGui::GetItemRectMax();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float middle = (at.y + max.y) / 2;
    list->AddRectFilled({at.x + 8, middle - 3}, {at.x + 18, middle + 3}, colour, 2);
    if (chosen) list->AddRect(at, max, ui::theme().accent, ImGui::GetStyle().FrameRounding, 0, 1.5f);
    ui::tooltip(((chosen ? "Chosen: " : "Choose ") + name_of(part, head)).c_str());
    if (!kept) return;
    ImGui::SameLine(0, 2);
    if (ui::button((landmark + "/off").c_str(), "×")) {
        app::FlowChoice flow = part.choice;
        std::erase(flow.heads, head);
        choose_flow(part, flow);
    }
    ui::tooltip("No longer beside the chosen head");
}

void head_controls(FlowPart& part, std::span<const HeadIndex> heads, std::span<const ImU32> colours) {
    const app::FlowChoice& flow = part.choice;
    if (heads.size() > 1 || !flow.heads.empty())
        for (std::size_t i = 0; i < heads.size(); ++i)
            head_chip(part, heads[i], colours[i],
                      std::ranges::find(flow.heads, heads[i]) != flow.heads.end());
    const HeadIndex chosen = part.chosen();
    if (std::ranges::find(flow.heads, chosen) != flow.heads.end()) return;
    ui::next_control(90);
    const bool full = heads.size() >= app::flow_heads_limit;
    if (ui::button("flow/keep", "Keep head", !full)) {
        app::FlowChoice more = flow;
        more.heads.assign(heads.begin(), heads.end());  // those that are shown: the chosen one is the last
        choose_flow(part, more);
    }
    ui::tooltip(full ? "Eight heads at most are shown at once: let one go first"
                     : "Keeps this head in the picture when you choose another");
}

// The edges that are drawn: of the chosen word alone, where there is one, else all.
Result<std::string> svg_of_flow(const FlowPart& part, std::span<const HeadIndex> heads,
                                std::span<const ImU32> colours) {
    const app::FlowChoice& choice = part.choice;
    const auto query = part.queries.shown(part.session.state().selection.query);
    std::vector<app::SvgFlow::Series> series;
    Index count = 0;
    float most = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        app::HeadFlow& head = part.memory.flows.of(heads[i]);
        if (!head.flow().done())
            return Error{"The flow is still being computed; save it when it is complete."};
        app::SvgFlow::Series& each = series.emplace_back();
        each.colour = rgb(colours[i]);
        each.name = name_of(part, heads[i]);
        for (const FlowEdge& edge : query ? std::span(head.from(*query).edges) : head.flow().edges())
            if (edge.before < before_limit(choice.mass)) {
                each.edges.push_back(edge);
                most = std::max(most, edge.weight);
                if (++count > app::svg_edges)
                    return Error{"An SVG holds at most " + std::to_string(app::svg_edges) +
                                 " edges, and the flow has more; ask for a smaller share, or save a PNG."};
            }
    }
    for (app::SvgFlow::Series& each : series) {
        each.most = query ? most : 1;
        each.opacity = query ? 1 : 0.75f;
    }
    std::string title = "Flow, " + app::fixed(static_cast<double>(choice.mass) * 100, 0) + " %";
    if (heads.size() == 1) title += ", " + name_of(part, heads[0]);
    return app::svg_of(app::SvgFlow{.form = form_of(part),
                                    .queries = part.queries.names,
                                    .keys = part.keys.names,
                                    .series = series,
                                    .title = title,
                                    .ink = svg_ink()});
}

void flow_controls(FlowPart& part, std::span<const HeadIndex> heads, std::span<const ImU32> colours,
                   float width) {
    const float right = ImGui::GetCursorPosX() + width;
    ui::section("Flow", true);
    ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    mass_slider(part);
    ui::next_control(130);
    app::FlowChoice flow = part.choice;
    ImGui::BeginGroup();
    ImGui::BeginDisabled(!part.one_line);
    const auto form = ui::choice("flow/form", form_names, static_cast<int>(form_of(part)));
    ImGui::EndDisabled();
    ImGui::EndGroup();
    if (!part.one_line)
        ui::tooltip(
            "Arcs go over one line of words; here queries and keys are not the same, so they stand in two "
            "columns");
    if (form) {
        flow.form = static_cast<app::FlowForm>(*form);
        choose_flow(part, flow);
    }
    head_controls(part, heads, colours);
    ui::next_control(60);
    part.memory.picture_wanted |= save_menu(part.session, {"flow/save", "flow/picture", "flow"},
                                            [&] { return svg_of_flow(part, heads, colours); });
    if (part.memory.view.zooms()) {
        ImGui::SameLine(right - 56, 0);
        if (ui::button("flow/out", "−", !part.memory.view.is_whole())) part.memory.view.zoom_by(1 / 1.5f);
        ui::tooltip("More words at once: or turn the wheel over the flow");
        ImGui::SameLine(right - 26, 0);
        if (ui::button("flow/in", "+", !part.memory.view.is_large())) part.memory.view.zoom_by(1.5f);
        ui::tooltip("Larger: a double click shows the words at their size");
    }
    ImGui::PopStyleVar();
    const Index cut = part.memory.cut;
    if (cut > 0)
        ui::caption(
            ("Of " + std::to_string(cut) + " words in view the " +
             std::to_string(
                 Flow::usual_limits(std::ssize(part.queries.names), std::ssize(part.keys.names)).most) +
             " heaviest edges are less than that; point at one to see all of its edges.")
                .c_str());
}

// ---- What is pointed at ------------------------------------------------------------------------------------------

void act(FlowPart& part, const ui::FlowTouch& touch, std::span<const HeadIndex> heads) {
    if (touch.edge) {
        const HeadIndex head = heads[touch.edge->series];
        const Index query = touch.edge->edge.query, key = touch.edge->edge.key;
        const app::CellRef cell{app::MatrixId::weight, query, key, false, part.queries.words != nullptr};
        const bool chosen = head == part.chosen();
        part.point(part.queries.token(query), part.keys.token(key));
        if (chosen) part.hover.cell = cell;
        const std::string text = quoted(part.queries.names[static_cast<std::size_t>(query)]) + " → " +
                                 quoted(part.keys.names[static_cast<std::size_t>(key)]) + "  " +
                                 app::fixed(static_cast<double>(touch.edge->edge.weight), 4) +
                                 (heads.size() > 1 ? "\n" + name_of(part, head) : "");
        ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {10, 8});
        ImGui::SetTooltip("%s", text.c_str());
        ImGui::PopStyleVar();
        if (!touch.clicked) return;
        app::Selection selection = part.session.state().selection;
        selection.layer = head.layer;
        selection.head = head.head;
        part.session.perform(app::Select{selection}, ui::gesture());
        part.session.perform(app::Pin{cell}, ui::gesture());
        choose_words(part, query, key);
        return;
    }
    if (!touch.query && !touch.key) return;
    part.point(part.queries.token(touch.query), part.keys.token(touch.key));
    if (!touch.clicked) return;
    const app::Selection& s = part.session.state().selection;
    if (touch.query)
        choose_words(part, part.queries.shown(s.query) == touch.query ? std::nullopt : touch.query,
                     std::nullopt);
    else
        choose_words(part, std::nullopt, part.keys.shown(s.key) == touch.key ? std::nullopt : touch.key);
}

}  // namespace

void draw_flow(FlowPart& part, float width, float most_height) {
    FlowMemory& memory = part.memory;
    std::vector<HeadIndex> heads = shown_heads(part);
    const auto chosen = std::ranges::find(heads, part.chosen());
    std::vector<ImU32> colours;
    for (std::size_t i = 0; i < heads.size(); ++i)
        colours.push_back(heads.size() == 1 ? ui::theme().accent : ui::series_colour(i));
    memory.flows.show(part.source, heads, part.weights);
    // The first frame of a large flow has enough to do with what is new around it.
    const bool waits = std::ssize(part.queries.names) > tile_side && memory.flows.progress() == 0;
    while (!waits && memory.flows.step() && !part.deadline.passed()) continue;
    if (memory.flows.progress() < 1)
        part.session.continue_with([&flows = memory.flows] { return flows.step(); });

    flow_controls(part, heads, colours, width);
    // The chosen head comes first and lies on top.
    const auto place = chosen - heads.begin();
    std::rotate(heads.begin(), chosen, chosen + 1);
    std::rotate(colours.begin(), colours.begin() + place, colours.begin() + place + 1);

    std::vector<ui::FlowSeries> series;
    for (std::size_t i = 0; i < heads.size(); ++i) series.push_back({&memory.flows.of(heads[i]), colours[i]});
    const app::Selection& s = part.session.state().selection;
    const auto query = part.queries.shown(s.query), key = part.keys.shown(s.key);
    ui::FlowPicture picture{.version = part.source,
                            .form = form_of(part),
                            .mass = part.choice.mass,
                            .queries = part.queries.names,
                            .keys = part.keys.names,
                            .small_print = part.small_print,
                            .series = series,
                            .query = query,
                            .key = key,
                            .chosen_query = query,
                            .chosen_key = query ? std::nullopt : key};
    if (!memory.pointed_edge && (part.pointed_query || part.pointed_key)) {
        picture.query = part.queries.shown(part.pointed_query);
        picture.key = part.keys.shown(part.pointed_key);
    }
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ui::FlowTouch touch = memory.view.draw(picture, width, most_height);
    const ImVec2 end{corner.x + width, ImGui::GetItemRectMax().y};
    ui::landmark("flow/picture", corner, end);
    if (std::exchange(memory.picture_wanted, false)) ui::scroll_to(corner, end);
    memory.pointed_edge = touch.edge;
    memory.cut = touch.cut;
    act(part, touch, heads);
    if (!render::flow_fault().empty())
        ui::caption(("The flow cannot be drawn here: " + render::flow_fault()).c_str());
}

}  // namespace attn::lenses
