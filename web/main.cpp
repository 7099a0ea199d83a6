// The page inside the canvas: rail of lenses, the lens, the inspector, the status line.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "app/explained.hpp"
#include "app/format.hpp"
#include "app/table.hpp"
#include "kernels/table.hpp"
#include "kernels/workers.hpp"
#include "lenses/lens.hpp"
#include "platform/program.hpp"
#include "platform/window.hpp"
#include "render/context.hpp"
#include "render/fill.hpp"
#include "widgets/controls.hpp"
#include "widgets/inspector.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/scroll.hpp"

namespace attn::platform {

namespace {

using app::LensId;
using app::Session;

constexpr float rail_width = 176, inspector_width = 320, status_height = 28, narrow_below = 820, padding = 22;

// What stands in the inspector while no number is pointed at.
struct Guide {
    const char *title, *text;
};
constexpr Guide numbers_guide{"Every number explains itself",
                              "Point at a cell to see where its value comes from: the operands, the sum, in "
                              "single and in double precision.\n\n"
                              "Click to keep it here while you change other numbers."};
constexpr Guide training_guide{
    "What to look for",
    "Induction is the weight, on random symbols that come twice, on what followed the first copy of the "
    "present "
    "symbol. It needs two heads in two layers: one that copies each symbol to its right neighbour, and one "
    "that looks "
    "for that copy.\n\n"
    "Previous token is the share of a head's weights on the token before. Entropy says how spread a head's "
    "weights "
    "are: 0 is one key alone.\n\n"
    "Every step can be gone back to: drag over a curve. From any step the run can branch off with another "
    "learning "
    "rate, with other sequences, or with a head left out; keep one run to compare it with another.\n\n"
    "The same numbers give the same run, to the last bit: a link to this page is a link to this run."};

constexpr Guide tensors_guide{
    "Where a number comes from",
    "Point at a cell: of finished weights you see the number as it is stored, and where in "
    "which file; of Q and K the products that make it, step by step.\n\n"
    "Click to keep it here."};

struct LensEntry {
    LensId id;
    const char* name;
    const char* tab;  // the name on a phone
    void (*draw)(Session&, lenses::Hover&);
    const Guide& guide;
};
constexpr std::array<LensEntry, 4> lens_list{{
    {LensId::worked, "Worked example", "Example", lenses::worked_example, numbers_guide},
    {LensId::sentence, "Sentence", "Sentence", lenses::sentence, numbers_guide},
    {LensId::training, "Training", "Training", lenses::training, training_guide},
    {LensId::tensors, "Your tensors", "Tensors", lenses::tensors, tensors_guide},
}};

lenses::Hover hover;

const LensEntry& current_lens(const Session& s) {
    return *std::ranges::find(lens_list, s.state().lens, &LensEntry::id);
}

// Another lens begins at its top.
void draw_lens(Session& s) {
    static LensId drawn = s.state().lens;
    if (s.state().lens != drawn) ImGui::SetScrollY(0);
    drawn = s.state().lens;
    current_lens(s).draw(s, hover);
}

void lens_button(Session& s, const LensEntry& lens, ImVec2 size) {
    const bool on = s.state().lens == lens.id, in_rail = size.x > 150;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::PushStyleColor(ImGuiCol_Button, on ? ui::theme().accent_soft : 0u);
    ImGui::PushStyleColor(ImGuiCol_Text, on ? ui::theme().text : ui::theme().dim);
    ImGui::PushStyleVar(ImGuiStyleVar_ButtonTextAlign, {in_rail ? 0.0f : 0.5f, 0.5f});
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {in_rail ? 14.0f : 4.0f, 6});
    {
        ui::Type face(on ? ui::Face::semibold : ui::Face::regular, ui::size_body);
        if (ImGui::Button(in_rail ? lens.name : lens.tab, size)) s.perform(app::OpenLens{lens.id});
    }
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
    ui::landmark_item("lens/" + std::string(app::lens_keys[static_cast<std::size_t>(lens.id)]));
    if (on && in_rail)
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 8}, {at.x + 3, at.y + size.y - 8},
                                                  ui::theme().accent, 2);
}

