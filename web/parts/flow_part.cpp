#include "parts/flow_part.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "parts/save_menu.hpp"
#include "present/present.hpp"
#include "render/flow.hpp"
#include "widgets/chart.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/scroll.hpp"
#include "widgets/semantics.hpp"

namespace attn::parts {

namespace {

constexpr std::array<const char*, 2> form_names{"arcs", "columns"};
constexpr Index most_words = 4096;

}  // namespace

// Holds what one frame draws.
struct FlowPart::Frame {
    const app::Drawing& drawing;
    app::Attention& attention;
    app::MapChoice map;  // tokens or words
    app::FlowChoice choice;
    ShownAxis queries, keys;
    std::vector<HeadIndex> heads;  // the kept heads that exist, in their order, and the chosen one
    std::vector<ImU32> colours;

    // A mean over heads is shown alone.
    void take_heads() {
        if (attention.mean_of(map) != app::HeadMean::one) {
            heads = {chosen()};
            colours = {ui::theme().accent};
            return;
        }
        for (const HeadIndex& head : choice.heads)
            if (attention.alike().holds(head.layer) && head.head < attention.heads()) heads.push_back(head);
        if (std::ranges::find(heads, chosen()) == heads.end()) heads.push_back(chosen());
        for (std::size_t i = 0; i < heads.size(); ++i)
            colours.push_back(heads.size() == 1 ? ui::theme().accent : ui::series_colour(i));
    }
    HeadIndex chosen() const { return {selection_of(drawing).layer, selection_of(drawing).head}; }
    FlowForm form() const { return attention.one_line() ? choice.form : FlowForm::columns; }
    bool keeps(HeadIndex head) const { return std::ranges::find(choice.heads, head) != choice.heads.end(); }
    std::string name_of(HeadIndex head) const { return mean_text(attention, attention.mean_of(map), head); }
    void choose(app::FlowChoice flow, std::uint64_t gesture = 0) const {
        drawing.visit.perform(app::SetFlow{std::move(flow)}, gesture);
    }
    void choose_words(std::optional<Index> query, std::optional<Index> key) const {
        choose_tokens(drawing, queries.token(query), keys.token(key));
    }
};

// ---- Controls ---------------------------------------------------------------------------------------------

namespace {

void mass_slider(const auto& frame) {
    app::FlowChoice flow = frame.choice;
    float percent = flow.mass * 100;
    ImGui::SetNextItemWidth(ui::slider_width);
    const float before = percent;
    ImGui::SliderFloat("##mass", &percent, 0, 100, "", ImGuiSliderFlags_AlwaysClamp);
    if (const auto asked = ui::semantic_slider("flow/mass", "Share of attention shown",
                                               app::fixed(static_cast<double>(before), 0) + " %",
                                               {static_cast<double>(before), 0, 100}))
        percent = static_cast<float>(*asked);
    if (percent != before) {
        flow.mass = percent / 100;
        frame.choose(flow, ui::gesture());
    }
    ui::landmark_item("flow/mass");
    ui::tooltip("Show the strongest edges that carry this share of each word's attention");
    ImGui::SameLine(0, 8);
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::AlignTextToFramePadding();
    ui::text_item(app::fixed(static_cast<double>(percent), 0) + " %");
}

// Draws one head's colour and name; a kept head has a button that removes it.
void head_chip(const auto& frame, HeadIndex head, ImU32 colour, bool kept) {
    const bool chosen = head == frame.chosen();
    const app::Layers layers = frame.attention.numbering();
    const std::string name = "head " + (layers.decoder > 0
                                            ? layers.short_head(head)
                                            : std::to_string(head.layer) + "." + std::to_string(head.head)),
                      landmark = "flow/head/" + std::to_string(head.layer) + "/" + std::to_string(head.head);
    ui::next_control(ui::text_size(name).x + ui::need::icon);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ui::button(landmark.c_str(), ("     " + name).c_str())) choose_head(frame.drawing, head);
    ui::rename_node(frame.name_of(head));
    const ImVec2 max = ImGui::GetItemRectMax();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float middle = (at.y + max.y) / 2;
    list->AddRectFilled({at.x + 8, middle - 3}, {at.x + 18, middle + 3}, colour, 2);
    if (chosen) list->AddRect(at, max, ui::theme().accent, ImGui::GetStyle().FrameRounding, 0, 1.5f);
    ui::tooltip(((chosen ? "Chosen: " : "Choose ") + frame.name_of(head)).c_str());
    if (!kept) return;
    ImGui::SameLine(0, 2);
    const bool removed = ui::button((landmark + "/off").c_str(), "×");
    ui::rename_node("Remove " + frame.name_of(head));
    if (removed) {
        app::FlowChoice flow = frame.choice;
        std::erase(flow.heads, head);
        frame.choose(flow);
    }
    ui::tooltip("Remove this head");
}

}  // namespace

