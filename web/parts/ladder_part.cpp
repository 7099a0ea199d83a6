#include "parts/ladder_part.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "io/ascii.hpp"
#include "parts/ladder_layout.hpp"
#include "parts/row_bars.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/head_copy.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::parts {

namespace {

constexpr float most_grid_width = 460, offer_width = 280;
// The change of a value per point of dragging and per notch of the wheel.
constexpr double per_point = 0.01, per_notch = 0.1;

// Returns the name of a matrix in landmarks; "w_q/0/1" is a cell's landmark.
std::string landmark_name(Stage stage) { return ascii_lower(info(stage).key); }

bool rows_are_queries(const app::Rung& rung) {
    return std::string_view(rung.row_axis) == "query" || rung.stage == Stage::x;
}
bool rows_are_keys(const app::Rung& rung) { return std::string_view(rung.row_axis) == "key"; }

bool begins_number(ImWchar c) { return (c >= '0' && c <= '9') || c == '-' || c == '.'; }

bool is_query_stage(Stage stage) {
    return is_of_pairs(stage) || stage == Stage::x || stage == Stage::q || stage == Stage::output;
}

// Covers a matrix that may not change with a veil.
void fade(const ui::MatrixGrid& grid, const ui::GridMetrics& metrics, ImVec2 at) {
    constexpr float veil = 0.55f;
    const ImVec2 size = ui::grid_size(grid, metrics);
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + metrics.head}, {at.x + size.x, at.y + size.y},
                                              ui::with_alpha(ui::theme().background, veil));
}

}  // namespace

struct LadderPart::Frame {
    const app::Drawing& drawing;
    app::Subject& subject;
    const app::Ladder& ladder;
    Range queries, keys;

    const app::LadderEdits* edits() const { return ladder.edits(); }
    bool may_edit(Stage stage) const { return edits() && edits()->may_edit(drawing.state(), stage); }

    bool is_locked(Stage stage) const {
        return drawing.visit.locks(stage == Stage::raw ? "scores" : info(stage).key);
    }

    void set(const app::RunCell& cell, double value, std::uint64_t gesture = 0) const {
        drawing.visit.perform(edits()->set(cell, value), gesture);
    }
    // Rounds to two decimals, as the cells show them.
    void move(const app::RunCell& cell, double value) const {
        set(cell, std::round(value * 100) / 100, ui::gesture());
    }

    void pin(const app::RunCell& cell) const {
        drawing.visit.perform(app::Pin{cell}, ui::gesture());
        app::Selection selection = selection_of(drawing);
        const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
        // A number that belongs to no query, such as a weight of W_Q, leaves the chosen one.
        if (is_query_stage(cell.stage)) {
            selection.query = cell.row;
            selection.key = is_of_pairs(cell.stage) ? std::optional(cell.col) : std::nullopt;
        } else if (of_keys) {
            selection.key = cell.row;
        }
        drawing.visit.perform(app::Select{selection}, ui::gesture());
    }

    // Highlights the row and column of the shared selection in this matrix.
    void light(ui::MatrixGrid& grid, const app::Rung& rung) const {
        std::optional<Index> query = selection_of(drawing).query, key = selection_of(drawing).key;
        if (drawing.pointed.query || drawing.pointed.key) {
            query = drawing.pointed.query;
            key = drawing.pointed.key;
        }
        const auto shown = [](std::optional<Index> token, Index first, Index count) -> std::optional<Index> {
            if (!token || *token < first || *token >= first + count) return std::nullopt;
            return *token - first;
        };
        const Index rows = rung.values.rows, cols = rung.values.cols;
        if (rows_are_queries(rung)) grid.lit_row = shown(query, rung.first_row, rows);
        if (rows_are_keys(rung)) grid.lit_row = shown(key, rung.first_row, rows);
        if (is_of_pairs(rung.stage)) grid.lit_column = shown(key, rung.first_col, cols);
    }