// On the page's own background without a fill.
void panel(const char* name, ImVec2 at, ImVec2 size, std::optional<ImU32> fill, ImVec2 inset, auto draw) {
    if (fill) render::fill(ImGui::GetWindowDrawList(), at, {at.x + size.x, at.y + size.y}, *fill);
    ImGui::SetCursorScreenPos(at);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, inset);
    ImGui::BeginChild(name, size, ImGuiChildFlags_AlwaysUseWindowPadding);
    ImGui::PopStyleVar();
    draw();
    ui::scroll_by_drag();
    ImGui::EndChild();
    ui::landmark_item(std::string("panel/") + name);
}

void explanation(Session& s) {
    const auto pinned = s.state().pin;
    const auto shown = explained_cell();
    if (shown) {
        if (const auto why = app::explain_cell(s, *shown)) return ui::inspector(*why, shown == pinned);
    }
    const Guide& guide = current_lens(s).guide;
    {
        ui::Type semibold(ui::Face::semibold, 18);
        ImGui::TextUnformatted(guide.title);
    }
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(guide.text);
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
}

std::string shapes(const Session& s) {
    if (s.state().lens == LensId::worked) {
        const auto& w = s.state().worked;
        std::string text = "n_q " + std::to_string(w.queries()) + "   n_k " + std::to_string(w.keys());
        if (w.d_k()) text += "   d_k " + std::to_string(w.d_k());
        if (w.d_v()) text += "   d_v " + std::to_string(w.d_v());
        return text + "   f32";
    }
    if (s.state().lens == LensId::training) {
        const app::TrainingPlan& plan = s.state().training.plan;
        return std::to_string(plan.layers) + " layers × " + std::to_string(plan.heads) + " heads   d_model " +
               std::to_string(plan.d_model) + "   " + std::to_string(plan.batch) + " × " +
               std::to_string(plan.context) + " tokens a step";
    }
    if (s.state().lens == LensId::tensors) {
        const app::TensorSet* set = s.tensors().open();
        return set ? set->summary() : "no tensors";
    }
    const app::SentenceRun* run = s.sentence();
    if (!run) return s.model() ? s.model_name() : "no model";
    const auto& layers = run->trace->layers();
    return std::to_string(run->trace->tokens()) + " tokens   " + std::to_string(layers.size()) +
           " layers × " + std::to_string(layers[0].attention.heads()) + " heads   forward " +
           app::fixed(s.forward_ms(), 0) + " ms";
}

std::string kernels_in_use() {
    const int threads = thread_count();
    return std::string(default_kernels().name) + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
}

void status(Session& s, float width) {
    ui::Type mono(ui::Face::mono, 12);
    std::string text = shapes(s);
    if (!s.last_edit().empty() && width > 600) text += "   last edit: " + s.last_edit();
    if (width > 600) text += "   " + kernels_in_use();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ui::draw_text_within(ImGui::GetWindowDrawList(), {at.x, at.y}, width - 110, ui::theme().dim, text);
    const std::string memory = app::fixed(static_cast<double>(heap_in_use()) / 1e6, 1) + " MB";
    ui::draw_text(ImGui::GetWindowDrawList(), {at.x + width - 16 - ui::text_size(memory).x, at.y},
                  ui::theme().dim, memory);
}

void wide(Session& s, ImVec2 at, ImVec2 size) {
    const ui::Theme& t = ui::theme();
    const float height = size.y - status_height;
    panel("rail", at, {rail_width, height}, t.surface, {8, 14}, [&] {
        for (const LensEntry& lens : lens_list) lens_button(s, lens, {rail_width - 16, 34});
    });
    panel("lens", {at.x + rail_width, at.y}, {size.x - rail_width - inspector_width, height}, {},
          {padding, 18}, [&] { draw_lens(s); });
    panel("inspector", {at.x + size.x - inspector_width, at.y}, {inspector_width, height}, t.surface,
          {20, 20}, [&] { explanation(s); });
    panel("status", {at.x, at.y + height}, {size.x, status_height}, t.surface, {14, 7},
          [&] { status(s, size.x - 14); });
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddLine({at.x + rail_width, at.y}, {at.x + rail_width, at.y + height}, t.border);
    list->AddLine({at.x + size.x - inspector_width, at.y}, {at.x + size.x - inspector_width, at.y + height},
                  t.border);
    list->AddLine({at.x, at.y + height}, {at.x + size.x, at.y + height}, t.border);
}

