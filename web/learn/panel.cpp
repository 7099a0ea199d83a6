#include "learn/panel.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "learn/replay.hpp"
#include "learn/wording.hpp"
#include "lenses/lens.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/scroll.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::learn {

namespace {

constexpr float head_size = 12, close_size = 26, bar_height = 4, meter_height = 6, card_inset = 12,
                head_height = close_size + bar_height + 8;

std::string with_unit(double value, bool is_share) { return is_share ? percent(value) : four(value); }
// The row of buttons below a step, with the room above it.
float buttons_height() { return ImGui::GetFrameHeight() + 3 * ImGui::GetStyle().ItemSpacing.y; }

// A bound as its check says it: "99.9 %".
std::string bound_text(double bound, bool is_share) {
    return is_share ? shortest(static_cast<float>(100 * bound)) + " %" : shortest(bound);
}

// "80 % is asked for", "less than 0.5 is asked for".
std::string asked_for(const lesson::Measured& measured, bool is_share) {
    using enum lesson::Comparison;
    const std::string bound = bound_text(measured.bound, is_share);
    switch (measured.comparison) {
        case less: return "less than " + bound + " is asked for";
        case at_most: return "at most " + bound + " is asked for";
        case more: return "more than " + bound + " is asked for";
        case at_least: return bound + " is asked for";
        case equal:
            return bound + " is asked for" +
                   (measured.tolerance > lesson::default_tolerance(measured.bound)
                        ? ", within " + bound_text(measured.tolerance, is_share)
                        : "");
        case unequal: return "anything but " + bound + " is asked for";
    }
    return "";
}

void draw_meter(const lesson::Measured& measured, bool is_share, bool holds) {
    const double least = is_share ? 0 : std::min({0.0, measured.value, measured.bound}),
                 most = is_share ? 1 : 1.25 * std::max({0.0, measured.value, measured.bound});
    if (!(most > least) || !std::isfinite(measured.value) || !std::isfinite(measured.bound)) return;
    const auto share = [&](double value) {
        return static_cast<float>(std::clamp((value - least) / (most - least), 0.0, 1.0));
    };
    const ui::Theme& t = ui::theme();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, {at.x + width, at.y + meter_height}, t.border, 3);
    list->AddRectFilled({at.x + width * share(0), at.y},
                        {at.x + width * share(measured.value), at.y + meter_height},
                        holds ? t.accent : ui::with_alpha(t.accent, 0.75f), 3);
    const float mark = at.x + width * share(measured.bound);
    list->AddRectFilled({mark - 1, at.y - 3}, {mark + 1, at.y + meter_height + 3}, t.text);
    ImGui::Dummy({width, meter_height + 4});
}

void draw_tick(bool holds) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float size = ImGui::GetFontSize();
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (holds) {
        const ImVec2 points[] = {{at.x + 1, at.y + size * 0.55f},
                                 {at.x + size * 0.35f, at.y + size * 0.85f},
                                 {at.x + size * 0.85f, at.y + size * 0.2f}};
        list->AddPolyline(points, 3, ui::theme().accent, 0, 2);
    } else {
        list->AddCircle({at.x + size * 0.45f, at.y + size * 0.55f}, size * 0.28f, ui::theme().dim, 0, 1.5f);
    }
    ImGui::Dummy({size, size});
    ImGui::SameLine(0, 6);
}

bool icon_button(const char* label) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {0, 0});
    const bool pressed = ImGui::Button(label, {close_size, close_size});
    ImGui::PopStyleVar();
    return pressed;
}

// A card on a raised ground, as high as its content.
void card(const char* name, auto draw) {
    ImGui::PushStyleColor(ImGuiCol_ChildBg, ui::theme().background);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 8);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {card_inset, card_inset - 2});
    ImGui::BeginChild(name, {0, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysUseWindowPadding,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    draw();
    ImGui::EndChild();
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
    ui::landmark_item(name);
}

}  // namespace

