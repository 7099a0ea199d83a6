// Draws the wiring: heads as nodes, layer above layer, and curves for how strongly each reads what an earlier
// one writes; beside it the strongest wires, and what the chosen wire's two heads do as a virtual head.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

using namespace circuits_view;

constexpr float names_room = 58, most_node = 11, layer_height = 84, least_height = 190, wire_reach = 7;
constexpr std::size_t wires_listed = 10;
constexpr const char* node_prefix = "circuits/node/";
constexpr std::array<std::size_t, composition_count> wire_series{0, 1, 2};
constexpr std::array wire_letters{"Q", "K", "V"};

ImU32 wire_colour(Composition kind) { return ui::series_colour(wire_series[static_cast<std::size_t>(kind)]); }

// Positions of the heads: the first layer is at the bottom, because the residual stream runs upwards.
struct Diagram {
    ImVec2 at;
    float width, height;
    Index layers, heads;

    float radius() const {
        const float across = (width - names_room) / static_cast<float>(heads);
        return std::clamp(std::min(across, height / static_cast<float>(layers)) * 0.3f, 2.0f, most_node);
    }
    ImVec2 node(HeadIndex head) const {
        const float across = (width - names_room) / static_cast<float>(heads),
                    up = height / static_cast<float>(layers);
        return {at.x + names_room + (static_cast<float>(head.head) + 0.5f) * across,
                at.y + height - (static_cast<float>(head.layer) + 0.5f) * up};
    }
    struct Curve {
        ImVec2 a, b, c, d;
        ImVec2 point(float t) const {
            const float s = 1 - t, p = s * s * s, q = 3 * s * s * t, r = 3 * s * t * t, u = t * t * t;
            return {p * a.x + q * b.x + r * c.x + u * d.x, p * a.y + q * b.y + r * c.y + u * d.y};
        }
        float away(ImVec2 from) const {
            float least = HUGE_VALF;
            for (int i = 0; i <= 32; ++i) {
                const ImVec2 p = point(static_cast<float>(i) / 32);
                least = std::min(least, std::hypot(p.x - from.x, p.y - from.y));
            }
            return least;
        }
    };
    // The kinds leave and arrive side by side, so that wires between the same heads can be told apart.
    Curve curve(const Wire& wire) const {
        const float aside = (static_cast<float>(wire.kind) - 1) * radius() * 0.7f;
        const ImVec2 from = node(wire.from), to = node(wire.to);
        const ImVec2 a{from.x + aside, from.y - radius()}, d{to.x + aside, to.y + radius()};
        const float reach = (a.y - d.y) * 0.5f;
        return {a, {a.x, a.y - reach}, {d.x, d.y + reach}, d};
    }
    std::optional<HeadIndex> head_under_cursor() const {
        std::optional<HeadIndex> over;
        const ImVec2 mouse = ImGui::GetMousePos();
        for (Index layer = 0; layer < layers; ++layer)
            for (Index head = 0; head < heads; ++head) {
                const ImVec2 p = node({layer, head});
                if (std::hypot(p.x - mouse.x, p.y - mouse.y) <= radius() + 2) over = {layer, head};
            }
        return over;
    }
    std::optional<Wire> under_cursor(std::span<const CircuitsLens::DrawnWire> wires) const {
        std::optional<Wire> over;
        float nearest = wire_reach;
        for (const auto& each : wires) {
            const float away = curve(each.wire).away(ImGui::GetMousePos());
            if (away >= nearest) continue;
            nearest = away;
            over = each.wire;
        }
        return over;
    }
};

bool touches(const Wire& wire, HeadIndex head) { return wire.from == head || wire.to == head; }

// Draws the heads; emphasises the chosen one and the two of this wire.
void draw_nodes(const Diagram& diagram, HeadIndex chosen, const std::optional<Wire>& wire,
                const Layers& numbering, auto&& name_of) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& t = ui::theme();
    const float radius = diagram.radius();
    const ui::SemanticGroup group(ui::Role::listbox, "circuits/nodes", "Heads");
    const ui::Type mono(ui::Face::mono, 12);
    for (Index layer = 0; layer < diagram.layers; ++layer) {
        ui::draw_text(list, {diagram.at.x, diagram.node({layer, 0}).y - ImGui::GetFontSize() / 2}, t.dim,
                      numbering.name(layer));
        for (Index head = 0; head < diagram.heads; ++head) {
            const HeadIndex which{layer, head};
            const ImVec2 at = diagram.node(which), min{at.x - radius, at.y - radius},
                         max{at.x + radius, at.y + radius};
            const bool is_chosen = which == chosen, is_end = wire && touches(*wire, which);
            list->AddCircleFilled(at, radius, is_chosen ? t.accent : t.raised);
            list->AddCircle(at, radius, is_end ? t.text : t.border, 0, is_end ? 2.0f : 1.0f);
            if (radius >= 9) {
                const std::string number = std::to_string(head);
                const ImVec2 size = ui::text_size(number);
                ui::draw_text(list, {at.x - size.x / 2, at.y - size.y / 2},
                              is_chosen ? ui::ink_on(t.accent) : t.text, number);
            }
            const std::string key = node_prefix + std::to_string(layer * diagram.heads + head);
            ui::landmark(key, min, max);
            ui::semantic_place(ui::Role::option, key, name_of(which), min, max).on = is_chosen;
        }
    }
}

}  // namespace