// A phone: lenses as tabs, the inspector as a sheet below.
void narrow(Session& s, ImVec2 at, ImVec2 size) {
    const ui::Theme& t = ui::theme();
    const float tabs = 52;
    // Not for what is merely pointed at: the sheet would slip under the finger before it has pressed.
    const bool explains = s.state().pin.has_value();
    const float sheet = explains ? std::floor(size.y * 0.42f) : 0;
    panel("tabs", at, {size.x, tabs}, t.surface, {8, 6}, [&] {
        for (const LensEntry& lens : lens_list) {
            lens_button(s, lens, {std::min(150.0f, (size.x - 40) / 4), 40});
            ImGui::SameLine(0, 8);
        }
    });
    panel("lens", {at.x, at.y + tabs}, {size.x, size.y - tabs - sheet - status_height}, {}, {14, 14},
          [&] { draw_lens(s); });
    if (explains)
        panel("inspector", {at.x, at.y + size.y - sheet - status_height}, {size.x, sheet}, t.surface,
              {16, 14}, [&] { explanation(s); });
    panel("status", {at.x, at.y + size.y - status_height}, {size.x, status_height}, t.surface, {14, 7},
          [&] { status(s, size.x - 14); });
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddLine({at.x, at.y + tabs}, {at.x + size.x, at.y + tabs}, t.border);
    list->AddLine({at.x, at.y + size.y - sheet - status_height},
                  {at.x + size.x, at.y + size.y - sheet - status_height}, t.border);
}

// Says a newly pinned cell to those who listen.
void announce_pin(Session& s) {
    static std::optional<app::CellRef> said;
    if (s.state().pin == said) return;
    said = s.state().pin;
    if (!said) return;
    if (const auto why = app::explain_cell(s, *said))
        s.announce(why->title + " is " + app::fixed(why->f32, 4) + ". " + why->note);
}

void shortcuts(Session& s) {
    if (ImGui::GetIO().WantTextInput) return;
    if (ImGui::Shortcut(ImGuiMod_Ctrl | ImGuiKey_Z, ImGuiInputFlags_RouteGlobal)) s.undo();
    if (ImGui::Shortcut(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z, ImGuiInputFlags_RouteGlobal)) s.redo();
}

}  // namespace

void draw_page() {
    Session& s = session();
    s.begin_frame();
    ui::clear_landmarks();
    const ImGuiViewport* view = ImGui::GetMainViewport();
    ImGui::SetNextWindowPos(view->Pos);
    ImGui::SetNextWindowSize(view->Size);
    ImGui::Begin("page", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse |
                     ImGuiWindowFlags_NoNavFocus);
    view->Size.x < narrow_below ? narrow(s, view->Pos, view->Size) : wide(s, view->Pos, view->Size);
    ImGui::End();
    // A finger that has left hovers over nothing.
    if (ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen &&
        !ImGui::IsMouseDown(ImGuiMouseButton_Left))
        hover = {};
    shortcuts(s);
    announce_pin(s);
    if (!ImGui::IsAnyItemActive()) ui::next_gesture();
}

void pasted(const std::string& text) {
    Session& s = session();
    const auto& pin = s.state().pin;
    if (s.state().lens != LensId::worked || !pin)
        return s.report_error({"To paste numbers, first click the cell where they should begin."});
    auto cells = app::parse_numbers(text);
    if (!cells) return s.report_error(cells.error());
    s.perform(app::PasteCells{*pin, *std::move(cells)});
}

std::optional<app::CellRef> explained_cell() {
    if (session().state().lens == LensId::training) return std::nullopt;
    return hover.cell ? hover.cell : session().state().pin;
}

void theme_changed() { render::theme_changed(); }

}  // namespace attn::platform

int main() {
    attn::set_thread_count(std::min(attn::thread_count(), 8));  // the pool of web/CMakeLists.txt
    return 0;
}
