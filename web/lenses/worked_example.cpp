// Lens Worked example: the ladder Q, K → scores → scaled → masked → weights → × V → output as matrices, each
// input cell editable, what the last edit moved marked.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "app/format.hpp"
#include "app/presets.hpp"
#include "lenses/lens.hpp"
#include "lenses/worked_controls.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/matrix_grid.hpp"
#include "widgets/scroll.hpp"

namespace attn::lenses {

namespace {

using app::CellRef;
using app::MatrixId;
using app::Session;
using app::Source;
using app::WorkedMask;
using app::WorkedState;

constexpr float badge_room = 48;  // that the shape beside a title may take of what follows

// A number being typed into a cell. ImGui's field has the keyboard a frame after it is asked for; what is typed
// until then is kept here.
struct Typing {
    CellRef cell;
    std::array<char, 40> text{};
    bool focus = true;
    bool active = false;
    bool entered = false;
    bool caret_to_end = false;  // else everything is selected

    void gather() {
        std::size_t length = std::strlen(text.data());
        for (const ImWchar c : ImGui::GetIO().InputQueueCharacters)
            if (c >= ' ' && c < 0x7f && length + 1 < text.size()) text[length++] = static_cast<char>(c);
        entered |= ImGui::IsKeyPressed(ImGuiKey_Enter) && length > 0;
    }
};
std::optional<Typing> typing;

ui::FollowedPin<CellRef> followed_pin;

int put_caret(ImGuiInputTextCallbackData* data) {
    if (std::exchange(typing->caret_to_end, false)) {
        data->ClearSelection();
        data->CursorPos = data->BufTextLen;
    }
    return 0;
}

std::string title_of(const WorkedState& w, MatrixId id) {
    const std::string root = "√" + std::to_string(w.d_k());
    const bool divided = w.scale_by_sqrt_d && w.source != Source::scores;
    switch (id) {
        case MatrixId::x: return "X  tokens";
        case MatrixId::w_q: return "W_Q";
        case MatrixId::w_k: return "W_K";
        case MatrixId::w_v: return "W_V";
        case MatrixId::q: return "Q  queries";
        case MatrixId::k: return "K  keys";
        case MatrixId::v: return "V  values";
        case MatrixId::raw: return w.source == Source::scores ? "Scores" : "Scores  QKᵀ";
        case MatrixId::scaled: {
            std::string text = divided ? "Scaled  ÷ " + root : "Scaled";
            if (w.temperature != 1) text += " ÷ " + app::fixed(w.temperature, 2);
            return text;
        }
        case MatrixId::capped: return "Capped  ± " + app::fixed(w.softcap, 1);
        case MatrixId::masked: return "Masked";
        case MatrixId::weight: return "Weights";
        case MatrixId::output: return "Output  AV";
    }
    return "";
}

std::string notation_of(const WorkedState& w, MatrixId id) {
    const bool projected = w.source == Source::projections;
    const bool divided = w.scale_by_sqrt_d && w.source != Source::scores;
    switch (id) {
        case MatrixId::x: return "Xⁱᵇ";
        case MatrixId::w_q: return "W_Qᵇᵃ";
        case MatrixId::w_k: return "W_Kᵇᵃ";
        case MatrixId::w_v: return "W_Vᵇᶜ";
        case MatrixId::q: return projected ? "Qⁱᵃ = Xⁱᵇ W_Qᵇᵃ" : "Qⁱᵃ";
        case MatrixId::k: return projected ? "Kʲᵃ = Xʲᵇ W_Kᵇᵃ" : "Kʲᵃ";
        case MatrixId::v: return projected ? "Vʲᶜ = Xʲᵇ W_Vᵇᶜ" : "Vʲᶜ";
        case MatrixId::raw: return w.source == Source::scores ? "Rⁱʲ, given" : "Rⁱʲ = Qⁱᵃ Kʲᵃ";
        case MatrixId::scaled: return divided ? "Sⁱʲ = Rⁱʲ / √d_k" : "Sⁱʲ = Rⁱʲ";
        case MatrixId::capped: return "Cⁱʲ = c tanh(Sⁱʲ / c)";
        case MatrixId::masked: return "Mⁱʲ = Sⁱʲ or −∞";
        case MatrixId::weight: return "Aⁱʲ = exp Sⁱʲ / Σⱼ exp Sⁱʲ";
        case MatrixId::output: return "Oⁱᶜ = Aⁱʲ Vʲᶜ";
    }
    return "";
}

const char* sign_before(const WorkedState& w, MatrixId id) {
    switch (id) {
        case MatrixId::k: return "·";
        case MatrixId::raw: return w.source == Source::scores ? "" : "=";
        case MatrixId::scaled:
        case MatrixId::capped:
        case MatrixId::masked:
        case MatrixId::weight: return "→";
        case MatrixId::v: return "×";
        case MatrixId::output: return "=";
        default: return "";
    }
}

// The ladder from top to bottom; each row starts a new line where there is room for lines at all.
std::vector<std::vector<MatrixId>> ladder(const WorkedState& w) {
    std::vector<std::vector<MatrixId>> rows;
    if (w.source == Source::projections)
        rows.push_back({MatrixId::x, MatrixId::w_q, MatrixId::w_k, MatrixId::w_v});
    std::vector<MatrixId> stages;
    if (w.source == Source::scores)
        stages = {MatrixId::raw};
    else
        rows.push_back({MatrixId::q, MatrixId::k, MatrixId::raw});
    const bool scales = w.source != Source::scores || w.temperature != 1;
    if (scales) stages.push_back(MatrixId::scaled);
    if (w.softcap > 0) stages.push_back(MatrixId::capped);
    if (w.mask.kind != WorkedMask::Kind::none) stages.push_back(MatrixId::masked);
    stages.push_back(MatrixId::weight);
    if (w.d_v() > 0) stages.push_back(MatrixId::v);
    if (w.d_v() > 0) stages.push_back(MatrixId::output);
    rows.push_back(stages);
    return rows;
}

bool rows_are_queries(MatrixId id) {
    return id == MatrixId::x || id == MatrixId::q || app::is_stage(id) || id == MatrixId::output;
}
bool rows_are_keys(MatrixId id) { return id == MatrixId::k || id == MatrixId::v; }
bool is_weight_matrix(MatrixId id) {
    return id == MatrixId::w_q || id == MatrixId::w_k || id == MatrixId::w_v;
}

std::string_view landmark_name(MatrixId id) {
    constexpr std::array<std::string_view, app::matrix_count> names{
        "x", "w_q", "w_k", "w_v", "q", "k", "v", "raw", "scaled", "capped", "masked", "weight", "output"};
    return names[static_cast<std::size_t>(id)];
}

int decimals_of(const WorkedState& w, MatrixId id) {
    if (w.input(id)) return 2;
    return id == MatrixId::raw || id == MatrixId::q || id == MatrixId::k || id == MatrixId::v ? 2 : 3;
}

struct Ladder {
    Session& session;
    Hover& hover;
    const WorkedState& w = session.state().worked;

