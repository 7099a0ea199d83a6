#include "learn/writer.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/lesson_state.hpp"
#include "app/link.hpp"
#include "app/link_text.hpp"
#include "learn/naming.hpp"
#include "learn/printed.hpp"
#include "learn/replay.hpp"
#include "learn/wording.hpp"
#include "subjects/subject.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"
#include "widgets/theme.hpp"

namespace attn::app::learn {

namespace {

constexpr const char* beginning =
    "---\ntitle: My lesson\nneeds: example\nminutes: 5\n---\n\nWhat this lesson is about, in a sentence or "
    "two.\n\n"
    "## What to do first\n\nSay what to change, and what to reach.\n";
constexpr std::string_view fence = "```", first_title = "My lesson";

// Where a line begins, counted from 1; a text with fewer lines gives its end.
std::size_t line_begin(std::string_view text, std::size_t line) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i < line && begin < text.size(); ++i)
        begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
    return begin;
}

// Two significant digits of a number.
class TwoDigits {
  public:
    explicit TwoDigits(double value)
        : value_(value), power_(value == 0 ? -1 : std::floor(std::log10(std::abs(value))) - 1) {}
    double unit() const { return std::pow(10, power_); }
    double next() const { return (std::floor(value_ / unit() + 1e-9) + 1) * unit(); }
    std::string written(double number) const {
        return rounded(number, std::max(0, static_cast<int>(-power_)));
    }
    std::string decimals(int least) const {
        return std::to_string(std::clamp(static_cast<int>(-power_), least, 6));
    }

  private:
    double value_, power_;
};

// Where the steps of a text begin; a heading within a fence begins none.
std::vector<std::size_t> step_begins(std::string_view text) {
    std::vector<std::size_t> begins;
    bool in_fence = false;
    for (std::size_t line = 0; line < text.size();) {
        const std::string_view rest = text.substr(line);
        if (rest.starts_with(fence)) in_fence = !in_fence;
        if (!in_fence && rest.starts_with("## ")) begins.push_back(line);
        line = std::min(text.find('\n', line), text.size() - 1) + 1;
    }
    return begins;
}

// The beginning of a line, which says more than its number.
std::string beginning_of_line(std::string_view text, std::size_t line) {
    constexpr float room = 150;
    text.remove_prefix(line_begin(text, line));
    text = text.substr(0, text.find('\n'));
    return text.empty() ? "" : " (" + ui::shortened(text, room) + ")";
}

}  // namespace

LessonWriter::LessonWriter(Visit& visit) : visit_(visit), run_(visit.shared<LessonRun>()) {}

void LessonWriter::open() {
    open_ = true;
    offered_.reset();
    if (text_.empty()) text_ = beginning;
    if (caret_)
        select(*caret_, *caret_);
    else if (const std::size_t title = text_.find(first_title); title != text_.npos)
        select(title, title + first_title.size());
    const lesson::Lesson* shown = run_.lesson();
    if (!shown || !run_.is_open(visit_)) return;
    const std::string& text = lesson_of(visit_.state()).text;
    if (text != text_) offered_ = {shown->title, text.empty() ? lesson::write_lesson(*shown) : text};
    run_.close(visit_);
}

bool LessonWriter::is_tried() const { return !text_.empty() && lesson_of(visit_.state()).text == text_; }

void LessonWriter::replace(std::string text) {
    replaced_ = std::exchange(text_, std::move(text));
    caret_.reset();
    visit_.page().remember("lesson-draft", text_);
}

LessonWriter::StepText LessonWriter::step_at_caret() const {
    const std::vector<std::size_t> begins = step_begins(text_);
    if (begins.empty()) return {0, text_.size(), text_.size()};
    const auto after = std::ranges::upper_bound(begins, caret_.value_or(text_.size()));
    const auto step = after == begins.begin() ? after : after - 1;
    const auto next = step + 1;
    return {static_cast<std::size_t>(step - begins.begin()), *step,
            next == begins.end() ? text_.size() : *next};
}

// Inserts lines at the end of the caret's step, and selects a phrase of theirs, which their author rewrites.
void LessonWriter::insert(const std::string& lines, std::string_view phrase) {
    const StepText step = step_at_caret();
    std::size_t at = step.end;
    while (at > step.begin && text_[at - 1] == '\n') --at;
    text_.replace(at, step.end - at, "\n" + lines + (step.end < text_.size() ? "\n" : ""));
    const std::size_t begin = at + 1 + (phrase.empty() ? lines.size() : lines.find(phrase));
    select(begin, begin + phrase.size());
    visit_.page().remember("lesson-draft", text_);
}