    ui::MatrixGrid grid(const app::Rung& rung) const {
        ui::MatrixGrid g;
        g.name = landmark_name(rung.stage);
        g.first = {rung.first_row, rung.first_col};
        g.title = rung.title;
        g.notation = is_locked(rung.stage) ? "locked in this step" : rung.notation;
        g.values = &rung.values;
        g.before = rung.before.empty() ? nullptr : &rung.before;
        g.decimals = rung.decimals;
        g.editable = may_edit(rung.stage);
        g.is_signed = !is_of_pairs(rung.stage) || is_signed(rung.stage);
        g.row_labels = rung.row_labels;
        g.column_labels = rung.column_labels;
        g.row_axis = rung.row_axis;
        g.column_axis = rung.column_axis;
        g.allowed = rung.allowed;
        g.misprinted = rung.misprinted;
        if (const auto& pin = drawing.state().pin;
            pin && pin->is(rung.stage) && !pin->second() && pin->unit() == Unit::tokens) {
            const ui::CellAt at{pin->run()->row - rung.first_row, pin->run()->col - rung.first_col};
            if (rung.values.holds(at.first, at.second)) g.pinned = at;
        }
        light(g, rung);
        return g;
    }

    // Writes the remark below the cell.
    void draw_remark(const app::RunCell& cell, const ui::GridReply& reply) const {
        const std::string remark = ladder.remark(cell);
        if (remark.empty()) return;
        ui::Type small(ui::Face::regular, ui::size_small);
        const std::string text = ui::wrapped(remark, 300);
        const ImVec2 size = ui::text_size(text);
        const float last = ImGui::GetIO().DisplaySize.x - size.x - 20;
        const ImVec2 at{std::min(reply.hovered_min.x, last), reply.hovered_max.y + 5};
        ImDrawList* list = ImGui::GetForegroundDrawList();
        list->AddRectFilled(at, {at.x + size.x + 16, at.y + size.y + 10}, ui::theme().raised, 5);
        list->AddRect(at, {at.x + size.x + 16, at.y + size.y + 10}, ui::theme().misprint, 5);
        ui::draw_text(list, {at.x + 8, at.y + 5}, ui::theme().text, text);
    }
};

void LadderPart::begin_typing(const app::RunCell& cell, std::string_view text) {
    typed_ = CellTyping{cell, ui::Typing(text)};
}

void LadderPart::answer(const Frame& frame, const app::Rung& rung, const ui::GridReply& reply) {
    const app::Drawing& drawing = frame.drawing;
    const auto cell = [&](ui::CellAt at) {
        return app::RunCell{rung.stage, at.first + rung.first_row, at.second + rung.first_col};
    };
    if (reply.hovered) {
        const app::RunCell over = cell(*reply.hovered);
        drawing.now.cell = over;
        drawing.point(rows_are_queries(rung) ? std::optional(over.row) : std::nullopt,
                      is_of_pairs(rung.stage) ? std::optional(over.col)
                      : rows_are_keys(rung)   ? std::optional(over.row)
                                              : std::nullopt);
        frame.draw_remark(over, reply);
    }
    if (reply.heard) heard_ = cell(*reply.heard);
    if (reply.clicked) {
        const app::RunCell clicked = cell(*reply.clicked);
        if (frame.edits())
            if (const auto paint = frame.edits()->paint(drawing.state(), clicked))
                drawing.visit.perform(*paint);
        frame.pin(clicked);
    }
    if (!frame.may_edit(rung.stage)) return;
    if (reply.double_clicked) {
        if (const auto reset = frame.edits()->reset(drawing.state(), cell(*reply.double_clicked)))
            drawing.visit.perform(*reset);
        return;
    }
    const bool fine = ImGui::GetIO().KeyShift;
    const bool finger = ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen;
    if (reply.dragged && reply.drag != 0) {
        // A finger cannot hover, so the cell that it drags is pinned to show what changes.
        const app::RunCell dragged = cell(*reply.dragged);
        if (finger && drawing.state().pin != dragged) frame.pin(dragged);
        const double step = fine ? per_point / 10 : per_point;
        frame.move(dragged, rung.values.at(reply.dragged->first, reply.dragged->second) +
                                step * static_cast<double>(reply.drag));
    }
    if (reply.hovered && reply.wheel != 0 && !finger) {
        const double step = fine ? per_notch / 10 : per_notch;
        const double notches = std::max(std::abs(static_cast<double>(reply.wheel)), 1.0);
        frame.move(cell(*reply.hovered), rung.values.at(reply.hovered->first, reply.hovered->second) +
                                             step * std::copysign(notches, reply.wheel));
    }
    app::Editable* editable = frame.subject.editable();
    if (editable && (reply.row_label || reply.column_label))
        editable->name_clicked(rung.stage, reply.row_label, reply.column_label);
}

