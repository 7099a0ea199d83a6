#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"
#include "widgets/token_line.hpp"

namespace attn::app {

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

}  // namespace

void OrderLens::set(OrderState wanted) const {
    // A reordering starts at the first token, unless it names another; this names the first one in view.
    const auto hold = [](const std::vector<Index>& order, std::optional<Index>& first, Range in_view) {
        if (!order.empty() && !first && in_view.begin > 0) first = in_view.begin;
    };
    if (content_) {
        hold(wanted.order, wanted.first, content_->queries());
        hold(wanted.key_order, wanted.first_key, content_->keys());
    }
    if (wanted != now()) visit().perform(SetOrder{wanted}, ui::gesture());
}

void OrderLens::draw_presets() {
    const bool keys = !content_->one_line();
    const Index n = (keys ? content_->keys() : content_->queries()).size();
    const auto offer = [&](const char* key, const std::string& label, const OrderState& next) {
        ui::next_control(ui::text_size(label).x + 24);
        if (ui::button(key, label.c_str())) set(next);
    };
    ui::label("try");
    ImGui::BeginGroup();
    OrderState next = now();
    if (n > 1) {
        std::vector<Index>& order = keys ? next.key_order : next.order;
        order = order_of({}, n);
        std::swap(order.front(), order.back());
        const std::string first = keys ? "keys " + curly_quoted(key_name(0)) : curly_quoted(name(0)),
                          last = curly_quoted(keys ? key_name(n - 1) : name(n - 1));
        offer("order/preset/swap", "Swap " + first + " and " + last, next);
        std::ranges::copy(order_of({}, n), order.rbegin());
        offer("order/preset/reverse", keys ? "Reverse the keys" : "Reverse", next);
    }
    next = now();
    next.scheme = PositionScheme::rotary;
    next.shift = 1000;
    offer("order/preset/shift", "RoPE, shifted by 1,000", next);
    next = now();
    next.factor = 4;
    next.trained = 0;
    offer("order/preset/length", "Four times its length", next);
    next = OrderState{};
    next.first = now().first;
    next.first_key = now().first_key;
    offer("order/preset/own", "As it was", next);
    ImGui::EndGroup();
}

void OrderLens::draw_controls(Subject& subject) {
    OrderState next = now();
    std::vector<const char*> schemes;
    for (const PositionScheme scheme : offered()) schemes.push_back(scheme_name(scheme).data());
    if (const auto chosen =
            ui::labelled_choice("positions", "order/scheme", schemes, static_cast<int>(next.scheme)))
        next.scheme = static_cast<PositionScheme>(*chosen);
    if (content_->has_mask()) {
        ui::next_control(ui::need::choices);
        static constexpr std::array masks{"left out", "the head’s own"};
        if (const auto chosen = ui::labelled_choice("mask", "order/mask", masks, next.masked ? 1 : 0))
            next.masked = *chosen == 1;
    }
    const auto scroll = [](const char* key, const char* label, Range in_view, Index tokens,
                           std::optional<Index>& first, std::vector<Index>& order) {
        const Index last = tokens - in_view.size();
        if (last <= 0) return;
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto to = ui::stepper(key, label, in_view.begin, 0, last)) {
            first = *to;
            order.clear();
        }
        ImGui::EndGroup();
    };
    const bool one_line = content_->one_line();
    scroll("order/first", one_line ? "from token" : "from query", content_->queries(),
           subject.attention()->queries(), next.first, next.order);
    if (!one_line)
        scroll("order/first_key", "from key", content_->keys(), subject.attention()->keys(), next.first_key,
               next.key_order);
    const bool learned = next.scheme == PositionScheme::learned && !content_->own_table();
    if (learned || next.scheme == PositionScheme::buckets) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto seed =
                ui::stepper("order/seed", "drawn from seed", static_cast<Index>(next.seed), 0, 999'999))
            next.seed = static_cast<std::uint32_t>(*seed);
        ImGui::EndGroup();
        ui::tooltip(
            "A model learns these numbers. Here they are standard normal, so that the scheme can be seen at "
            "work.");
    }
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    ui::label("shift all positions by");
    if (const auto typed = ui::number_field("order/shift", "shift all positions by",
                                            static_cast<double>(next.shift), "%.0f", ui::number_width + 24))
        next.shift = std::lround(std::clamp(*typed, -1e9, 1e9));
    ImGui::EndGroup();
    set(next);
}

