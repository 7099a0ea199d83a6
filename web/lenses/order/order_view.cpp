#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/bars.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"
#include "widgets/text_field.hpp"
#include "widgets/token_line.hpp"

namespace attn::app {

namespace {

constexpr float slot_padding = 12, slot_gap = 6, least_slot = 60, most_slot = 132, least_cell = 46,
                gap_below = 12, least_part = 340, part_gap = 28;

// Draws the grid at the cursor and answers what is done to its cells.
void draw_grid(const Drawing& drawing, const ui::MatrixGrid& grid, float width, auto&& cell_at) {
    const ui::GridMetrics metrics = ui::grid_metrics(grid, width);
    const ImVec2 at = ImGui::GetCursorScreenPos(), size = ui::grid_size(grid, metrics);
    const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, at);
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({std::min(size.x, width), size.y + gap_below});
    if (const auto over = reply.hovered ? reply.hovered : reply.heard) drawing.now.cell = cell_at(*over);
    if (reply.clicked) present::pin(drawing, cell_at(*reply.clicked));
}

// The cell of the grid that is pinned.
std::optional<ui::CellAt> pinned_in(const State& state, const ui::MatrixGrid& grid, auto&& cell_at) {
    for (Index r = 0; state.pin && r < grid.values->rows; ++r)
        for (Index c = 0; c < grid.values->cols; ++c)
            if (*state.pin == cell_at(ui::CellAt{r, c})) return ui::CellAt{r, c};
    return std::nullopt;
}

// As short as a cell asks for: "2e-08", "0.31".
std::string brief(double value) { return value == 0 ? "0" : fixed(value, value < 0.01 ? 1 : 2); }

}  // namespace

void OrderLens::set(OrderState wanted) const {
    // An order is of tokens from the first one on, unless it says where they begin.
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
    ImGui::BeginGroup();
    ui::label("positions");
    if (const auto chosen = ui::choice("order/scheme", schemes, static_cast<int>(next.scheme)))
        next.scheme = static_cast<PositionScheme>(*chosen);
    ImGui::EndGroup();
    if (content_->has_mask()) {
        ui::next_control(ui::need::choices);
        ImGui::BeginGroup();
        ui::label("mask");
        static constexpr std::array masks{"left out", "the head’s own"};
        if (const auto chosen = ui::choice("order/mask", masks, next.masked ? 1 : 0))
            next.masked = *chosen == 1;
        ImGui::EndGroup();
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
    set(next);
}

void OrderLens::draw_tokens(const Drawing& drawing, float width, bool keys) {
    const ui::Theme& t = ui::theme();
    const std::vector<std::string>& names = keys ? content_->key_names() : content_->query_names();
    const std::string prefix = keys ? "order/key-token/" : "order/token/";
    const Index n = std::ssize(names), first = (keys ? content_->keys() : content_->queries()).begin;
    const bool one_line = content_->one_line();
    if (!one_line) ui::caption(keys ? "keys" : "queries");
    float slot = least_slot;
    {
        ui::Type face(ui::Face::regular, ui::size_body);
        for (const std::string& each : names) slot = std::max(slot, ui::text_size(each).x + 2 * slot_padding);
    }
    // All places are equally wide, so that a token that is dragged knows its place, whatever moves aside.
    const ImVec2 size{std::min(std::ceil(slot), most_slot), ui::chip_height};
    const ImVec2 pitch{size.x + slot_gap, size.y + slot_gap};
    const Index columns = std::clamp(static_cast<Index>((width + slot_gap) / pitch.x), Index{1}, n);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const auto corner_of = [&](Index place) {
        return ImVec2{corner.x + pitch.x * static_cast<float>(place % columns),
                      corner.y + pitch.y * static_cast<float>(place / columns)};
    };
    const auto place_under = [&](ImVec2 mouse) {
        const auto along = [](float from, float step, Index limit) {
            return std::clamp(static_cast<Index>(std::floor(from / step)), Index{0}, limit - 1);
        };
        const Index lines = (n + columns - 1) / columns;
        return std::min(
            along(mouse.y - corner.y, pitch.y, lines) * columns + along(mouse.x - corner.x, pitch.x, columns),
            n - 1);
    };
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::SemanticGroup group(ui::Role::group, prefix + "all",
                                  one_line ? "Tokens in their order"
                                  : keys   ? "Keys in their order"
                                           : "Queries in their order");
    std::optional<std::pair<Index, Index>> moved;
    for (Index token = 0; token < n; ++token) {
        const Index place = keys ? key_place_of(token) : place_of(token), of_subject = first + token;
        const std::string& called = names[static_cast<std::size_t>(token)];
        const ImVec2 min = corner_of(place), max{min.x + size.x, min.y + size.y};
        ImGui::SetCursorScreenPos(min);
        ImGui::PushID(static_cast<int>(token));
        ImGui::InvisibleButton(keys ? "key" : "token", size);
        ImGui::PopID();
        const bool held = ImGui::IsItemActive(), over = ImGui::IsItemHovered();
        ui::takes_any_drag();
        if (over || held) {
            keys ? drawing.point(std::nullopt, of_subject) : drawing.point(of_subject, std::nullopt);
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        }
        if (held && ui::dragged())
            if (const Index to = place_under(ImGui::GetMousePos()); to != place) moved = {place, to};
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
        const float wide = std::min(ui::text_size(called).x, size.x - 8);
        ui::draw_text_within(list, {(min.x + max.x - wide) / 2, min.y + 4}, size.x - 8, t.text, called);
        ui::Type mono(ui::Face::mono, ui::size_small);
        const std::string at =
            std::to_string(keys ? content_->key_position(place) : content_->query_position(place));
        ui::draw_text(list, {(min.x + max.x - ui::text_size(at).x) / 2, min.y + 23}, t.dim, at);
    }
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, pitch.y * static_cast<float>((n + columns - 1) / columns)});
    if (!moved || moved->first == moved->second) return;
    OrderState next = now();
    (keys ? next.key_order : next.order) =
        with_moved(keys ? key_order_ : order_, moved->first, moved->second);
    set(next);
}