void FlowPart::draw_heads(const Frame& frame) {
    if (frame.attention.mean_of(frame.map) != app::HeadMean::one) {
        const std::string name = frame.name_of(frame.chosen());
        ui::next_control(ui::text_size(name).x);
        ImGui::AlignTextToFramePadding();
        return ui::text_item(name);
    }
    if (frame.heads.size() > 1 || !frame.choice.heads.empty())
        for (std::size_t i = 0; i < frame.heads.size(); ++i)
            head_chip(frame, frame.heads[i], frame.colours[i], frame.keeps(frame.heads[i]));
    if (!ui::settings() || frame.keeps(frame.chosen()) ||
        frame.attention.layers() * frame.attention.heads() < 2)
        return;
    ui::next_control(ui::need::button);
    const bool full = frame.heads.size() >= flow_heads_limit;
    if (ui::button("flow/keep", "Keep head", !full)) {
        app::FlowChoice more = frame.choice;
        // The shown heads, the chosen one last. Heads kept for other texts are not included.
        more.heads = frame.heads;
        frame.choose(more);
    }
    ui::tooltip(full ? "At most eight heads are shown at once: remove one first"
                     : "Keeps this head in the picture when you choose another");
}

std::string FlowPart::title(const Frame& frame) {
    const std::string title = "Flow, " + app::fixed(static_cast<double>(frame.choice.mass) * 100, 0) + " %";
    return frame.heads.size() == 1 ? title + ", " + frame.name_of(frame.heads[0]) : title;
}

// Draws the visible edges of the words in view: only the chosen word's, if one is chosen.
Result<std::string> FlowPart::svg(const Frame& frame) {
    const app::FlowChoice& choice = frame.choice;
    const auto query = frame.queries.shown(selection_of(frame.drawing).query);
    std::vector<SvgFlow::Series> series;
    Index count = 0;
    float most = 0;
    for (std::size_t i = 0; i < frame.heads.size(); ++i) {
        HeadFlow& head = flows_.of(frame.heads[i]);
        if (!head.flow().done())
            return Error{"The flow is still being computed; save it when it is complete."};
        SvgFlow::Series& each = series.emplace_back();
        each.colour = ui::rgb_of(frame.colours[i]);
        each.name = frame.name_of(frame.heads[i]);
        for (const FlowEdge& edge : query ? std::span(head.from(*query).edges) : head.flow().edges())
            if (edge.before < before_limit(choice.mass)) {
                each.edges.push_back(edge);
                most = std::max(most, edge.weight);
                if (++count > svg_edges)
                    return Error{"An SVG holds at most " + std::to_string(svg_edges) +
                                 " edges, and the flow has more; ask for a smaller share, or save a PNG."};
            }
    }
    for (SvgFlow::Series& each : series) {
        each.most = query ? most : 1;
        each.opacity = query ? 1 : 0.75f;
    }
    return svg_of(SvgFlow{.form = frame.form(),
                          .queries = frame.queries.names,
                          .keys = frame.keys.names,
                          .shown_queries = view_.queries_in_view(),
                          .shown_keys = view_.keys_in_view(),
                          .series = series,
                          .title = title(frame),
                          .ink = svg_ink()});
}

// Draws "− 40 % +", which ends at the right.
void FlowPart::draw_zoom(float right) {
    constexpr float gap = 6, factor = 1.5f;
    const std::string shown = app::percent(static_cast<double>(view_.zoom()));
    const float padding = 4 * ImGui::GetStyle().FramePadding.x, label = ui::text_size("100 %").x,
                width = ui::text_size("−").x + ui::text_size("+").x + padding + label + 2 * gap;
    const float at = right - width;
    if (ImGui::GetItemRectMax().x + 8 <= ImGui::GetWindowPos().x + at) {
        ImGui::SameLine();
        ImGui::SetCursorPosX(at);
    }
    if (ui::button("flow/out", "−", !view_.is_whole())) view_.zoom_by(1 / factor);
    ui::rename_node("Zoom out of the flow");
    ui::tooltip("Zoom out (or Ctrl + scroll)");
    ImGui::SameLine(0, gap);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ui::draw_text(
        ImGui::GetWindowDrawList(),
        {corner.x + (label - ui::text_size(shown).x) / 2, corner.y + ImGui::GetStyle().FramePadding.y},
        ui::theme().text, shown);
    ImGui::Dummy({label, ImGui::GetFrameHeight()});
    ImGui::SameLine(0, gap);
    if (ui::button("flow/in", "+", !view_.is_large())) view_.zoom_by(factor);
    ui::rename_node("Zoom into the flow");
    ui::tooltip("Zoom in; a double click shows the words at their full size");
}