    // How far one point of dragging, or one notch of the wheel, moves a value.
    static constexpr double per_point = 0.01, per_notch = 0.1;

    void set(CellRef cell, double value) const {
        // Two decimals, as the cells show them.
        session.perform(app::SetCell{cell, std::round(value * 100) / 100}, ui::gesture());
    }

    void reset(CellRef cell) const {
        const WorkedState original = app::origin_state(w);
        const app::Matrix* was = original.input(cell.matrix);
        if (was && was->holds(cell.row, cell.col))
            session.perform(app::SetCell{cell, was->at(cell.row, cell.col)});
    }

    void begin_typing(CellRef cell, std::string_view text) const {
        typing = Typing{cell};
        text.copy(typing->text.data(), typing->text.size() - 1);
    }

    void pin(CellRef cell) const {
        session.perform(app::Pin{cell});
        app::Selection selection = session.state().selection;
        selection.query = rows_are_queries(cell.matrix) ? std::optional(cell.row) : std::nullopt;
        selection.key = app::is_stage(cell.matrix)   ? std::optional(cell.col)
                        : rows_are_keys(cell.matrix) ? std::optional(cell.row)
                                                     : std::nullopt;
        session.perform(app::Select{selection});
    }

    ui::MatrixGrid grid(MatrixId id, const app::Matrix& values, const app::Matrix* before) const {
        ui::MatrixGrid g;
        g.name = std::string(landmark_name(id));
        g.title = title_of(w, id);
        g.notation = notation_of(w, id);
        g.values = &values;
        g.before = before;
        g.decimals = decimals_of(w, id);
        g.editable = w.input(id) != nullptr;
        if (rows_are_queries(id)) g.row_labels = w.query_labels;
        if (rows_are_keys(id)) g.row_labels = w.key_labels;
        if (app::is_stage(id)) g.column_labels = w.key_labels;
        g.row_axis = id == MatrixId::x      ? "token"
                     : rows_are_queries(id) ? "query"
                     : rows_are_keys(id)    ? "key"
                                            : "in";
        g.column_axis = app::is_stage(id) ? "key" : is_weight_matrix(id) ? "out" : "component";
        const bool after_mask = id == MatrixId::masked || id == MatrixId::weight;
        if (after_mask && w.mask.kind != WorkedMask::Kind::none)
            g.allowed = [mask = session.worked().record.spec().mask](Index r, Index c) {
                return mask.allows(0, r, c);
            };
        g.noted = [this, id](Index r, Index c) { return app::printed_value(w, {id, r, c}) != nullptr; };
        if (const auto& p = session.state().pin; p && p->matrix == id) g.pinned = ui::CellAt{p->row, p->col};
        light(g, id);
        return g;
    }

