// Draws the wiring: heads as nodes, layer above layer, and curves for how strongly each reads what an earlier
// one writes; beside it the strongest wires, and what the chosen wire's two heads do as a virtual head.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app::circuits {

namespace {

constexpr float names_room = 58, most_node = 11, layer_height = 84, least_height = 190, wire_reach = 7;
constexpr std::size_t wires_listed = 10;
constexpr const char* node_prefix = "circuits/node/";
constexpr std::array wire_letters{"Q", "K", "V"};

ImU32 wire_colour(Composition kind) { return ui::series_colour(static_cast<std::size_t>(kind)); }

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
    std::optional<Wire> under_cursor(std::span<const Wires::One> wires) const {
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
void draw_nodes(const Diagram& diagram, Subject& subject, const std::optional<Wire>& wire) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& t = ui::theme();
    const float radius = diagram.radius();
    const ui::SemanticGroup group(ui::Role::listbox, "circuits/nodes", "Heads");
    const ui::Type mono(ui::Face::mono, 12);
    for (Index layer = 0; layer < diagram.layers; ++layer) {
        ui::draw_text(list, {diagram.at.x, diagram.node({layer, 0}).y - ImGui::GetFontSize() / 2}, t.dim,
                      subject.attention()->numbering().name(layer));
        for (Index head = 0; head < diagram.heads; ++head) {
            const HeadIndex which{layer, head};
            const ImVec2 at = diagram.node(which), min{at.x - radius, at.y - radius},
                         max{at.x + radius, at.y + radius};
            const bool is_chosen = which == subject.chosen_head(), is_end = wire && touches(*wire, which);
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
            ui::semantic_place(ui::Role::option, key, "head " + head_name(subject, which), min, max).on =
                is_chosen;
        }
    }
}

CellRef wire_cell(const Model& model, const Wire& wire) {
    const Index heads = model.composition->heads();
    return cells::composition(wire.kind, wire.from.layer * heads + wire.from.head,
                              wire.to.layer * heads + wire.to.head);
}

void choose_wire(const Model& model, const Drawing& drawing, const Wire& wire) {
    present::pin(drawing, wire_cell(model, wire));
    State next = drawing.state().of<State>();
    next.wire = wire;
    set(drawing, next);
}

// What is under the cursor, or asked for by a key.
struct Pointed {
    std::optional<HeadIndex> head;
    std::optional<Wire> wire;
};

void draw_wires(const Model& model, const Diagram& diagram, const Pointed& over,
                const std::optional<Wire>& chosen) {
    const Wires& wires = *model.wires.kept();
    const double span = std::max(wires.strongest - wires.threshold, 1e-9);
    const auto draw = [&](const Wires::One& each, float alpha, float more) {
        const Diagram::Curve c = diagram.curve(each.wire);
        const auto strength = static_cast<float>(std::clamp((each.value - wires.threshold) / span, 0.0, 1.0));
        ImGui::GetWindowDrawList()->AddBezierCubic(c.a, c.b, c.c, c.d,
                                                   ui::with_alpha(wire_colour(each.wire.kind), alpha),
                                                   1.2f + 4 * strength + more);
    };
    for (auto each = wires.listed.rbegin(); each != wires.listed.rend(); ++each) {
        const bool lit = over.head ? touches(each->wire, *over.head) : !over.wire || each->wire == *over.wire;
        draw(*each, lit ? 0.75f : 0.15f, 0);
    }
    if (!chosen) return;
    const auto value = static_cast<double>(model.composition->value(chosen->kind, chosen->from, chosen->to));
    if (!std::isnan(value)) draw({*chosen, value}, 1, 1.5f);
}

void draw_diagram(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const present::Card card(drawing,
                             {.key = "circuits/wiring",
                              .title = "How far heads read what earlier ones write",
                              .table = [&] { return wires_table(model, subject); },
                              .is_listed = false},
                             width);
    width = card.width();
    const Index layers = model.composition->layers(), heads = model.composition->heads();
    const float height = std::clamp(layer_height * static_cast<float>(layers), least_height, 640.0f);
    const Diagram diagram{ImGui::GetCursorScreenPos(), width, height, layers, heads};
    ImGui::InvisibleButton("wiring", {width, height});
    ui::landmark_item("circuits/wiring");
    const bool hovered = ImGui::IsItemHovered();

    Pointed over;
    if (hovered) over.head = diagram.head_under_cursor();
    if (hovered && !over.head) over.wire = diagram.under_cursor(model.wires.kept()->listed);
    if (const auto asked = ui::asked_place(node_prefix); asked && asked->col < layers * heads) {
        over.head = HeadIndex{asked->col / heads, asked->col % heads};
        if (asked->pressed) parts::choose_head(drawing, *over.head);
    }
    const auto emphasised = over.wire ? over.wire : model.wire();
    draw_wires(model, diagram, over, emphasised);
    draw_nodes(diagram, subject, emphasised);
    if (over.wire) {
        const auto [kind, from, to] = *over.wire;
        drawing.now.cell = wire_cell(model, *over.wire);
        ui::tooltip_at_cursor((wire_name(subject, *over.wire) + ": " +
                               fixed(static_cast<double>(model.composition->value(kind, from, to)), 3))
                                  .c_str());
    }
    if (over.wire || over.head) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (!hovered || !ImGui::IsMouseReleased(0) || ui::dragged()) return;
    if (over.wire) choose_wire(model, drawing, *over.wire);
    if (over.head) parts::choose_head(drawing, *over.head);
}

void draw_wire_list(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Wires& wires = *model.wires.kept();
    const auto chosen = model.wire();
    const auto wire_at = [&](Index i) { return wires.listed[static_cast<std::size_t>(i)].wire; };
    present::Bars bars{
        .key = "circuits/wire", .title = "The strongest wires", .value = "composition", .cell = [&](Index i) {
            return wire_cell(model, wire_at(i));
        }};
    for (const auto& [wire, value] :
         std::span(wires.listed).first(std::min(wires.listed.size(), wires_listed)))
        bars.bars.push_back({head_name(subject, wire.from) + " → " + head_name(subject, wire.to) + "  " +
                                 wire_letters[static_cast<std::size_t>(wire.kind)],
                             static_cast<float>(value), fixed(value, 3), chosen == wire});
    const auto reply = draw_bars(drawing, std::move(bars), false, width);
    if (reply.clicked) choose_wire(model, drawing, wire_at(*reply.clicked));
    ui::caption(("At random: " + fixed(expected_composition(model.trace->model()->config().d_model), 3) +
                 ", whatever the size of a head (1 / √d_model).")
                    .c_str());
}

void draw_carried(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const VirtualHead& both = *model.virtual_head();
    if (both.token() != model.tokens.key || !both.outputs()->done()) return;
    const std::span<const TokenAlong> highest = both.outputs()->highest();
    present::Bars bars{
        .key = "circuits/virtual",
        .title = "Through both, " + token_name(model, subject, model.tokens.key) + " raises",
        .value = "adds",
        .cell = [&](Index i) { return cells::virtual_logit(highest[static_cast<std::size_t>(i)].id); }};
    for (const TokenAlong& each : highest)
        bars.bars.push_back(
            {token_name(model, subject, each.id), each.along, fixed(static_cast<double>(each.along), 3)});
    draw_bars(drawing, std::move(bars), true, width);
}

void draw_virtual(const Model& model, const Drawing& drawing, Subject& subject) {
    const auto of = model.wire();
    if (!of) return;
    ImGui::Dummy({0, below_text});
    ui::section(
        ("Virtual head: head " + head_name(subject, of->from) + ", then head " + head_name(subject, of->to))
            .c_str());
    const VirtualHead* both = model.virtual_head();
    if (!both) {
        const std::string share = percent(model.copying_job->products().progress());
        return ui::caption(("Computing what the two do together, " + share + ".").c_str());
    }
    ui::caption(("Where the later head attends to a token at which the earlier one attended to another, the "
                 "two act as one. Its copying score is " +
                 rounded(both->copying()->score, 3) + ".")
                    .c_str());
    ui::landmark_item("circuits/virtual_score");
    ImGui::Dummy({0, below_text});
    ui::columns(
        "circuits/both", least_column, present::card_gap,
        [&](float w) { draw_eigenvalues(drawing, *both->copying(), true, w); },
        [&](float w) { draw_carried(model, drawing, subject, w); });
}

void draw_wiring_controls(const Model& model, const Drawing& drawing) {
    State next = model.state;
    static constexpr std::array<const char*, composition_count> keys{"circuits/kind/q", "circuits/kind/k",
                                                                     "circuits/kind/v"},
        tips{"Into queries", "Into keys", "Into values"};
    ui::label("wires into");
    for (std::size_t kind = 0; kind < keys.size(); ++kind) {
        if (kind > 0) ImGui::SameLine(0, 6);
        auto wanted = model.state.kinds;
        wanted[kind] = !wanted[kind];
        if (ui::toggle(keys[kind], wire_letters[kind], model.state.kinds[kind]) &&
            wanted != std::array{false, false, false})
            next.kinds = wanted;
        ui::tooltip(tips[kind]);
        const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
        ImGui::GetWindowDrawList()->AddLine({min.x + 5, max.y + 3}, {max.x - 5, max.y + 3},
                                            wire_colour(static_cast<Composition>(kind)), 3);
    }
    const Wires& wires = *model.wires.kept();
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto to = ui::slider("circuits/threshold", "at least", wires.threshold, 0,
                                   std::clamp(wires.strongest, 0.01, 1.0), "%.3f"))
        next.threshold = std::clamp(*to, 0.0, 1.0);
    ImGui::EndGroup();
    ui::next_button("The strongest");
    const bool changed = model.state.threshold || model.state.wire;
    if (ui::button("circuits/strongest", "The strongest",
                   changed ? ok() : Status(Error{"These are shown already."}))) {
        next.threshold.reset();
        next.wire.reset();
    }
    set(drawing, next);
}

}  // namespace

void draw_wiring(Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.composition->done()) {
        const double share = model.composition->progress();
        ui::caption(("Multiplying every pair of heads, " + percent(share) + ".").c_str());
        return ui::landmark_item("circuits/progress");
    }
    draw_wiring_controls(model, drawing);
    model.update(drawing.visit, subject);
    const Wires& wires = *model.wires.kept();
    ImGui::Dummy({0, 4});
    const auto draw_left = [&](float w) {
        draw_diagram(model, drawing, subject, w);
        std::string told =
            many(std::ssize(wires.listed), "wire") + " of at least " + fixed(wires.threshold, 3) + ".";
        if (wires.left_out > 0)
            told += " " + with_commas(wires.left_out) + " more are too many to draw; raise the threshold.";
        ui::caption((told + " The stream runs upwards, from the first layer to the last.").c_str());
        ui::landmark_item("circuits/wires_told");
    };
    ui::unequal_columns(0.62f, present::card_gap, "circuits/diagram", draw_left, "circuits/wire",
                        [&](float w) { draw_wire_list(model, drawing, subject, w); });
    draw_virtual(model, drawing, subject);
}

}  // namespace attn::app::circuits