void FlowPart::draw_controls(const Frame& frame, float width) {
    const float right = ImGui::GetCursorPosX() + width;
    ui::section("Flow", true);
    ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    mass_slider(frame);
    ui::next_control(ui::need::two_choices);
    app::FlowChoice flow = frame.choice;
    const bool one_line = frame.attention.one_line();
    ImGui::BeginGroup();
    ImGui::BeginDisabled(!one_line);
    const auto form = ui::choice("flow/form", form_names, static_cast<int>(frame.form()));
    ImGui::EndDisabled();
    ImGui::EndGroup();
    if (!one_line)
        ui::tooltip(
            "Arcs need one line of words; here queries and keys differ, so they are shown in two columns");
    if (form) {
        flow.form = static_cast<FlowForm>(*form);
        frame.choose(flow);
    }
    draw_heads(frame);
    const bool settings = ui::settings();
    if (settings) {
        ui::next_control(ui::need::icon);
        picture_wanted_ |= save_menu(frame.drawing.visit, {"flow/save", "flow/picture", "flow", title(frame)},
                                     [&] { return svg(frame); });
    }
    if (settings && view_.zooms()) draw_zoom(right);
    ImGui::PopStyleVar();
    if (cut_ > 0)
        ui::caption(("Too many edges to draw for " + std::to_string(cut_) +
                     " words; hover over one to see all of its edges.")
                        .c_str());
}

// ---- Hovering -----------------------------------------------------------------------------------------

void FlowPart::act(const Frame& frame, const ui::FlowTouch& touch, std::span<const HeadIndex> heads) {
    const app::Drawing& drawing = frame.drawing;
    if (touch.edge) {
        const HeadIndex head = heads[touch.edge->series];
        const Index query = touch.edge->edge.query, key = touch.edge->edge.key;
        const Unit unit = frame.attention.unit_of(frame.map);
        const app::RunCell cell{
            Stage::weight, query, key, false, unit, Sink::shown, frame.attention.mean_of(frame.map)};
        drawing.point(frame.queries.token(query), frame.keys.token(key));
        drawing.now.cell = cell;
        drawing.now.head = head;
        const std::string text = app::curly_quoted(frame.queries.names[static_cast<std::size_t>(query)]) +
                                 " → " + app::curly_quoted(frame.keys.names[static_cast<std::size_t>(key)]) +
                                 "  " + app::fixed(static_cast<double>(touch.edge->edge.weight), 4) +
                                 (heads.size() > 1 ? "\n" + frame.name_of(head) : "");
        if (!touch.heard) ui::tooltip_at_cursor(text.c_str());
        if (!touch.clicked) return;
        choose_head(drawing, head);
        present::pin(drawing, cell);
        return frame.choose_words(query, key);
    }
    if (!touch.query && !touch.key) return;
    drawing.point(frame.queries.token(touch.query), frame.keys.token(touch.key));
    if (!touch.clicked) return;
    const app::Selection s = selection_of(drawing);
    if (touch.query)
        frame.choose_words(frame.queries.shown(s.query) == touch.query ? std::nullopt : touch.query,
                           std::nullopt);
    else
        frame.choose_words(std::nullopt, frame.keys.shown(s.key) == touch.key ? std::nullopt : touch.key);
}

// Returns the text below each word: its token's id or position or, if it has several tokens, their number.
const std::vector<std::string>& FlowPart::small_print(const app::Attention& attention,
                                                      const app::MapChoice& map, std::uint64_t source) {
    if (std::exchange(small_print_of_, source) == source) return small_print_;
    small_print_.clear();
    for (Index i = 0; i < attention.queries(); ++i) small_print_.push_back(attention.small_print(i));
    if (const UnitAxis* units = attention.query_axis(map).units)
        small_print_ = below_units(*units, small_print_);
    return small_print_;
}