CellRef CircuitsLens::wire_cell(const Wire& wire) const {
    const Index heads = composition_->heads();
    return circuits_cells::composition(wire.kind, wire.from.layer * heads + wire.from.head,
                                       wire.to.layer * heads + wire.to.head);
}

void CircuitsLens::choose_wire(const Drawing& drawing, const Wire& wire) {
    present::pin(drawing, wire_cell(wire));
    CircuitsState next = now();
    next.wire = wire;
    set(next, ui::gesture());
}

void CircuitsLens::draw_diagram(const Drawing& drawing, Subject& subject, float width) {
    const present::Card card(drawing,
                             {.key = "circuits/wiring",
                              .title = "How far heads read what earlier ones write",
                              .table = [&] { return wires_table(subject); },
                              .is_listed = false},
                             width);
    width = card.width();
    const Index layers = composition_->layers(), heads = composition_->heads();
    const float height = std::clamp(layer_height * static_cast<float>(layers), least_height, 640.0f);
    const Diagram diagram{ImGui::GetCursorScreenPos(), width, height, layers, heads};
    ImGui::InvisibleButton("wiring", {width, height});
    ui::landmark_item("circuits/wiring");
    const bool hovered = ImGui::IsItemHovered();

    std::optional<HeadIndex> over_head;
    std::optional<Wire> over;
    if (hovered) over_head = diagram.head_under_cursor();
    if (hovered && !over_head) over = diagram.under_cursor(wires_.drawn);
    if (const auto asked = ui::asked_place(node_prefix); asked && asked->col < layers * heads) {
        over_head = HeadIndex{asked->col / heads, asked->col % heads};
        if (asked->pressed) parts::choose_head(drawing, *over_head);
    }

    ImDrawList* list = ImGui::GetWindowDrawList();
    const double span = std::max(wires_.strongest - wires_.threshold, 1e-9);
    const auto draw_wire = [&](const DrawnWire& each, float alpha, float more) {
        const Diagram::Curve c = diagram.curve(each.wire);
        const auto strength =
            static_cast<float>(std::clamp((each.value - wires_.threshold) / span, 0.0, 1.0));
        list->AddBezierCubic(c.a, c.b, c.c, c.d, ui::with_alpha(wire_colour(each.wire.kind), alpha),
                             1.2f + 4 * strength + more);
    };
    for (auto each = wires_.drawn.rbegin(); each != wires_.drawn.rend(); ++each) {
        const bool lit = over_head ? touches(each->wire, *over_head) : !over || each->wire == *over;
        draw_wire(*each, lit ? 0.75f : 0.15f, 0);
    }
    const auto emphasised = over ? over : wire();
    if (emphasised) {
        const double value =
            static_cast<double>(composition_->value(emphasised->kind, emphasised->from, emphasised->to));
        if (!std::isnan(value)) draw_wire({*emphasised, value}, 1, 1.5f);
    }
    draw_nodes(diagram, head_, emphasised, subject.attention()->numbering(),
               [&](HeadIndex head) { return "head " + head_name(subject, head); });
    if (over) {
        drawing.now.cell = wire_cell(*over);
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        const double value = static_cast<double>(composition_->value(over->kind, over->from, over->to));
        ui::tooltip_at_cursor((wire_name(subject, *over) + ": " + fixed(value, 3)).c_str());
    }
    if (over_head) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (!hovered || !ImGui::IsMouseReleased(0) || ui::dragged()) return;
    if (over) choose_wire(drawing, *over);
    if (over_head) parts::choose_head(drawing, *over_head);
}

void CircuitsLens::draw_wire_list(const Drawing& drawing, Subject& subject, float width) {
    std::vector<ui::Bar> bars;
    const auto shown = std::min(wires_.drawn.size(), wires_listed);
    const auto chosen = wire();
    for (std::size_t i = 0; i < shown; ++i) {
        const DrawnWire& each = wires_.drawn[i];
        bars.push_back({head_name(subject, each.wire.from) + " → " + head_name(subject, each.wire.to) + "  " +
                            wire_letters[static_cast<std::size_t>(each.wire.kind)],
                        static_cast<float>(each.value), fixed(each.value, 3), chosen == each.wire, false});
    }
    const auto most = static_cast<float>(wires_.strongest);
    const auto wire_at = [&](Index i) { return wires_.drawn[static_cast<std::size_t>(i)].wire; };
    const auto reply = present::bars(drawing,
                                     {.key = "circuits/wire",
                                      .title = "The strongest wires",
                                      .value = "composition",
                                      .bars = bars,
                                      .most = most,
                                      .scale = ui::sequential_scale(most),
                                      .most_name = list_name_width,
                                      .cell = [&](Index i) { return wire_cell(wire_at(i)); }},
                                     width);
    if (reply.clicked) choose_wire(drawing, wire_at(*reply.clicked));
    ui::caption(("At random: " + fixed(expected_composition(trace_->model()->config().d_model), 3) +
                 ", whatever the size of a head (1 / √d_model).")
                    .c_str());
}