LessonPanel::LessonPanel(Visit& visit)
    : visit_(visit), run_(visit.shared<LessonRun>()), library_(visit.shared<Library>()), writer_(visit) {}

void LessonPanel::open(std::string_view name) {
    lists_ = false;
    writer_.close();
    run_.open(visit_, {.name = std::string(name), .text = {}});
}

void LessonPanel::open_text(const std::string& text) {
    const auto read = lesson::parse_lesson(std::as_bytes(std::span(text)));
    if (!read) return visit_.report_error({"The lesson cannot be read: " + read.error().message + "."});
    lists_ = false;
    writer_.close();
    run_.open(visit_, {.name = {}, .text = text});
    if (const auto found = validated(*read); !found.empty())
        visit_.notice("This lesson may not work throughout: line " + std::to_string(found.front().line) +
                      ": " + found.front().sentence +
                      ". “Write a lesson” lists what its author has to mend.");
}

void LessonPanel::write() {
    lists_ = false;
    writer_.open();
}

void LessonPanel::greet() {
    if (run_.is_open(visit_)) return;
    visit_.settle(OpenLesson{{.name = std::string(first_lesson), .text = {}}});
}

void LessonPanel::update() { run_.update(visit_, now_ms()); }

void LessonPanel::finish() {
    if (lesson_of(visit_.state()).name == first_lesson) visit_.page().remember("start", "done");
    const bool is_tried = writer_.is_tried();
    run_.close(visit_);
    if (is_tried) write();
}

// Says which lesson comes next: the first after this one that is not done, or else before it.
void LessonPanel::tell_next() {
    const std::string name = lesson_of(visit_.state()).name, title = run_.title();
    const auto& all = library_.lessons();
    const auto here = std::ranges::find(all, name.substr(0, name.find('.')), &LessonEntry::name);
    std::vector<const LessonEntry*> following;
    for (auto each = here; each != all.end(); ++each) following.push_back(&*each);
    for (auto each = all.begin(); each != here; ++each) following.push_back(&*each);
    const auto next = std::ranges::find_if(following, [&](const LessonEntry* each) {
        const auto kept = run_.kept().find(each->name);
        return each->name != name && (kept == run_.kept().end() || !kept->second.done);
    });
    visit_.notice(curly_quoted(title) + " is done." +
                  (here == all.end() || next == following.end()
                       ? ""
                       : " The next lesson in Learn is " + curly_quoted((*next)->title) + "."));
}

void LessonPanel::point(Hover& hover) const {
    if (hover.query || hover.key || hover.cell || !run_.lesson()) return;
    const lesson::Step* step = run_.shown(visit_);
    const Attention* attention = subject_in(visit_).attention();
    if (!step || !attention || run_.may_go_on(visit_)) return;
    for (std::size_t i = 0; i < step->checks.size(); ++i) {
        if (run_.checks()[i].holds) continue;
        if (const auto pointed = pointed_by(*attention, step->checks[i].expression)) {
            hover.query = pointed->query;
            hover.key = pointed->key;
        }
        return;
    }
}

std::string LessonPanel::number_text(const lesson::Part& part) {
    const NumbersOf now{visit_.changes(), visit_.slices(), pointed_query_};
    if (numbers_of_ != now) {
        numbers_of_ = now;
        numbers_.clear();
    }
    lesson::Part alone = part;
    alone.text.clear();
    const lesson::Sentence sentence{{alone}};
    const auto [kept, is_new] = numbers_.try_emplace(lesson::to_text(sentence));
    if (is_new) {
        const lesson::Lookup lookup = run_.numbers(visit_);
        const auto text =
            lesson::filled(sentence, [&](std::string_view name, std::span<const lesson::Value> given) {
                if (name == "query" && given.empty() && pointed_query_)
                    return Result<lesson::Value>(lesson::Value(static_cast<double>(*pointed_query_)));
                return lookup(name, given);
            });
        kept->second = text ? *text : "…";
    }
    return kept->second;
}