void OrderLens::draw_outputs(const Drawing& drawing, float width) {
    const Runs* shown = runs(now().scheme);
    const Index n = content_->queries().size(), d_v = content_->d_v();
    if (!shown) return ui::paragraph(lacking(), ui::theme().text);
    if (d_v == 0) return ui::caption("No values are given here, so there are no outputs to compare.");
    const Index columns = std::clamp(static_cast<Index>((width - 60) / least_cell), Index{1},
                                     std::min(d_v, order_components_shown));
    Matrix before(n, columns), after(n, columns), unchanged(n, columns);
    double largest = shown->carried.most_f32();
    for (const double output : shown->before.outputs) largest = std::max(largest, std::abs(output));
    const double rounding = reorder_rounding(shown->after);
    for (Index token = 0; token < n; ++token)
        for (Index b = 0; b < columns; ++b) {
            const auto f32 = [&](const PlacedRun& run, Index row) {
                return static_cast<double>(run.record.output().heads().head(0)(row, b));
            };
            before.at(token, b) = f32(shown->before, token);
            after.at(token, b) = f32(shown->after, place_of(token));
            // What rounding alone makes is no change.
            const bool same = std::abs(after.at(token, b) - before.at(token, b)) <= rounding;
            unchanged.at(token, b) = same ? after.at(token, b) : before.at(token, b);
        }
    const auto grid_of = [&](const char* key, const char* title, const Matrix& values, TokenOrder order) {
        ui::MatrixGrid grid;
        grid.name = key;
        grid.title = title;
        grid.values = &values;
        grid.row_labels = content_->query_names();
        grid.row_axis = "token";
        grid.column_axis = "component";
        grid.is_signed = true;
        if (columns < d_v)
            grid.notation = "the first " + std::to_string(columns) + " of " + many(d_v, "component");
        if (order == TokenOrder::permuted) grid.before = &unchanged;
        const auto cell_at = [&](ui::CellAt at) { return order_cells::output(order, at.first, at.second); };
        grid.pinned = pinned_in(state(), grid, cell_at);
        draw_grid(drawing, grid, width, cell_at);
    };
    std::vector<ui::Bar> bars;
    const auto& off = shown->carried.f32;
    for (Index token = 0; token < n; ++token)
        bars.push_back({name(token), static_cast<float>(off[static_cast<std::size_t>(token)]),
                        brief(off[static_cast<std::size_t>(token)]),
                        state().pin == order_cells::output_change(token), false});
    ui::caption(
        ("The largest change of a component in each output; a full bar is " + brief(largest) + ":").c_str());
    const auto over =
        ui::bar_list("order/off", "How far each output is from before", width, bars,
                     static_cast<float>(largest), ui::sequential_scale(static_cast<float>(largest)));
    if (over) {
        drawing.now.cell = order_cells::output_change(*over);
        if (ui::clicked()) present::pin(drawing, *drawing.now.cell);
    }
    ImGui::Dummy({0, gap_below});
    grid_of("order/after", "Outputs in this order", after, TokenOrder::permuted);
    grid_of("order/before", "Outputs before", before, TokenOrder::original);
}