// The wire's two heads as one.
void CircuitsLens::draw_virtual(const Drawing& drawing, Subject& subject) {
    const auto of = wire();
    if (!of) return;
    ImGui::Dummy({0, below_text});
    ui::section(
        ("Virtual head: head " + head_name(subject, of->from) + ", then head " + head_name(subject, of->to))
            .c_str());
    if (!virtual_ || !(virtual_->of == *of)) {
        const double share = copying_ ? copying_->products().progress() : 0;
        return ui::caption(("Computing what the two do together, " + percent(share) + ".").c_str());
    }
    ui::caption(("Where the later head attends to a token at which the earlier one attended to another, the "
                 "two act as "
                 "one. Its copying score is " +
                 rounded(virtual_->copying.score, 3) + ".")
                    .c_str());
    ui::landmark_item("circuits/virtual_score");
    ImGui::Dummy({0, below_text});
    ui::columns(
        "circuits/both", least_column, present::card_gap,
        [&](float w) { draw_eigenvalues(drawing, virtual_->copying, true, w); },
        [&](float w) { draw_carried(drawing, subject, w); });
}

void CircuitsLens::draw_carried(const Drawing& drawing, Subject& subject, float width) {
    if (!virtual_->outputs || virtual_->token != key() || !virtual_->outputs->done()) return;
    const std::span<const TokenAlong> highest = virtual_->outputs->highest();
    std::vector<ui::Bar> bars;
    float most = 0;
    for (const TokenAlong& each : highest) {
        most = std::max(most, std::abs(each.along));
        bars.push_back({token_name(subject, each.id), each.along, fixed(static_cast<double>(each.along), 3),
                        false, false});
    }
    present::bars(
        drawing,
        {.key = "circuits/virtual",
         .title = "Through both, " + token_name(subject, key()) + " raises",
         .value = "adds",
         .bars = bars,
         .most = most,
         .scale = ui::diverging_scale(most),
         .most_name = list_name_width,
         .cell =
             [&](Index i) { return circuits_cells::virtual_logit(highest[static_cast<std::size_t>(i)].id); }},
        width);
}

void CircuitsLens::draw_wiring(const Drawing& drawing, Subject& subject) {
    if (!composition_->done()) {
        ui::caption(("Multiplying every pair of heads, " + percent(composition_->progress()) + ".").c_str());
        return ui::landmark_item("circuits/progress");
    }
    CircuitsState next = now();
    static constexpr std::array<const char*, composition_count> names{"Q", "K", "V"},
        keys{"circuits/kind/q", "circuits/kind/k", "circuits/kind/v"},
        tips{"Into queries", "Into keys", "Into values"};
    ui::label("wires into");
    for (std::size_t kind = 0; kind < names.size(); ++kind) {
        if (kind > 0) ImGui::SameLine(0, 6);
        auto wanted = now().kinds;
        wanted[kind] = !wanted[kind];
        if (ui::toggle(keys[kind], names[kind], now().kinds[kind]) &&
            wanted != std::array{false, false, false})
            next.kinds = wanted;
        ui::tooltip(tips[kind]);
        const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
        ImGui::GetWindowDrawList()->AddLine({min.x + 5, max.y + 3}, {max.x - 5, max.y + 3},
                                            wire_colour(static_cast<Composition>(kind)), 3);
    }
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto to = ui::slider("circuits/threshold", "at least", wires_.threshold, 0,
                                   std::clamp(wires_.strongest, 0.01, 1.0), "%.3f"))
        next.threshold = std::clamp(*to, 0.0, 1.0);
    ImGui::EndGroup();
    ui::next_button("The strongest");
    if (ui::button("circuits/strongest", "The strongest",
                   now().threshold || now().wire ? ok() : Status(Error{"These are shown already."}))) {
        next.threshold.reset();
        next.wire.reset();
    }
    set(next, ui::gesture());
    find_wires();
    ImGui::Dummy({0, 4});
    const auto draw_left = [&](float w) {
        draw_diagram(drawing, subject, w);
        std::string told =
            many(std::ssize(wires_.drawn), "wire") + " of at least " + fixed(wires_.threshold, 3) + ".";
        if (wires_.left_out > 0)
            told += " " + with_commas(wires_.left_out) + " more are too many to draw; raise the threshold.";
        ui::caption((told + " The stream runs upwards, from the first layer to the last.").c_str());
        ui::landmark_item("circuits/wires_told");
    };
    ui::unequal_columns(0.62f, present::card_gap, "circuits/diagram", draw_left, "circuits/wire",
                        [&](float w) { draw_wire_list(drawing, subject, w); });
    draw_virtual(drawing, subject);
}

}  // namespace attn::app