// The tokens at each place.
Table OrderLens::order_table(std::string title, bool keys) const {
    const std::vector<Index>& order = keys ? key_order_ : order_;
    Table table{std::move(title), {"token", "position"}, {}, Matrix(std::ssize(order), 2)};
    for (Index place = 0; place < table.values.rows; ++place) {
        const Index token = order[static_cast<std::size_t>(place)];
        table.row_labels.push_back(keys ? key_name(token) : name(token));
        table.values.at(place, 0) =
            static_cast<double>((keys ? content_->keys() : content_->queries()).begin + token);
        table.values.at(place, 1) =
            static_cast<double>(keys ? content_->key_position(place) : content_->query_position(place));
    }
    return table;
}

void OrderLens::draw_tokens(const Drawing& drawing, float width, bool keys) {
    const ui::Theme& t = ui::theme();
    const std::vector<std::string>& names = keys ? content_->key_names() : content_->query_names();
    const std::string prefix = keys ? "order/key-token/" : "order/token/";
    const Index n = std::ssize(names), first = (keys ? content_->keys() : content_->queries()).begin;
    const char* title = content_->one_line() ? "Tokens in this order"
                        : keys               ? "Keys in this order"
                                             : "Queries in this order";
    const present::Card card(drawing,
                             {.key = keys ? "order/keys" : "order/tokens",
                              .title = title,
                              .table = [table = order_table(title, keys)] { return table; }},
                             width);
    const Slots slots(names, card.width());
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::SemanticGroup group(ui::Role::group, prefix + "all", title);
    std::optional<std::pair<Index, Index>> moved;
    for (Index token = 0; token < n; ++token) {
        const Index place = keys ? key_place_of(token) : place_of(token), of_subject = first + token;
        const std::string& called = names[static_cast<std::size_t>(token)];
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
        ui::Node& node = ui::semantic_place(ui::Role::spinbutton, key, called, min, max);
        node.value = "place " + std::to_string(place + 1) + " of " + std::to_string(n);
        node.range = {static_cast<double>(place + 1), 1, static_cast<double>(n)};
        if (const double steps = ui::asked_steps(key); steps != 0) {
            const double to = std::clamp(static_cast<double>(place) + steps, 0.0, static_cast<double>(n - 1));
            moved = {place, static_cast<Index>(to)};
        }
        const bool chosen = token == (keys ? this->key() : query());
        list->AddRectFilled(min, max, held ? t.accent_soft : over ? t.hovered : t.raised, 6);
        list->AddRect(min, max,
                      place != token ? t.changed
                      : chosen       ? t.accent
                                     : t.border,
                      6, 0, place != token || chosen ? 1.5f : 1.0f);
        ui::Type face(ui::Face::regular, ui::size_body);
        const float wide = std::min(ui::text_size(called).x, slots.size.x - 8);
        ui::draw_text_within(list, {(min.x + max.x - wide) / 2, min.y + 4}, slots.size.x - 8, t.text, called);
        ui::Type mono(ui::Face::mono, ui::size_small);
        const std::string at =
            std::to_string(keys ? content_->key_position(place) : content_->query_position(place));
        ui::draw_text(list, {(min.x + max.x - ui::text_size(at).x) / 2, min.y + 23}, t.dim, at);
    }
    ImGui::SetCursorScreenPos(slots.corner);
    ImGui::Dummy({card.width(), slots.height()});
    if (!moved || moved->first == moved->second) return;
    OrderState next = now();
    (keys ? next.key_order : next.order) =
        with_moved(keys ? key_order_ : order_, moved->first, moved->second);
    set(next);
}