void LessonWriter::select(std::size_t begin, std::size_t end) {
    select_ = {begin, end};
    caret_ = end;
    visit_.continue_at(now_ms());
}

void LessonWriter::select_line(std::size_t number) {
    const std::size_t begin = line_begin(text_, number);
    select(begin, std::min(text_.find('\n', begin), text_.size()));
}

void LessonWriter::add_step() {
    constexpr std::string_view title = "What to do next";
    insert("\n## " + std::string(title) + "\n\nSay what to change, and what to reach.\n", title);
}

// A step has one view; a link that is added after it is its solution, and further ones are wrong attempts.
std::string_view LessonWriter::kind_of_next_link() const {
    const StepText at = step_at_caret();
    const std::string_view step = std::string_view(text_).substr(at.begin, at.end - at.begin);
    return step.find("\n```view\n") == step.npos       ? "view"
           : step.find("\n```solution\n") == step.npos ? "solution"
                                                       : "wrong";
}

void LessonWriter::add_link() {
    State shown = visit_.state();
    shown.pin.reset();  // the author's, who checks the number or asks for it
    const std::string link = to_subject_fragment(shown);
    const std::string_view kind = kind_of_next_link();
    insert("\n" + std::string(fence).append(kind) + "\n" + (link.empty() ? "v=1" : link) + "\n" +
           (kind == "wrong" ? "fails: 1\n" : "") + std::string(fence) + "\n");
}

// Copies a link that opens the lesson at its beginning.
void LessonWriter::copy_link() {
    const auto& view = checked_->lesson->steps.front().view;
    visit_.page().copy_link(link_within(view ? view->link : "v=1", {.name = {}, .text = text_}));
}

// The pinned number's value now; nothing, after saying why, if it has none.
std::optional<double> LessonWriter::value_of(const std::string& name) {
    const auto expression = lesson::parse_expression(name);
    const auto outcome = expression ? lesson::evaluate(*expression, run_.numbers(visit_))
                                    : Result<lesson::Outcome>(expression.error());
    const double* now = outcome ? std::get_if<double>(&outcome->value) : nullptr;
    if (now && std::isfinite(*now)) return *now;
    visit_.report_error(outcome ? Error{"Only a number can be checked so."} : outcome.error());
    return std::nullopt;
}

// A check that asks for a bit more than the number is now. The panel says its bound, so that the author
// changes it in the check and in the task alone.
void LessonWriter::add_check(const std::string& name) {
    const auto now = value_of(name);
    if (!now) return;
    const bool is_share = learn::is_share(*lesson::parse_expression(name));
    const TwoDigits digits(is_share ? 100 * *now : *now);
    const std::string bound = digits.written(digits.next()), more = bound + (is_share ? " %" : ""),
                      number = "{" + name + ":" + (is_share ? "%" : digits.decimals(2)) + "}";
    insert("\nChange something, until `" + name + "` is more than " + more + ".\n\n```check\n" + name +
               " > " + bound + (is_share ? "%" : "") + " | It is " + number + " so far. | It is " + number +
               " now.\n```\n",
           "Change something");
}

// A question for the number, which is right at its two digits.
void LessonWriter::add_question(const std::string& name) {
    const auto now = value_of(name);
    if (!now) return;
    const TwoDigits digits(*now);
    insert("\n```ask\nWhat is `" + name + "`, to two digits?\nnumber\nanswer: " + name + " ± " +
           digits.written(digits.unit()) + "\n```\n");
}

