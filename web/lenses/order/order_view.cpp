#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"
#include "widgets/token_line.hpp"

namespace attn::app::order {

namespace {

constexpr float slot_padding = 12, slot_gap = 6, least_slot = 60, most_slot = 132, least_part = 340;

// Places have equal widths, so that a dragged token's place is clear, whatever moves aside.
struct Slots {
    ImVec2 corner = ImGui::GetCursorScreenPos(), size{least_slot, ui::chip_height}, pitch;
    Index count, columns;

    Slots(const std::vector<std::string>& names, float width) : count(std::ssize(names)) {
        const ui::Type face(ui::Face::regular, ui::size_body);
        for (const std::string& each : names)
            size.x = std::max(size.x, ui::text_size(each).x + 2 * slot_padding);
        size.x = std::min(std::ceil(size.x), most_slot);
        pitch = {size.x + slot_gap, size.y + slot_gap};
        columns = std::clamp(static_cast<Index>((width + slot_gap) / pitch.x), Index{1}, count);
    }
    Index lines() const { return (count + columns - 1) / columns; }
    float height() const { return pitch.y * static_cast<float>(lines()) - slot_gap; }
    ImVec2 at(Index place) const {
        return {corner.x + pitch.x * static_cast<float>(place % columns),
                corner.y + pitch.y * static_cast<float>(place / columns)};
    }
    Index under(ImVec2 mouse) const {
        const auto along = [](float from, float step, Index limit) {
            return std::clamp(static_cast<Index>(std::floor(from / step)), Index{0}, limit - 1);
        };
        return std::min(along(mouse.y - corner.y, pitch.y, lines()) * columns +
                            along(mouse.x - corner.x, pitch.x, columns),
                        count - 1);
    }
};

void draw_presets(Model& model, const Drawing& drawing, Subject& subject) {
    const bool keys = !model.content->one_line();
    const Tokens& tokens = keys ? model.keys : model.queries;
    const Index n = tokens.size();
    const auto offer = [&](const char* key, const std::string& label, const State& next) {
        if (ui::next_control(ui::text_size(label).x + 24))
            if (ui::button(key, label.c_str())) set(model, drawing, subject, next);
    };
    const ui::Row tries("order/try", ui::to_try);
    State next = model.state;
    if (n > 1) {
        std::vector<Index>& order = keys ? next.key_order : next.order;
        order = order_of({}, n);
        std::swap(order.front(), order.back());
        offer("order/preset/swap",
              std::string("Swap ") + (keys ? "keys " : "") + curly_quoted(tokens.name(0)) + " and " +
                  curly_quoted(tokens.name(n - 1)),
              next);
        std::ranges::copy(order_of({}, n), order.rbegin());
        offer("order/preset/reverse", keys ? "Reverse the keys" : "Reverse", next);
    }
    next = model.state;
    next.scheme = PositionScheme::rotary;
    next.shift = 1000;
    offer("order/preset/shift", "RoPE, shifted by 1,000", next);
    next = model.state;
    next.factor = 4;
    next.trained = 0;
    offer("order/preset/length", "Four times its length", next);
    offer("order/preset/own", "As it was", {.first = model.state.first, .first_key = model.state.first_key});
}

// Chooses the first token in view, if not all are.
void draw_scroll(const char* key, const char* label, const Tokens& in_view, Index tokens,
                 std::optional<Index>& first, std::vector<Index>& order) {
    const Index last = tokens - in_view.size();
    if (last <= 0) return;
    ui::control(ui::need::stepper, [&] {
        if (const auto to = ui::stepper(key, label, in_view.in_view.begin, 0, last)) {
            first = *to;
            order.clear();
        }
    });
}

void draw_controls(Model& model, const Drawing& drawing, Subject& subject) {
    const UnplacedRows& content = *model.content;
    const ui::Row row("order/settings");
    State next = model.state;
    std::vector<const char*> schemes;
    for (const PositionScheme scheme : model.offered()) schemes.push_back(scheme_name(scheme).data());
    if (const auto chosen =
            ui::labelled_choice("positions", "order/scheme", schemes, static_cast<int>(next.scheme)))
        next.scheme = static_cast<PositionScheme>(*chosen);
    if (content.has_mask() && ui::next_control(ui::need::choices)) {
        static constexpr std::array masks{"left out", "the head’s own"};
        if (const auto chosen = ui::labelled_choice("mask", "order/mask", masks, next.masked ? 1 : 0))
            next.masked = *chosen == 1;
    }
    const bool one_line = content.one_line();
    draw_scroll("order/first", one_line ? "from token" : "from query", model.queries,
                subject.attention()->queries(), next.first, next.order);
    if (!one_line)
        draw_scroll("order/first_key", "from key", model.keys, subject.attention()->keys(), next.first_key,
                    next.key_order);
    if ((next.scheme == PositionScheme::learned && !content.own_table()) ||
        next.scheme == PositionScheme::buckets) {
        ui::control(ui::need::stepper, [&] {
            if (const auto seed =
                    ui::stepper("order/seed", "drawn from seed", static_cast<Index>(next.seed), 0, 999'999))
                next.seed = static_cast<std::uint32_t>(*seed);
        });
        ui::tooltip(
            "A model learns these numbers. Here they are standard normal, so that the scheme can be seen at "
            "work.");
    }
    ui::control(ui::need::stepper, [&] {
        ui::label("shift all positions by");
        if (const auto typed =
                ui::number_field("order/shift", "shift all positions by", static_cast<double>(next.shift),
                                 "%.0f", ui::number_width + 24))
            next.shift = std::lround(std::clamp(*typed, -1e9, 1e9));
    });
    set(model, drawing, subject, next);
}

// The tokens at each place.
Table table_of(const std::string& title, const Tokens& tokens) {
    Table table{title, {"token", "position"}, {}, Matrix(tokens.size(), 2)};
    for (Index place = 0; place < tokens.size(); ++place) {
        table.row_labels.push_back(tokens.name(tokens.token_at(place)));
        table.values.at(place, 0) = static_cast<double>(tokens.in_view.begin + tokens.token_at(place));
        table.values.at(place, 1) = static_cast<double>(tokens.position(place));
    }
    return table;
}

void draw_token(const Tokens& tokens, Index token, ImVec2 min, ImVec2 max, bool held, bool over) {
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Index place = tokens.place_of(token);
    const bool moved = place != token, chosen = token == tokens.chosen;
    list->AddRectFilled(min, max, held ? t.accent_soft : over ? t.hovered : t.raised, 6);
    list->AddRect(min, max,
                  moved    ? t.changed
                  : chosen ? t.accent
                           : t.border,
                  6, 0, moved || chosen ? 1.5f : 1.0f);
    const float room = max.x - min.x - 8;
    ui::Type face(ui::Face::regular, ui::size_body);
    const float wide = std::min(ui::text_size(tokens.name(token)).x, room);
    ui::draw_text_within(list, {(min.x + max.x - wide) / 2, min.y + 4}, room, t.text, tokens.name(token));
    ui::Type mono(ui::Face::mono, ui::size_small);
    const std::string at = std::to_string(tokens.position(place));
    ui::draw_text(list, {(min.x + max.x - ui::text_size(at).x) / 2, min.y + 23}, t.dim, at);
}

// Draws the queries or the keys in their order, to be dragged.
void draw_tokens(Model& model, const Drawing& drawing, Subject& subject, bool keys) {
    const Tokens& tokens = keys ? model.keys : model.queries;
    const std::string prefix = keys ? "order/key-token/" : "order/token/",
                      title = model.content->one_line() ? "Tokens in this order"
                              : keys                    ? "Keys in this order"
                                                        : "Queries in this order";
    const Index n = tokens.size();
    const present::Card card(drawing,
                             {.key = keys ? "order/keys" : "order/tokens",
                              .title = title,
                              .table = [table = table_of(title, tokens)] { return table; }},
                             ImGui::GetContentRegionAvail().x);
    const Slots slots(tokens.names, card.width());
    const ui::SemanticGroup group(ui::Role::group, prefix + "all", title);
    std::optional<std::pair<Index, Index>> moved;
    for (Index token = 0; token < n; ++token) {
        const Index place = tokens.place_of(token), of_subject = tokens.in_view.begin + token;
        const ImVec2 min = slots.at(place), max{min.x + slots.size.x, min.y + slots.size.y};
        ImGui::SetCursorScreenPos(min);
        ImGui::PushID(static_cast<int>(token));
        ImGui::InvisibleButton(keys ? "key" : "token", slots.size);
        ImGui::PopID();
        const bool held = ImGui::IsItemActive(), over = ImGui::IsItemHovered();
        ui::takes_any_drag();
        if (over || held) {
            keys ? drawing.point(std::nullopt, of_subject) : drawing.point(of_subject, std::nullopt);
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        }
        if (held && ui::dragged())
            if (const Index to = slots.under(ImGui::GetMousePos()); to != place) moved = {place, to};
        if (over && ImGui::IsItemDeactivated() && !ui::dragged())
            keys ? parts::choose_tokens(drawing, selection_of(drawing).query, of_subject)
                 : parts::choose_tokens(drawing, of_subject, selection_of(drawing).key);
        const std::string key = prefix + std::to_string(token);
        ui::landmark(key, min, max);
        ui::Node& node = ui::semantic_place(ui::Role::spinbutton, key, tokens.name(token), min, max);
        node.value = "place " + std::to_string(place + 1) + " of " + std::to_string(n);
        node.range = {static_cast<double>(place + 1), 1, static_cast<double>(n)};
        if (const double steps = ui::asked_steps(key); steps != 0) {
            const double to = std::clamp(static_cast<double>(place) + steps, 0.0, static_cast<double>(n - 1));
            moved = {place, static_cast<Index>(to)};
        }
        draw_token(tokens, token, min, max, held, over);
    }
    ImGui::SetCursorScreenPos(slots.corner);
    ImGui::Dummy({card.width(), slots.height()});
    if (!moved || moved->first == moved->second) return;
    State next = model.state;
    (keys ? next.key_order : next.order) = with_moved(tokens.order, moved->first, moved->second);
    set(model, drawing, subject, next);
}

void draw_outputs(const Model& model, const Drawing& drawing, float width) {
    const Reordering* shown = model.run();
    if (!shown) return ui::paragraph(lacking(model), ui::theme().text);
    if (model.content->d_v() == 0)
        return ui::caption("No values are given here, so there are no outputs to compare.");
    double largest = shown->carried.most_f32();
    for (const double output : shown->before.outputs) largest = std::max(largest, std::abs(output));
    present::Bars off{.key = "order/off",
                      .title = "How far each output is from before",
                      .notation = "the largest change of a component; a full bar is " + fixed(largest, 2),
                      .value = "largest change",
                      .most = static_cast<float>(largest),
                      .scale = ui::sequential_scale(static_cast<float>(largest)),
                      .cell = [](Index token) { return cells::output_change(token); }};
    for (Index token = 0; token < model.queries.size(); ++token) {
        const double change = shown->carried.f32[static_cast<std::size_t>(token)];
        off.bars.push_back({model.queries.name(token), static_cast<float>(change), brief(change)});
    }
    present::bars(drawing, off, width);
    present::sheet(drawing, outputs_sheet(model, *shown, TokenOrder::permuted), width);
    present::sheet(drawing, outputs_sheet(model, *shown, TokenOrder::original), width);
}

void draw_schemes(const Model& model, const Drawing& drawing, float width) {
    const Sheet sheet = schemes_sheet(model);
    present::sheet(drawing, sheet, width);
    std::string text =
        "moved: how far the new order moves an output. After a shift by " + with_commas(model.state.shift) +
        ": how many scores stay equal in all 32 bits, and the largest change in f32 and in double "
        "precision.";
    const auto offered = model.offered();
    if (std::ranges::any_of(offered, [&](PositionScheme scheme) {
            return std::isnan(sheet.value(static_cast<Index>(scheme), 1));
        }))
        text += model.content->own_table()
                    ? " The model’s table ends at position " + with_commas(model.content->context() - 1) + "."
                    : " A learned table ends; this one has 512 rows.";
    ui::caption(text.c_str());
    ImGui::Dummy({0, 4});
    if (const Reordering* shown = model.run()) present::sheet(drawing, scores_sheet(model, *shown), width);
}

}  // namespace

void set(Model& model, const Drawing& drawing, Subject& subject, State wanted) {
    // A reordering starts at the first token, unless it names another; this names the first one in view.
    const auto hold = [](const std::vector<Index>& order, std::optional<Index>& first, const Tokens& tokens) {
        if (!order.empty() && !first && tokens.in_view.begin > 0) first = tokens.in_view.begin;
    };
    hold(wanted.order, wanted.first, model.queries);
    hold(wanted.key_order, wanted.first_key, model.keys);
    if (wanted == model.state) return;
    drawing.visit.perform(Set<State>{std::move(wanted)}, ui::gesture());
    model.update(drawing.visit, subject);
}

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "Drag a token to another place: without positions its output goes along, unchanged. Then choose a "
        "way to "
        "tell positions, and watch which outputs change.");
    if (!model.refused.empty()) {
        ui::paragraph(model.refused, ui::theme().text);
        ui::landmark_item("order/refused");
        if (model.content) draw_controls(model, drawing, subject);
        return;
    }
    if (ui::settings()) {
        draw_presets(model, drawing, subject);
        draw_controls(model, drawing, subject);
    }
    if (!model.refused.empty()) return;
    draw_tokens(model, drawing, subject, false);
    if (!model.content->one_line()) draw_tokens(model, drawing, subject, true);
    ui::caption(told(model).c_str());
    if (model.content->from() == UnplacedRows::From::inside &&
        ui::button("order/first-layer", "Look at layer 0, which can do without"))
        parts::choose_head(drawing, {0, model.seen.head.head});
    ui::columns(
        "order/moved", least_part, present::card_gap,
        [&](float width) { draw_outputs(model, drawing, width); },
        [&](float width) { draw_schemes(model, drawing, width); });
    draw_curves(model, drawing, subject);
}

}  // namespace attn::app::order