// Draws the text field over the cell that is being edited.
void LadderPart::typing_field(const Frame& frame, const app::Rung& rung, const ui::MatrixGrid& grid,
                              const ui::GridMetrics& metrics, ImVec2 at) {
    if (!typed_ || typed_->cell.stage != rung.stage) return;
    auto [min, max] = ui::cell_rect(grid, metrics, at,
                                    {typed_->cell.row - rung.first_row, typed_->cell.col - rung.first_col});
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::SetCursorScreenPos({min.x - 2, min.y - 2});
    ImGui::SetNextItemWidth(std::max(max.x - min.x, ui::number_width));
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                        {6, (max.y - min.y + 4 - ImGui::GetTextLineHeight()) / 2});
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui::theme().surface);
    // Letters are allowed, because "-inf" is a number, too.
    typed_->typing.draw("##typing");
    ui::landmark_item("typing");
    ui::semantic_field(ui::Role::textbox, "typing", "Number", typed_->typing.text());
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
    if (!typed_->typing.entered() && !typed_->typing.left()) return;
    const app::RunCell cell = typed_->cell;
    const std::string text(typed_->typing.text());
    typed_.reset();
    if (ImGui::IsKeyPressed(ImGuiKey_Escape)) return;
    const auto set = app::set_as_typed(*frame.edits(), cell, text);
    set ? frame.drawing.visit.perform(*set) : frame.drawing.visit.report_error(set.error());
}

void LadderPart::keyboard(const Frame& frame) {
    const app::Drawing& drawing = frame.drawing;
    if (typed_) typed_->typing.gather();
    if (typed_ || !drawing.state().pin) refused_.reset();
    if (typed_ || ImGui::GetIO().WantTextInput) return;
    // If something else on the page has the focus, it gets the keys.
    if (ImGui::GetIO().NavVisible && !ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows)) return;
    if (ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup)) return;
    const bool typed =
        !ImGui::GetIO().KeyCtrl && std::ranges::any_of(ImGui::GetIO().InputQueueCharacters, begins_number);
    if (const auto heard = std::exchange(heard_, std::nullopt);
        typed && heard && drawing.state().pin != *heard)
        frame.pin(*heard);
    if (!drawing.state().pin || !drawing.state().pin->run()) return;
    app::RunCell cell = *drawing.state().pin->run();
    const auto moved = [&](ImGuiKey key, Index rows, Index cols) {
        if (!ImGui::IsKeyPressed(key)) return;
        app::RunCell next = cell;
        next.row += rows;
        next.col += cols;
        // At an edge, the pin stays where it is; the subject decides where the edges are.
        if (!app::may_pin(drawing.state(), next) || !frame.subject.explain(next)) return;
        cell = next;
        frame.pin(cell);
    };
    moved(ImGuiKey_UpArrow, -1, 0);
    moved(ImGuiKey_DownArrow, 1, 0);
    moved(ImGuiKey_LeftArrow, 0, -1);
    moved(ImGuiKey_RightArrow, 0, 1);
    const bool opened = ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_F2);
    if (!frame.may_edit(cell.stage)) return refuse(frame, cell, opened || typed);
    if (opened) begin_typing(cell, app::shortest(frame.edits()->value(drawing.state(), cell)));
    if (opened || !typed) return;
    begin_typing(cell, "");
    typed_->typing.gather();
}

// ---- Typing into a computed cell --------------------------------------------------------------------------

// A ladder without edits offers a copy of its head that has them.
std::optional<app::Instead> LadderPart::instead_of(const Frame& frame, const app::RunCell& cell) {
    if (frame.edits()) return frame.edits()->instead(frame.drawing.state(), cell);
    const auto offer = app::take_over(frame.drawing.visit, frame.subject, frame.queries, frame.keys);
    if (!offer) return std::nullopt;
    const bool vector = cell.stage == Stage::q || cell.stage == Stage::k || cell.stage == Stage::v;
    const char* from = vector                        ? "the layer’s normalised input and its weights"
                       : cell.stage == Stage::output ? "the weights and V"
                       : cell.stage == Stage::weight ? "its row of scores"
                                                     : "Q and K";
    const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    app::RunCell to = cell;
    if (!vector) to = {.stage = Stage::q, .row = cell.row};
    to.row -= of_keys ? frame.keys.begin : frame.queries.begin;
    return app::Instead{std::string(symbol(cell.stage)) + " is computed from " + from +
                            "; change Q, K and V of a copy instead.",
                        offer->label, offer->command, to};
}

void LadderPart::refuse(const Frame& frame, const app::RunCell& cell, bool typed) {
    if (refused_ && refused_->cell != cell) refused_.reset();
    if (typed && !refused_)
        if (const auto instead = instead_of(frame, cell)) {
            refused_ = Refused{cell, ui::Typing()};
            frame.drawing.visit.announce(instead->why);
        }
    if (refused_) refused_->typing.gather();
}