void OrderLens::draw_shift() {
    ui::label("shift all positions by");
    const auto typed = ui::number_field("order/shift", "shift all positions by",
                                        static_cast<double>(now().shift), "%.0f", ui::number_width + 24);
    if (!typed) return;
    OrderState next = now();
    next.shift = std::lround(std::clamp(*typed, -1e9, 1e9));
    set(next);
}

void OrderLens::draw_schemes(const Drawing& drawing, float width) {
    constexpr Index numbers = 4;
    Matrix values(std::ssize(offered()), numbers);
    ui::MatrixGrid grid;
    std::vector<std::string> names;
    bool short_table = false;
    for (const PositionScheme scheme : offered()) {
        const Runs* each = runs(scheme);
        names.emplace_back(scheme_name(scheme));
        const auto add = [&](bool there, Index column, double value, std::string text) {
            values.at(static_cast<Index>(scheme), column) = there ? value : std::nan("");
            grid.texts.push_back(there ? std::move(text) : "–");
        };
        const double off = each ? each->carried.most_f32() : 0;
        add(each, 0, off, brief(off));
        const ScoreChange change = each && each->change ? *each->change : ScoreChange{};
        const bool shifted = each && each->change;
        short_table = short_table || !shifted;
        add(shifted, 1, static_cast<double>(change.equal),
            std::to_string(change.equal) + "/" + std::to_string(change.all));
        add(shifted, 2, change.f32, brief(change.f32));
        add(shifted, 3, change.f64, brief(change.f64));
    }
    static const std::vector<std::string> columns{"moved", "equal", "off f32", "off f64"};
    grid.name = "order/scheme-numbers";
    grid.title = "Every scheme";
    grid.values = &values;
    grid.row_labels = names;
    grid.column_labels = columns;
    grid.row_axis = "scheme";
    grid.column_axis = "number";
    grid.lit_row = static_cast<Index>(now().scheme);
    const auto cell_at = [&](ui::CellAt at) {
        return at.second == 0   ? order_cells::largest_output_change(at.first)
               : at.second == 1 ? order_cells::equal_scores(at.first)
                                : order_cells::largest_score_change(
                                      at.first, at.second == 2 ? Precision::f32 : Precision::f64);
    };
    grid.pinned = pinned_in(state(), grid, cell_at);
    draw_grid(drawing, grid, width, cell_at);
    std::string told =
        "moved: how far the new order moves an output. After a shift by " + with_commas(now().shift) +
        ": how many scores stay equal in all 32 bits, and the largest change in f32 and in double "
        "precision.";
    if (short_table)
        told += content_->own_table()
                    ? " The model’s table ends at position " + with_commas(content_->context() - 1) + "."
                    : " A learned table ends; this one has 512 rows.";
    ui::caption(told.c_str());
}

void OrderLens::draw_scores(const Drawing& drawing, float width) {
    const Runs* shown = runs(now().scheme);
    if (!shown) return;
    const Index n_k = content_->keys().size();
    Matrix values(content_->queries().size(), n_k);
    const std::vector<float> scores = scores_of(shown->after);
    std::ranges::copy(scores, values.values.begin());
    std::vector<std::string> names, key_names;
    for (const Index query : order_) names.push_back(name(query));
    for (const Index key : key_order_) key_names.push_back(key_name(key));
    ui::MatrixGrid grid;
    grid.name = "order/score";
    grid.title = "Scores in this order";
    grid.notation = std::string(scheme_name(now().scheme));
    grid.values = &values;
    grid.row_labels = names;
    grid.column_labels = key_names;
    grid.row_axis = "query";
    grid.column_axis = "key";
    grid.is_signed = true;
    grid.allowed = [&](Index r, Index c) { return shown->after.record.spec().mask.allows(0, r, c); };
    const auto cell_at = [&](ui::CellAt at) { return order_cells::score(at.first, at.second); };
    grid.pinned = pinned_in(state(), grid, cell_at);
    draw_grid(drawing, grid, width, cell_at);
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
    ImGui::Dummy({0, 8});
    ui::columns(
        "order/moved", least_part, part_gap, [&](float width) { draw_outputs(drawing, width); },
        [&](float width) {
            draw_shift();
            update(subject);
            draw_schemes(drawing, width);
            ImGui::Dummy({0, 8});
            draw_scores(drawing, width);
        });
    ImGui::Dummy({0, 8});
    draw_dials(drawing);
    ImGui::Dummy({0, 8});
    draw_distances(drawing, ImGui::GetContentRegionAvail().x);
    ImGui::Dummy({0, 8});
    draw_lengths(drawing);
}

}  // namespace attn::app