    // The row and column of the shared selection, as this matrix shows them.
    void light(ui::MatrixGrid& g, MatrixId id) const {
        std::optional<Index> query = session.state().selection.query, key = session.state().selection.key;
        if (hover.cell) {
            query.reset();
            key.reset();
            if (rows_are_queries(hover.cell->matrix)) query = hover.cell->row;
            if (rows_are_keys(hover.cell->matrix)) key = hover.cell->row;
            if (app::is_stage(hover.cell->matrix)) key = hover.cell->col;
        }
        if (rows_are_queries(id)) g.lit_row = query;
        if (rows_are_keys(id)) g.lit_row = key;
        if (app::is_stage(id)) g.lit_column = key;
    }

    void answer(const ui::GridReply& reply, MatrixId id, Hover& next) const {
        const auto cell = [&](ui::CellAt at) { return CellRef{id, at.first, at.second}; };
        if (reply.hovered) {
            next.cell = cell(*reply.hovered);
            if (const auto* printed = app::printed_value(w, *next.cell)) compare_with_print(*printed, reply);
        }
        const app::Matrix* input = w.input(id);
        if (reply.clicked) {
            const bool paints = id == MatrixId::masked && w.mask.kind == WorkedMask::Kind::painted;
            if (paints) {
                const auto [r, c] = *reply.clicked;
                const bool now = session.worked().record.spec().mask.allows(0, r, c);
                session.perform(app::PaintMask{r, c, !now});
            }
            pin(cell(*reply.clicked));
        }
        if (!input) return;
        if (reply.double_clicked) return reset(cell(*reply.double_clicked));
        if (reply.dragged && reply.drag != 0) {
            // A finger leaves nothing behind that would show what it moves.
            const bool finger = ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen;
            if (finger && session.state().pin != cell(*reply.dragged)) pin(cell(*reply.dragged));
            const double step = ImGui::GetIO().KeyShift ? per_point / 10 : per_point;
            const double now = input->at(reply.dragged->first, reply.dragged->second);
            set(cell(*reply.dragged), now + step * static_cast<double>(reply.drag));
        }
        if (reply.hovered && reply.wheel != 0) {
            const double now = input->at(reply.hovered->first, reply.hovered->second);
            const double step = ImGui::GetIO().KeyShift ? per_notch / 10 : per_notch;
            const double notches = std::max(std::abs(static_cast<double>(reply.wheel)), 1.0);
            set(cell(*reply.hovered), now + step * std::copysign(notches, reply.wheel));
        }
        if (reply.row_label || reply.column_label)
            open_label_menu(session, id, reply.row_label, reply.column_label);
    }

    // "printed 0.65, exact 0.55" beside the cell.
    void compare_with_print(const app::Printed& printed, const ui::GridReply& reply) const {
        const auto [r, c] = *reply.hovered;
        const double exact = app::explain_worked(w, session.worked(), {printed.matrix, r, c}).cell.f64;
        ui::Type small(ui::Face::regular, ui::size_small);
        const std::string text = "printed " + std::string(printed.text) + ", exact " + app::fixed(exact, 4);
        const ImVec2 size = ui::text_size(text);
        const ImVec2 at{reply.hovered_min.x, reply.hovered_max.y + 5};
        ImDrawList* list = ImGui::GetForegroundDrawList();
        list->AddRectFilled(at, {at.x + size.x + 16, at.y + size.y + 10}, ui::theme().raised, 5);
        list->AddRect(at, {at.x + size.x + 16, at.y + size.y + 10}, ui::theme().changed, 5);
        ui::draw_text(list, {at.x + 8, at.y + 5}, ui::theme().text, text);
    }