// Says below the cell what it is computed from, with a button that offers an editable input instead.
void LadderPart::offer_instead(const Frame& frame, ImVec2 at) {
    const app::Drawing& drawing = frame.drawing;
    const auto instead = instead_of(frame, refused_->cell);
    if (!instead) return refused_.reset();
    ImGui::SetCursorScreenPos(at);
    ImGui::PushStyleColor(ImGuiCol_ChildBg, ui::theme().surface);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {12, 10});
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 6);
    ImGui::BeginChild("instead", {offer_width, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_Borders,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
    ui::wrapped_text(instead->why);
    const bool taken = ui::button("instead", instead->label.c_str());
    const bool elsewhere = ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
                           !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
    ImGui::EndChild();
    if (!taken && !elsewhere) return;
    const std::string text(refused_->typing.text());
    refused_.reset();
    if (!taken) return;
    const std::string_view subject = drawing.state().subject;
    drawing.visit.perform(instead->command);
    // The copy belongs to another subject, whose ladder continues from the pinned cell.
    if (drawing.state().subject != subject) return drawing.visit.perform(app::Pin{instead->cell});
    if (!frame.may_edit(instead->cell.stage)) return;  // the copy was refused
    frame.pin(instead->cell);
    begin_typing(instead->cell,
                 text.empty() ? app::shortest(frame.edits()->value(drawing.state(), instead->cell)) : text);
}

void LadderPart::draw(const app::Drawing& drawing, app::Subject& subject, const app::Ladder& ladder,
                      Range queries, Range keys) {
    const Frame frame{drawing, subject, ladder, queries, keys};
    keyboard(frame);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float in_view = ImGui::GetWindowHeight() + ImGui::GetWindowPos().y - corner.y - ImGui::GetScrollY();
    const bool narrow = width < ui::settings_open;
    const bool follows = followed_pin_.follows(drawing.state().pin);
    // Commands change the ladder while it is drawn; this frame draws it as it was before them.
    const std::vector<std::vector<app::Rung>> rows = ladder.rungs(queries, keys);
    std::vector<std::vector<RungGrid>> to_place(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (const app::Rung& rung : rows[i]) {
            ui::MatrixGrid grid = frame.grid(rung);
            const float room = width - (*rung.sign ? sign_width(rung) : 0);
            const ui::GridMetrics metrics =
                ui::grid_metrics(grid, narrow ? room : std::min(room, most_grid_width));
            to_place[i].push_back({&rung, std::move(grid), metrics});
        }
    std::optional<ImVec2> refused_at;
    const LadderLayout layout = ladder_layout(to_place, keys.size(), {width, in_view});
    for (const auto& [of, metrics, offset, sign] : layout.rungs) {
        const auto& [rung, grid, unarranged] = *of;
        const ImVec2 at{corner.x + offset.x, corner.y + offset.y};
        if (*rung->sign) {
            ui::Type large(ui::Face::regular, 20);
            const float middle = ui::cell_rect(grid, metrics, at, {0, 0}).first.y +
                                 metrics.cell_height * static_cast<float>(rung->values.rows) / 2;
            const ImVec2 place{corner.x + sign, middle - 14}, size = ui::text_size(rung->sign);
            ui::draw_text(ImGui::GetWindowDrawList(), place, ui::theme().dim, rung->sign);
            ui::landmark("sign/" + grid.name, place, {place.x + size.x, place.y + size.y});
        }
        const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, at);
        if (frame.is_locked(rung->stage)) fade(grid, metrics, at);
        typing_field(frame, *rung, grid, metrics, at);
        answer(frame, *rung, reply);
        if (!grid.pinned) continue;
        const auto [min, max] = ui::cell_rect(grid, metrics, at, *grid.pinned);
        if (follows) ui::scroll_to(min, max);
        refused_at = ImVec2(std::min(min.x, corner.x + width - offer_width), max.y + 6);
    }
    row_bars(drawing, ladder, app::usual_row(subject, queries), keys,
             {corner.x + layout.bars.x, corner.y + layout.bars.y}, layout.bars_width);
    if (refused_ && refused_at) offer_instead(frame, *refused_at);
    ImGui::SetCursorScreenPos({corner.x, corner.y + layout.height});
    ImGui::Dummy({width, 1});
}

}  // namespace attn::parts