std::string LessonWriter::file_name() const {
    std::string name;
    for (const char c : checked_ && checked_->lesson ? checked_->lesson->title : std::string("lesson")) {
        const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9'))
            name += small;
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    while (name.ends_with('-')) name.pop_back();
    return name.empty() ? "lesson" : name;
}

void LessonWriter::check() {
    if (checked_ && checked_->text == text_) return;
    checked_.emplace(Checked{text_, {}, {}});
    auto read = lesson::parse_lesson(std::as_bytes(std::span(text_)));
    if (!read) {
        checked_->found = {lesson::finding_of(read.error())};
    } else {
        checked_->lesson = *std::move(read);
        checked_->found = validated(*checked_->lesson);
    }
}

// Lists what is wrong; a press on it leads to its line.
void LessonWriter::draw_findings() {
    constexpr std::size_t most = 3;
    const auto& found = checked_->found;
    if (found.empty()) {
        ui::caption("The text is a lesson. “Try it” opens the step of the caret and runs its checks.");
        ui::landmark_item("lesson/write/fine");
    }
    for (std::size_t i = 0; i < std::min(found.size(), most); ++i) {
        const std::string key = "lesson/write/fault/" + std::to_string(i);
        const float width = ImGui::GetContentRegionAvail().x;
        const std::string said = "line " + std::to_string(found[i].line) +
                                 beginning_of_line(text_, found[i].line) + ": " + found[i].sentence + ".",
                          text = ui::wrapped(said, width);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        if (ImGui::InvisibleButton(key.c_str(), {width, ui::text_size(text).y + 2},
                                   ImGuiButtonFlags_EnableNav))
            select_line(found[i].line);
        const bool lit = ImGui::IsItemHovered() || ImGui::IsItemFocused();
        ui::landmark_item(key);
        ui::semantic_item(ui::Role::button, key, said);
        ui::draw_text(ImGui::GetWindowDrawList(), at, lit ? ui::theme().accent : ui::theme().error, text);
    }
    if (found.size() > most) ui::caption(("… and " + std::to_string(found.size() - most) + " more.").c_str());
}

void LessonWriter::draw_buttons() {
    const Attention* attention = subject_in(visit_).attention();
    const auto& pin = visit_.state().pin;
    const std::string name = attention && pin ? name_of(*attention, *pin) : "";
    const Status pinned = name.empty() ? Status(Error{"Click a number of the page first."}) : ok();
    const std::string_view kind = kind_of_next_link();
    const char* add = kind == "view"       ? "Add this view"
                      : kind == "solution" ? "Add as solution"
                                           : "Add as wrong";
    if (ui::button("lesson/write/view", add, {"Add this view", "Add as solution", "Add as wrong"}))
        add_link();
    if (ui::next_button("Check the number"), ui::button("lesson/write/check", "Check the number", pinned))
        add_check(name);
    if (ui::next_button("Ask for it"), ui::button("lesson/write/ask", "Ask for it", pinned))
        add_question(name);
    if (ui::next_button("Add a step"), ui::button("lesson/write/step", "Add a step")) add_step();
    const Status possible = checked_->lesson ? ok() : Status(Error{"Mend first what is said below."});
    if (ui::next_button("Try it"), ui::button("lesson/write/try", "Try it", possible)) {
        open_ = false;
        run_.open(visit_, {.name = {}, .text = text_, .step = static_cast<Index>(step_at_caret().number)});
    }
    const Status carried =
        !fits_into_a_link(text_)
            ? Status(Error{"A link carries up to 32,000 characters: save the file instead."})
            : possible;
    if (ui::next_button("Copy link"), ui::button("lesson/write/link", "Copy link", carried)) copy_link();
    if (ui::next_button("Save"), ui::button("lesson/write/save", "Save"))
        visit_.save(file_name() + ".md", text_);
    if (ui::next_button("Save to print"), ui::button("lesson/write/print", "Save to print", possible))
        visit_.save(file_name() + ".html", printed(*checked_->lesson));
    if (ui::next_button("Close"), ui::button("lesson/write/close", "Close")) close();
}

// Other texts to start from; the one before comes back by a button.
void LessonWriter::draw_texts() {
    if (offered_) {
        const std::string label = "Start from " + curly_quoted(offered_->title);
        if (ui::next_button(label), ui::button("lesson/write/take", label.c_str())) {
            replace(offered_->text);
            offered_.reset();
        }
    }
    if (text_ != beginning)
        if (ui::next_button("New lesson"), ui::button("lesson/write/new", "New lesson")) replace(beginning);
    if (!replaced_.empty() && replaced_ != text_)
        if (ui::next_button("Back to the text before"),
            ui::button("lesson/write/before", "Back to the text before"))
            replace(std::move(replaced_));
}

void LessonWriter::draw() {
    ui::heading("Write a lesson");
    check();
    draw_buttons();
    draw_texts();
    const float room = ImGui::GetContentRegionAvail().y - findings_height_;
    {
        const ui::Type mono(ui::Face::mono, ui::size_body);
        const float frame = 2 * ImGui::GetStyle().FramePadding.y;
        const int lines = std::max(8, static_cast<int>((room - frame) / ImGui::GetTextLineHeight()));
        const ui::Typed typed =
            ui::text_area("lesson/write/text", "The text of the lesson", text_, lesson::most_lesson_bytes,
                          ImGui::GetContentRegionAvail().x, lines, std::exchange(select_, std::nullopt));
        if (typed.caret) caret_ = typed.caret;
        if (typed.changed) visit_.page().remember("lesson-draft", text_);
    }
    const float begin = ImGui::GetCursorPosY();
    draw_findings();
    const float height = ImGui::GetCursorPosY() - begin + ImGui::GetStyle().ItemSpacing.y;
    if (std::exchange(findings_height_, height) != height) visit_.continue_at(now_ms());
}

}  // namespace attn::app::learn