std::optional<ui::Look> FlowPart::look(const Frame& frame) {
    const app::Selection s = selection_of(frame.drawing);
    if (!s.query) return std::nullopt;
    const auto& reading = reader_.read(frame.attention, s.layer, s.head, s.query, frame.map);
    const auto* strongest = reading ? reading->strongest() : nullptr;
    if (!strongest) return std::nullopt;
    return ui::Look{frame.keys.shown(strongest->keys), strongest->at, app::percent(strongest->share)};
}

void FlowPart::draw(const app::Drawing& drawing, app::Attention& attention, float width, float most_height) {
    // The flow always shows weights, whatever stage the map shows, but between the map's units, and of the
    // same heads.
    const app::MapChoice& looks = app::looks_of(drawing.state()).map;
    app::MapChoice map{.stage = Stage::weight};
    map.unit = attention.unit_of(looks);
    map.mean = attention.mean_of(looks);
    map.spans = looks.spans;
    Frame frame{drawing,
                attention,
                map,
                app::looks_of(drawing.state()).flow,
                attention.query_axis(map),
                attention.key_axis(map),
                {},
                {}};
    const auto is_computed = [&](Index layer) { return attention.finished() || attention.record(layer); };
    const bool computed = is_computed(selection_of(drawing).layer) &&
                          std::ranges::all_of(frame.choice.heads, is_computed, &HeadIndex::layer);
    const char* why_not = std::max(std::ssize(frame.queries.names), std::ssize(frame.keys.names)) > most_words
                              ? "The flow is drawn for up to 4,096 queries and keys; here there are more."
                          : !computed ? "The flow is shown as soon as the attention is computed."
                                      : nullptr;
    if (why_not) {
        ui::section("Flow");
        return ui::caption(why_not);
    }
    frame.take_heads();
    const bool same = map == source_.map;
    const std::uint64_t before = source_.version;
    if (!same || before != attention.version()) source_ = {map, attention.version(), source_.serial + 1};
    const std::uint64_t source = source_.serial;
    flows_.show(
        source, frame.heads, [&](HeadIndex head) { return attention.shown_maps(map)(head.layer, head.head); },
        same ? attention.kept_since(before, attention.unit_of(map)) : 0);
    // A large flow skips its first frame, which has enough to do with everything else that is new.
    const bool waits = std::ssize(frame.queries.names) > tile_side && flows_.progress() == 0;
    while (!waits && flows_.step() && !drawing.deadline.passed()) continue;
    if (flows_.progress() < 1) drawing.visit.continue_with([this] { return flows_.step(); });

    draw_controls(frame, width);
    // The chosen head comes first and is drawn on top.
    std::vector<HeadIndex> heads = frame.heads;
    std::vector<ImU32> colours = frame.colours;
    const auto place = std::ranges::find(heads, frame.chosen()) - heads.begin();
    std::rotate(heads.begin(), heads.begin() + place, heads.begin() + place + 1);
    std::rotate(colours.begin(), colours.begin() + place, colours.begin() + place + 1);
    std::vector<ui::FlowSeries> series;
    for (std::size_t i = 0; i < heads.size(); ++i)
        series.push_back(
            {&flows_.of(heads[i]), colours[i], heads.size() > 1 ? frame.name_of(heads[i]) : std::string()});
    const app::Selection s = selection_of(drawing);
    const auto query = frame.queries.shown(s.query), key = frame.keys.shown(s.key);
    ui::FlowPicture picture{.version = source,
                            .form = frame.form(),
                            .mass = frame.choice.mass,
                            .queries = frame.queries.names,
                            .keys = frame.keys.names,
                            .small_print = small_print(attention, map, source),
                            .series = series,
                            .query = query,
                            .key = key,
                            .chosen_query = query,
                            .chosen_key = query ? std::nullopt : key,
                            .look = look(frame)};
    if (!pointed_edge_ && (drawing.pointed.query || drawing.pointed.key)) {
        picture.query = frame.queries.shown(drawing.pointed.query);
        picture.key = frame.keys.shown(drawing.pointed.key);
    }
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ui::FlowTouch touch = view_.draw(picture, width, most_height);
    const ImVec2 end{corner.x + view_.width(), ImGui::GetItemRectMax().y};
    ui::landmark("flow/picture", corner, end);
    if (std::exchange(picture_wanted_, false)) ui::scroll_to(corner, end);
    pointed_edge_ = touch.edge;
    cut_ = touch.cut;
    act(frame, touch, heads);
    if (!render::flow_fault().empty())
        ui::caption(("The flow cannot be drawn here: " + render::flow_fault()).c_str());
}

}  // namespace attn::parts