    // The field over the cell that is being typed into.
    void typing_field(const ui::MatrixGrid& g, const ui::GridMetrics& metrics, ImVec2 at, MatrixId id) const {
        if (!typing || typing->cell.matrix != id) return;
        auto [min, max] = ui::cell_rect(g, metrics, at, {typing->cell.row, typing->cell.col});
        ui::Type mono(ui::Face::mono, ui::size_small);
        const float width = std::max(max.x - min.x, 64.0f);
        ImGui::SetCursorScreenPos({min.x - 2, min.y - 2});
        ImGui::SetNextItemWidth(width);
        ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                            {6, (max.y - min.y + 4 - ImGui::GetTextLineHeight()) / 2});
        ImGui::PushStyleColor(ImGuiCol_FrameBg, ui::theme().surface);
        if (typing->focus) ImGui::SetKeyboardFocusHere();
        // Any letter may be typed: "-inf" is a number, too.
        typing->entered |= ImGui::InputText(
            "##typing", typing->text.data(), typing->text.size(),
            ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackAlways, put_caret);
        const bool left = !typing->focus && ImGui::IsItemDeactivated();
        ui::landmark_item("typing");
        typing->focus = false;
        typing->active = ImGui::IsItemActive();
        ImGui::PopStyleColor();
        ImGui::PopStyleVar();
        if (!typing->entered && !left) return;
        const CellRef cell = typing->cell;
        const std::string text = typing->text.data();
        typing.reset();
        if (ImGui::IsKeyPressed(ImGuiKey_Escape)) return;
        const auto value = app::read_number(text);
        if (!value)
            return session.report_error({"'" + text + "' is not a number; the cell keeps its value."});
        session.perform(app::SetCell{cell, *value});
    }

    void keyboard() const {
        if (typing && !typing->active) typing->gather();
        if (typing || ImGui::GetIO().WantTextInput || !session.state().pin) return;
        CellRef cell = *session.state().pin;
        const app::MatrixShape shape = app::shape_of(w, cell.matrix);
        const auto moved = [&](ImGuiKey key, Index rows, Index cols) {
            if (!ImGui::IsKeyPressed(key)) return;
            cell.row = std::clamp<Index>(cell.row + rows, 0, shape.rows - 1);
            cell.col = std::clamp<Index>(cell.col + cols, 0, shape.cols - 1);
            pin(cell);
        };
        moved(ImGuiKey_UpArrow, -1, 0);
        moved(ImGuiKey_DownArrow, 1, 0);
        moved(ImGuiKey_LeftArrow, 0, -1);
        moved(ImGuiKey_RightArrow, 0, 1);
        if (ImGui::IsKeyPressed(ImGuiKey_Escape)) session.perform(app::Pin{std::nullopt});
        const app::Matrix* input = w.input(cell.matrix);
        if (!input) return;
        if (ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_F2))
            return begin_typing(cell, app::shortest(input->at(cell.row, cell.col)));
        for (const ImWchar c : ImGui::GetIO().InputQueueCharacters) {
            const bool starts = (c >= '0' && c <= '9') || c == '-' || c == '.';
            if (!starts || ImGui::GetIO().KeyCtrl) continue;
            begin_typing(cell, "");
            typing->caret_to_end = true;
            return typing->gather();
        }
    }