void LessonPanel::draw_text(const std::string& text) {
    // Sentences with numbers change as these do.
    constexpr std::size_t most_kept = 200;
    if (prose_.size() > most_kept) prose_.clear();
    const auto [kept, is_new] = prose_.try_emplace(text);
    if (is_new) {
        if (auto read = lesson::parse_prose(text))
            kept->second = *std::move(read);
        else
            kept->second = {{.kind = lesson::Inline::Kind::code, .code = text}};
    }
    draw_prose(kept->second, [&](const lesson::Part& part) { return number_text(part); });
}

void LessonPanel::draw_paragraphs(const std::vector<lesson::Block>& blocks) {
    for (const lesson::Block& block : blocks)
        block.kind == lesson::Block::Kind::formula ? draw_formula(lesson::formula_pieces(block.text))
                                                   : draw_text(block.text);
}

// ---- The head ---------------------------------------------------------------------------------------------

void LessonPanel::draw_head() {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    {
        const ui::Type small(ui::Face::semibold, head_size);
        const std::string title = run_.lesson() ? run_.title() : "";
        const std::string text = title.empty() ? "LESSON" : "LESSON · " + title;
        ui::draw_text_within(ImGui::GetWindowDrawList(), {at.x, at.y + 4}, width - close_size - 6,
                             ui::theme().accent, text);
        ui::semantic_text("Lesson: " + title, at, {at.x + width - close_size, at.y + close_size});
    }
    if (ui::narrow_window()) {
        ImGui::SetCursorScreenPos({at.x + width - 2 * close_size - 8, at.y - 3});
        if (icon_button(brief_ ? "+##brief" : "–##brief")) brief_ = !brief_;
        ui::landmark_item("lesson/fold");
        ui::semantic_item(ui::Role::button, "lesson/fold", "Show the whole step");
        ui::node_opens(!brief_);
    }
    ImGui::SetCursorScreenPos({at.x + width - close_size, at.y - 3});
    if (icon_button("×##lesson")) finish();
    ui::landmark_item("lesson/close");
    ui::semantic_item(ui::Role::button, "lesson/close", "Close the lesson");
    const auto& steps = run_.all_progress();
    const std::size_t now = run_.step(visit_);
    if (run_.lesson() && steps.size() > 1) {
        const float gap = 5, each = (width - gap * static_cast<float>(steps.size() - 1)) /
                                    static_cast<float>(steps.size());
        const ImVec2 bar{at.x, at.y + close_size + 2};
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const float left = bar.x + (each + gap) * static_cast<float>(i);
            const bool is_done = i < now || steps[i].passed;
            const ImU32 fill = i == now  ? ui::theme().accent
                               : is_done ? ui::with_alpha(ui::theme().accent, 0.5f)
                                         : ui::theme().border;
            ImGui::GetWindowDrawList()->AddRectFilled({left, bar.y}, {left + each, bar.y + bar_height}, fill,
                                                      2);
        }
        ui::semantic_text("Step " + std::to_string(now + 1) + " of " + std::to_string(steps.size()), bar,
                          {bar.x + width, bar.y + bar_height});
    }
    ImGui::SetCursorScreenPos({at.x, at.y + head_height});
    ImGui::Dummy({0, 0});
}

// ---- Checks -----------------------------------------------------------------------------------------------