void OrderLens::draw_outputs(const Drawing& drawing, float width) {
    const Runs* shown = runs(now().scheme);
    if (!shown) return ui::paragraph(lacking(), ui::theme().text);
    if (content_->d_v() == 0)
        return ui::caption("No values are given here, so there are no outputs to compare.");
    double largest = shown->carried.most_f32();
    for (const double output : shown->before.outputs) largest = std::max(largest, std::abs(output));
    present::Bars off{.key = "order/off",
                      .title = "How far each output is from before",
                      .notation = "the largest change of a component; a full bar is " + fixed(largest, 2),
                      .value = "largest change",
                      .most = static_cast<float>(largest),
                      .scale = ui::sequential_scale(static_cast<float>(largest)),
                      .cell = [](Index token) { return order_cells::output_change(token); }};
    for (Index token = 0; token < content_->queries().size(); ++token) {
        const double change = shown->carried.f32[static_cast<std::size_t>(token)];
        off.bars.push_back({name(token), static_cast<float>(change),
                            change == 0 ? "0" : fixed(change, change < 0.01 ? 1 : 2)});
    }
    present::bars(drawing, off, width);
    present::sheet(drawing, outputs_sheet(*shown, TokenOrder::permuted), width);
    present::sheet(drawing, outputs_sheet(*shown, TokenOrder::original), width);
}

void OrderLens::draw_schemes(const Drawing& drawing, float width) {
    const Sheet sheet = schemes_sheet();
    present::sheet(drawing, sheet, width);
    std::string told =
        "moved: how far the new order moves an output. After a shift by " + with_commas(now().shift) +
        ": how many scores stay equal in all 32 bits, and the largest change in f32 and in double "
        "precision.";
    for (Index scheme = 0; scheme < sheet.rows.size(); ++scheme) {
        if (!std::isnan(sheet.value(scheme, 1))) continue;
        told += content_->own_table()
                    ? " The model’s table ends at position " + with_commas(content_->context() - 1) + "."
                    : " A learned table ends; this one has 512 rows.";
        break;
    }
    ui::caption(told.c_str());
}

void OrderLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    ui::hint(
        "Drag a token to another place: without positions its output goes along, unchanged. Then choose a "
        "way to "
        "tell positions, and watch which outputs change.");
    if (!refused_.empty()) {
        ui::paragraph(refused_, ui::theme().text);
        ui::landmark_item("order/refused");
        if (!content_) return;
        draw_controls(subject);
        return;
    }
    if (ui::settings()) {
        draw_presets();
        draw_controls(subject);
    }
    update(subject);
    if (!content_ || !refused_.empty()) return;
    ImGui::Dummy({0, 4});
    draw_tokens(drawing, ImGui::GetContentRegionAvail().x, false);
    if (!content_->one_line()) draw_tokens(drawing, ImGui::GetContentRegionAvail().x, true);
    update(subject);
    ui::caption((told() + standing() + " " + why()).c_str());
    if (content_->from() == OrderContent::From::inside &&
        ui::button("order/first-layer", "Look at layer 0, which can do without"))
        parts::choose_head(drawing, {0, content_->head().head});
    ui::columns(
        "order/moved", least_part, present::card_gap, [&](float width) { draw_outputs(drawing, width); },
        [&](float width) {
            draw_schemes(drawing, width);
            ImGui::Dummy({0, 4});
            if (const Runs* shown = runs(now().scheme)) present::sheet(drawing, scores_sheet(*shown), width);
        });
    draw_dials(drawing);
    draw_distances(drawing, ImGui::GetContentRegionAvail().x);
    draw_lengths(drawing);
}

}  // namespace attn::app
