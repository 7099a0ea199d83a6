// Who looks where: the chosen head's edges, and beside them those of the heads that are kept to compare with.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/map_source.hpp"
#include "lenses/saving.hpp"
#include "render/flow.hpp"
#include "widgets/controls.hpp"
#include "widgets/flow_view.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/plot.hpp"
#include "widgets/scroll.hpp"

namespace attn::lenses {

namespace {

constexpr std::array<const char*, 2> form_names{"arcs", "columns"};

app::Flows flows;
ui::FlowView flow_view;
// Of the last frame: an edge that is pointed at lights its words, but leaves the others' edges as they are.
std::optional<ui::FlowTouch::Edge> pointed_edge;
Index cut = 0;
bool picture_wanted = false;

struct SmallPrint {
    std::uint64_t version = 0;
    std::vector<std::string> ids;
};
SmallPrint small_print;

const std::vector<std::string>& ids_of(const SentenceView& view) {
    if (small_print.version != view.run.version) {
        small_print = {view.run.version, {}};
        for (const std::int32_t id : view.run.trace->ids()) small_print.ids.push_back(std::to_string(id));
    }
    return small_print.ids;
}

std::string name_of(HeadIndex head) {
    return "layer " + std::to_string(head.layer) + " · head " + std::to_string(head.head);
}

// The kept heads that the run has, in their order, and the chosen one where it is not among them.
std::vector<HeadIndex> shown_heads(const SentenceView& view) {
    std::vector<HeadIndex> heads;
    const auto& layers = view.run.trace->layers();
    for (const HeadIndex& head : view.session.state().sentence.flow.heads)
        if (head.layer < std::ssize(layers) && head.head < layers[0].attention.heads()) heads.push_back(head);
    const HeadIndex chosen{view.selection().layer, view.selection().head};
    if (std::ranges::find(heads, chosen) == heads.end()) heads.push_back(chosen);
    return heads;
}

void set(SentenceView& view, app::FlowChoice flow, std::uint64_t gesture = 0) {
    view.session.perform(app::SetFlow{std::move(flow)}, gesture);
}

// ---- Controls ----------------------------------------------------------------------------------------------------

void mass_slider(SentenceView& view) {
    app::FlowChoice flow = view.session.state().sentence.flow;
    float percent = flow.mass * 100;
    ImGui::SetNextItemWidth(110);
    if (ImGui::SliderFloat("##mass", &percent, 0, 100, "", ImGuiSliderFlags_AlwaysClamp)) {
        flow.mass = percent / 100;
        set(view, flow, ui::gesture());
    }
    ui::landmark_item("flow/mass");
    ui::tooltip("For each word the fewest keys that make up this share of its weights");
    ImGui::SameLine(0, 8);
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::AlignTextToFramePadding();
    ImGui::Text("%3.0f %%", static_cast<double>(percent));
}

// One head's colour and name; a kept one can be let go.
void head_chip(SentenceView& view, HeadIndex head, ImU32 colour, bool kept) {
    const bool chosen = head == HeadIndex{view.selection().layer, view.selection().head};
    const std::string name = std::to_string(head.layer) + "." + std::to_string(head.head),
                      landmark = "flow/head/" + std::to_string(head.layer) + "/" + std::to_string(head.head);
    ui::next_control(ui::text_size(name).x + 60);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ui::button(landmark.c_str(), ("     " + name).c_str())) view.select_head(head.layer, head.head);
    const ImVec2 max = ImGui::GetItemRectMax();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float middle = (at.y + max.y) / 2;
    list->AddRectFilled({at.x + 8, middle - 3}, {at.x + 18, middle + 3}, colour, 2);
    if (chosen) list->AddRect(at, max, ui::theme().accent, ImGui::GetStyle().FrameRounding, 0, 1.5f);
    ui::tooltip(((chosen ? "Chosen: " : "Choose ") + name_of(head)).c_str());
    if (!kept) return;
    ImGui::SameLine(0, 2);
    if (ui::button((landmark + "/off").c_str(), "×")) {
        app::FlowChoice flow = view.session.state().sentence.flow;
        std::erase(flow.heads, head);
        set(view, flow);
    }
    ui::tooltip("No longer beside the chosen head");
}

void head_controls(SentenceView& view, std::span<const HeadIndex> heads, std::span<const ImU32> colours) {
    const app::FlowChoice& flow = view.session.state().sentence.flow;
    if (heads.size() > 1)
        for (std::size_t i = 0; i < heads.size(); ++i)
            head_chip(view, heads[i], colours[i],
                      std::ranges::find(flow.heads, heads[i]) != flow.heads.end());
    const HeadIndex chosen{view.selection().layer, view.selection().head};
    if (std::ranges::find(flow.heads, chosen) != flow.heads.end()) return;
    ui::next_control(90);
    const bool full = heads.size() >= app::flow_heads_limit;
    if (ui::button("flow/keep", "Keep head", !full)) {
        app::FlowChoice more = flow;
        more.heads.assign(heads.begin(), heads.end());  // those that are shown: the chosen one is the last
        set(view, more);
    }
    ui::tooltip(full ? "Eight heads at most are shown at once: let one go first"
                     : "Keeps this head in the picture when you choose another");
}

// The edges that are drawn: of the chosen word alone, where there is one, else all.
Result<std::string> svg_of_flow(const SentenceView& view, std::span<const HeadIndex> heads,
                                std::span<const ImU32> colours) {
    const app::FlowChoice& choice = view.session.state().sentence.flow;
    const auto query = within(view.selection().query, view.tokens());
    std::vector<app::SvgFlow::Series> series;
    Index count = 0;
    float most = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        app::HeadFlow& head = flows.of(heads[i]);
        if (!head.flow().done())
            return Error{"The flow is still being computed; save it when it is complete."};
        app::SvgFlow::Series& each = series.emplace_back();
        each.colour = rgb(colours[i]);
        each.name = name_of(heads[i]);
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
    if (heads.size() == 1) title += ", " + name_of(heads[0]);
    return app::svg_of(app::SvgFlow{.form = choice.form,
                                    .queries = view.run.pieces,
                                    .keys = view.run.pieces,
                                    .series = series,
                                    .title = title,
                                    .ink = svg_ink()});
}

void title(SentenceView& view, std::span<const HeadIndex> heads, std::span<const ImU32> colours,
           float width) {
    const float right = ImGui::GetCursorPosX() + width;
    ui::section("Flow", true);
    ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    mass_slider(view);
    ui::next_control(130);
    app::FlowChoice flow = view.session.state().sentence.flow;
    if (const auto form = ui::choice("flow/form", form_names, static_cast<int>(flow.form))) {
        flow.form = static_cast<app::FlowForm>(*form);
        set(view, flow);
    }
    head_controls(view, heads, colours);
    ui::next_control(60);
    picture_wanted |= save_menu(view, {"flow/save", "flow/picture", "flow"},
                                [&] { return svg_of_flow(view, heads, colours); });
    if (flow_view.zooms()) {
        ImGui::SameLine(right - 56, 0);
        if (ui::button("flow/out", "−", !flow_view.is_whole())) flow_view.zoom_by(1 / 1.5f);
        ui::tooltip("More words at once: or turn the wheel over the flow");
        ImGui::SameLine(right - 26, 0);
        if (ui::button("flow/in", "+", !flow_view.is_large())) flow_view.zoom_by(1.5f);
        ui::tooltip("Larger: a double click shows the words at their size");
    }
    ImGui::PopStyleVar();
    if (cut > 0)
        ui::caption(("Of " + std::to_string(cut) + " words in view the " +
                     std::to_string(Flow::usual_limits(view.tokens(), view.tokens()).most) +
                     " heaviest edges are less than that; point at one to see all of its edges.")
                        .c_str());
}

// ---- What is pointed at ------------------------------------------------------------------------------------------

void act(SentenceView& view, const ui::FlowTouch& touch, std::span<const HeadIndex> heads) {
    if (touch.edge) {
        const HeadIndex head = heads[touch.edge->series];
        const Index query = touch.edge->edge.query, key = touch.edge->edge.key;
        const app::CellRef cell{app::MatrixId::weight, query, key};
        const bool chosen = head == HeadIndex{view.selection().layer, view.selection().head};
        view.point(query, key);
        if (chosen) view.hover.cell = cell;
        const std::string text = quoted(view.piece(query)) + " → " + quoted(view.piece(key)) + "  " +
                                 app::fixed(static_cast<double>(touch.edge->edge.weight), 4) +
                                 (heads.size() > 1 ? "\n" + name_of(head) : "");
        ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {10, 8});
        ImGui::SetTooltip("%s", text.c_str());
        ImGui::PopStyleVar();
        if (!touch.clicked) return;
        app::Selection selection = view.selection();
        selection.layer = head.layer;
        selection.head = head.head;
        view.session.perform(app::Select{selection}, ui::gesture());
        view.session.perform(app::Pin{cell}, ui::gesture());
        view.select(query, key);
        return;
    }
    if (!touch.query && !touch.key) return;
    view.point(touch.query, touch.key);
    if (!touch.clicked) return;
    const app::Selection& s = view.selection();
    if (touch.query)
        view.select(s.query == touch.query ? std::nullopt : touch.query, std::nullopt);
    else
        view.select(std::nullopt, s.key == touch.key ? std::nullopt : touch.key);
}

}  // namespace