void LessonPanel::draw_check(const lesson::Check& check, const CheckNow& now, std::size_t number) {
    const std::string key = "lesson/check/" + std::to_string(number);
    const bool is_share = learn::is_share(check.expression);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    std::string told;
    if (now.measured && std::isfinite(now.measured->value)) {
        const std::string value = with_unit(now.measured->value, is_share), words = now.about;
        const float width = ImGui::GetContentRegionAvail().x;
        {
            const ui::Type mono(ui::Face::mono, ui::size_small);
            const float room = ui::text_size(value).x;
            ui::draw_text(ImGui::GetWindowDrawList(), {at.x + width - room, at.y + 1}, ui::theme().text,
                          value);
        }
        ui::wrapped_text(words, width - 70);
        draw_meter(*now.measured, is_share, now.holds);
        const ui::Type small(ui::Face::regular, ui::size_small);
        told = words + ": " + value + ", " + asked_for(*now.measured, is_share);
        ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
        ui::wrapped_text(asked_for(*now.measured, is_share));
        ImGui::PopStyleColor();
    }
    const std::string said = !now.missing.empty() ? now.missing
                             : !now.said.empty()  ? now.said
                             : now.holds          ? in_words(check.expression)
                                                  : "";
    if (!said.empty()) {
        draw_tick(now.holds);
        ImGui::PushStyleColor(ImGuiCol_Text, now.holds ? ui::theme().text : ui::theme().dim);
        ImGui::BeginGroup();
        draw_text(said);
        ImGui::EndGroup();
        ImGui::PopStyleColor();
    }
    ui::landmark(key, at, ImGui::GetItemRectMax());
}

void LessonPanel::draw_checks(const lesson::Step& step) {
    if (step.checks.empty()) return;
    ImGui::Dummy({0, 2});
    card("lesson/checks", [&] {
        for (std::size_t i = 0; i < step.checks.size(); ++i) {
            if (i > 0) ImGui::Dummy({0, 2});
            draw_check(step.checks[i], run_.checks()[i], i);
        }
    });
}

// ---- Hints, what was seen, and the buttons ----------------------------------------------------------------

void LessonPanel::draw_hints(const lesson::Step& step) {
    const StepProgress& progress = run_.progress(visit_);
    for (std::size_t i = 0; i < progress.hints; ++i) {
        {
            const ui::Type small(ui::Face::semibold, head_size);
            ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().accent);
            ui::text_item(i == 0 ? "HINT" : "ANOTHER HINT");
            ImGui::PopStyleColor();
        }
        draw_text(step.hints[i].text);
    }
    if (progress.passed) {
        if (progress.solved && step.view && ui::button("lesson/restart", "Start over")) run_.restart(visit_);
        return;
    }
    const bool more = progress.hints < step.hints.size();
    if (more && ui::button("lesson/hint", progress.hints == 0 ? "Show a hint" : "Another hint"))
        run_.show_hint(visit_);
    if (more && step.solution) ui::next_button("Show me");
    if (step.solution && ui::button("lesson/solution", "Show me")) run_.show_solution(visit_);
    if (!step.view) return;
    if (more || step.solution) ui::next_button("Start over");
    if (ui::button("lesson/restart", "Start over")) run_.restart(visit_);
}

void LessonPanel::draw_done(const lesson::Step& step) {
    const StepProgress& progress = run_.progress(visit_);
    if (!progress.passed || (step.checks.empty() && step.asks.empty())) return;
    // The checks may have changed since.
    const bool still = std::ranges::all_of(run_.checks(), &CheckNow::holds);
    draw_tick(true);
    ImGui::BeginGroup();
    draw_text(progress.solved ? "**Shown.** Try it yourself with “Start over”, or go on."
              : still         ? "**Done.**"
                              : "**Done before.** You can go on, or do it again.");
    if (!still)
        for (const std::string& seen : progress.seen) draw_text("You saw: " + seen);
    ImGui::EndGroup();
    ui::landmark_item("lesson/done");
}