    void draw() {
        const float left = ImGui::GetCursorScreenPos().x;
        const float width = ImGui::GetContentRegionAvail().x;
        const float right = left + width;
        ImVec2 at = ImGui::GetCursorScreenPos();
        Hover next;
        const app::WorkedRun* earlier = session.worked_before();
        const bool narrow = width < 640;
        bool bars_wanted = true;
        const bool follows = followed_pin.follows(session.state().pin);
        for (const auto& row : ladder(w)) {
            float tallest = 0;
            at.x = left;
            bool first = true;
            for (MatrixId id : row) {
                const app::Matrix values = session.worked().matrix(w, id);
                app::Matrix before;
                if (earlier) before = earlier->matrix(session.state_before().worked, id);
                const bool comparable = before.rows == values.rows && before.cols == values.cols;
                ui::MatrixGrid g = grid(id, values, comparable ? &before : nullptr);
                const ui::GridMetrics metrics = ui::grid_metrics(g, narrow ? width : std::min(width, 460.0f));
                const ImVec2 size = ui::grid_size(g, metrics);
                const char* sign = sign_before(w, id);
                const float sign_width = *sign ? 26 : 8;
                if (!first && at.x + sign_width + size.x > right) {
                    at = {left, at.y + tallest + 18};
                    tallest = 0;
                }
                if (*sign && at.x > left) {
                    ui::Type large(ui::Face::regular, 20);
                    const float middle =
                        at.y + 58 + metrics.cell_height * static_cast<float>(values.rows) / 2;
                    ui::draw_text(ImGui::GetWindowDrawList(), {at.x + 4, middle - 14}, ui::theme().dim, sign);
                }
                at.x += at.x > left ? sign_width : 0;
                const ui::GridReply reply = ui::draw_matrix_grid(g, metrics, at);
                typing_field(g, metrics, at, id);
                answer(reply, id, next);
                if (follows && g.pinned) {
                    const auto [min, max] = ui::cell_rect(g, metrics, at, *g.pinned);
                    ui::scroll_to(min, max);
                }
                tallest = std::max(tallest, size.y);
                at.x += size.x + 8;
                first = false;
            }
            if (bars_wanted && app::is_stage(row.back()) && row_bars({at.x + badge_room, at.y}, right))
                bars_wanted = false;
            at.y += tallest + 18;
        }
        if (bars_wanted && row_bars({left, at.y}, right)) at.y += 56 + 26 * static_cast<float>(w.keys());
        ImGui::SetCursorScreenPos({left, at.y});
        ImGui::Dummy({width, 1});
        hover = next;
    }

    // "Where cat looks": the weights of the chosen query as bars.
    // False where there is no room for them.
    bool row_bars(ImVec2 origin, float right) const {
        Index query = session.state().selection.query.value_or(0);
        if (hover.cell && rows_are_queries(hover.cell->matrix)) query = hover.cell->row;
        if (query >= w.queries()) query = 0;
        const float width = std::min(right - origin.x, 340.0f);
        const float line = 26;
        if (width < 176) return false;
        ImDrawList* list = ImGui::GetWindowDrawList();
        const auto label = [&](const std::vector<std::string>& labels, Index i) {
            return i < std::ssize(labels) ? labels[static_cast<std::size_t>(i)] : std::to_string(i);
        };
        {
            ui::Type semibold(ui::Face::semibold, ui::size_title);
            ui::draw_text(list, origin, ui::theme().text,
                          "Where \"" + label(w.query_labels, query) + "\" looks");
        }
        ui::Type mono(ui::Face::mono, ui::size_small);
        for (Index key = 0; key < w.keys(); ++key) {
            const float weight = session.worked().record.cell(Stage::weight, 0, query, key);
            const float y = origin.y + 40 + line * static_cast<float>(key);
            ui::draw_text_within(list, {origin.x, y}, 56, ui::theme().dim, label(w.key_labels, key));
            const float room = width - 62 - 70;
            const float length = std::isfinite(weight) ? room * std::clamp(weight, 0.0f, 1.0f) : 0;
            list->AddRectFilled({origin.x + 62, y - 1}, {origin.x + 62 + std::max(length, 1.0f), y + 17},
                                ui::sequential(0.25f + 0.6f * weight), 3);
            ui::draw_text(list, {origin.x + 62 + length + 8, y}, ui::theme().text,
                          app::fixed(static_cast<double>(weight), 4));
        }
        return true;
    }
};

}  // namespace

void worked_example(Session& session, Hover& hover) {
    const WorkedState& w = session.state().worked;
    const app::PresetInfo& preset = app::info(w.preset);
    ui::heading(std::string(preset.question).c_str());
    const bool narrow = ImGui::GetContentRegionAvail().x < 640;
    const char* how =
        narrow ? " Drag any input sideways; orange outlines mark what moved."
               : " Drag, turn the wheel over, or click and type any number of the inputs; orange outlines "
                 "mark what moved.";
    ui::caption((std::string(preset.story) + how).c_str());
    ImGui::Dummy({0, 2});
    worked_controls(session);
    ImGui::Dummy({0, 6});
    Ladder ladder{session, hover};
    ladder.keyboard();
    ladder.draw();
    label_menu(session);
}

}  // namespace attn::lenses