void sentence_flow(SentenceView& view, float width, float most_height) {
    std::vector<HeadIndex> heads = shown_heads(view);
    const auto chosen = std::ranges::find(heads, HeadIndex{view.selection().layer, view.selection().head});
    std::vector<ImU32> colours;
    for (std::size_t i = 0; i < heads.size(); ++i)
        colours.push_back(heads.size() == 1 ? ui::theme().accent : ui::series_colour(i));
    flows.show(view.run.trace, heads);
    bool more = true;
    do more = flows.step();
    while (more && !view.deadline.passed());
    if (more) view.session.continue_with([] { return flows.step(); });

    title(view, heads, colours, width);
    // The chosen head comes first and lies on top.
    const auto place = chosen - heads.begin();
    std::rotate(heads.begin(), chosen, chosen + 1);
    std::rotate(colours.begin(), colours.begin() + place, colours.begin() + place + 1);

    std::vector<ui::FlowSeries> series;
    for (std::size_t i = 0; i < heads.size(); ++i) series.push_back({&flows.of(heads[i]), colours[i]});
    const app::FlowChoice& choice = view.session.state().sentence.flow;
    const app::Selection& s = view.selection();
    ui::FlowPicture picture{.version = view.run.version,
                            .form = choice.form,
                            .mass = choice.mass,
                            .queries = view.run.pieces,
                            .keys = view.run.pieces,
                            .small_print = ids_of(view),
                            .series = series,
                            .query = s.query,
                            .key = s.key,
                            .chosen_query = s.query,
                            .chosen_key = s.query ? std::nullopt : s.key};
    if (!pointed_edge && (view.pointed.query || view.pointed.key)) {
        picture.query = view.pointed.query;
        picture.key = view.pointed.key;
    }
    const Index n = view.tokens();
    for (auto* each : {&picture.query, &picture.key, &picture.chosen_query, &picture.chosen_key})
        *each = within(*each, n);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ui::FlowTouch touch = flow_view.draw(picture, width, most_height);
    const ImVec2 end{corner.x + width, ImGui::GetItemRectMax().y};
    ui::landmark("flow/picture", corner, end);
    if (std::exchange(picture_wanted, false)) ui::scroll_to(corner, end);
    pointed_edge = touch.edge;
    cut = touch.cut;
    act(view, touch, heads);
    if (!render::flow_fault().empty())
        ui::caption(("The flow cannot be drawn here: " + render::flow_fault()).c_str());
}

}  // namespace attn::lenses