void LessonPanel::draw_buttons(const lesson::Step& step) {
    ImGui::Dummy({0, 4});
    const std::size_t now = run_.step(visit_), count = run_.all_progress().size();
    const bool last = now + 1 == count, goes_on = run_.may_go_on(visit_);
    if (ui::button("lesson/back", "Back", now > 0)) return run_.go_to(visit_, now - 1);
    ImGui::SameLine(0, 8);
    ImGui::PushStyleColor(ImGuiCol_Button, ui::theme().accent);
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, ui::theme().accent);
    ImGui::PushStyleColor(ImGuiCol_Text, ui::ink_on(ui::theme().accent));
    const bool pressed = ui::button("lesson/next", last ? "Finish" : "Next", goes_on);
    ImGui::PopStyleColor(3);
    const bool again = ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
                       ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left] > 1;
    if (pressed && !again && last) {
        tell_next();
        return finish();
    }
    if (pressed && !again) return run_.go_to(visit_, now + 1);
    if (goes_on || last) return;
    ImGui::SameLine(0, 8);
    if (ui::button("lesson/skip", step.checks.empty() && step.asks.empty() ? "Next" : "Skip"))
        run_.go_to(visit_, now + 1);
}

void LessonPanel::draw_content(const lesson::Step& step) {
    {
        const ui::Type title(ui::Face::semibold, 18);
        ui::wrapped_text(step.title, FLT_MAX, ui::Role::heading);
    }
    ui::landmark_item("lesson/title");
    if (!is_brief()) {
        if (run_.step(visit_) == 0) draw_paragraphs(run_.lesson()->introduction);
        draw_paragraphs(step.prose);
    }
    draw_checks(step);
    if (is_brief()) return;
    draw_asks(step);
    draw_hints(step);
    draw_done(step);
    if (!writer_.is_tried()) return;
    ui::fault("lesson/fault_told", run_.progress(visit_).fault);
    if (ui::button("lesson/edit", "Back to the text")) write();
}

// The buttons follow the content or, where that does not fit, stay in place while it scrolls above them.
void LessonPanel::draw_step() {
    const lesson::Step& step = *run_.shown(visit_);
    if (is_brief()) return draw_content(step);
    const float buttons = buttons_height(),
                room = std::max(ImGui::GetContentRegionAvail().y - buttons, 2 * buttons);
    const bool scrolls = ui::narrow_window() || content_height_ > room;
    if (scrolls) {
        ImGui::SetNextWindowContentSize(
            {ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize, 0});
        ImGui::BeginChild("step", {0, room});
        if (std::exchange(scrolls_up_, false)) ImGui::SetScrollY(0);
    }
    const float begin = ImGui::GetCursorPosY();
    draw_content(step);
    if (run_.step(visit_) == 0) draw_languages();
    const float height = ImGui::GetCursorPosY() - begin;
    if (scrolls) {
        // A new hint comes into view.
        const std::size_t hints = run_.progress(visit_).hints;
        if (std::exchange(drawn_hints_, hints) < hints) ImGui::SetScrollHereY(1);
        if (ui::narrow_window()) ui::scroll_by_drag();
        ImGui::EndChild();
    }
    if (std::exchange(content_height_, height) != height) visit_.continue_at(now_ms());
    draw_buttons(step);
}

bool LessonPanel::shows_step() const {
    return !lists_ && !writer_.is_open() && run_.is_open(visit_) && run_.lesson() && run_.fault().empty();
}

float LessonPanel::height() const { return head_height + content_height_ + buttons_height(); }

void LessonPanel::draw(const Hover& pointed) {
    pointed_query_ = pointed.head ? std::nullopt : pointed.query;
    if (lists_) return draw_list();
    if (writer_.is_open()) return writer_.draw();
    draw_head();
    if (!run_.is_open(visit_)) return;
    if (!run_.fault().empty()) {
        ui::paragraph(run_.fault(), ui::theme().text);
        ui::landmark_item("lesson/fault");
        return;
    }
    if (!run_.lesson()) return ui::caption("Fetching the lesson …");
    if (drawn_step_ != run_.step(visit_)) {
        drawn_step_ = run_.step(visit_);
        typed_.clear();
        scrolls_up_ = true;
        content_height_ = 0;
        drawn_hints_ = run_.progress(visit_).hints;
    }
    draw_step();
}

}  // namespace attn::app::learn
