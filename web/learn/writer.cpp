#include "learn/writer.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/lesson_state.hpp"
#include "app/link.hpp"
#include "learn/naming.hpp"
#include "learn/printed.hpp"
#include "learn/replay.hpp"
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
constexpr std::string_view fence = "```";

std::string_view kind_of_next_link(std::string_view step) {
    return step.find("\n```view\n") == step.npos       ? "view"
           : step.find("\n```solution\n") == step.npos ? "solution"
                                                       : "wrong";
}

// The next number above with two digits, written.
std::string next_of_two_digits(double value) {
    const double power = value == 0 ? -1 : std::floor(std::log10(std::abs(value))) - 1,
                 unit = std::pow(10, power);
    return rounded((std::floor(value / unit + 1e-9) + 1) * unit, std::max(0, static_cast<int>(-power)));
}

// The beginning of a line, which says more than its number.
std::string beginning_of_line(std::string_view text, std::size_t line) {
    constexpr float room = 150;
    for (std::size_t i = 1; i < line && !text.empty(); ++i)
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    text = text.substr(0, text.find('\n'));
    return text.empty() ? "" : " (" + ui::shortened(text, room) + ")";
}

}  // namespace

LessonWriter::LessonWriter(Visit& visit) : visit_(visit), run_(visit.shared<LessonRun>()) {}

void LessonWriter::open() {
    open_ = true;
    offered_.reset();
    if (text_.empty()) text_ = beginning;
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

// Inserts lines after the line of the caret, or else at the end, but not between the lines of a fence.
void LessonWriter::insert(const std::string& text) {
    std::size_t at = std::min(caret_.value_or(text_.size()), text_.size());
    at = std::min(text_.find('\n', at), text_.size());
    bool in_fence = false;
    for (std::size_t line = 0; line < text_.size();) {
        if (text_.compare(line, fence.size(), fence) == 0) in_fence = !in_fence;
        const std::size_t end = std::min(text_.find('\n', line), text_.size());
        if (end >= at && !in_fence) {
            at = end;
            break;
        }
        line = end + 1;
    }
    std::string lines = text;
    if (at > 0 && text_[at - 1] != '\n') lines = "\n" + lines;
    text_.insert(at, lines);
    caret_ = at + lines.size();
    reveals_ = 2;  // the field knows its new height in the second
    visit_.page().remember("lesson-draft", text_);
}

// The step that the caret stands in, from its heading to the next.
std::string_view LessonWriter::step_at_caret() const {
    constexpr std::string_view heading = "\n## ";
    const std::size_t at = std::min(caret_.value_or(text_.size()), text_.size());
    const std::size_t begin = text_.rfind(heading, at);
    if (begin == std::string::npos) return {};
    return std::string_view(text_).substr(begin, text_.find(heading, begin + 1) - begin);
}

// A step has one view; a link that is added after it is its solution, and further ones are wrong attempts.
void LessonWriter::add_link() {
    const std::string link = to_fragment(visit_.state());
    const std::string_view kind = kind_of_next_link(step_at_caret());
    insert("\n" + std::string(fence).append(kind) + "\n" + (link.empty() ? "v=1" : link) + "\n" +
           (kind == "wrong" ? "fails: 1\n" : "") + std::string(fence) + "\n");
}

// A check that asks for a bit more than the number is now.
void LessonWriter::add_check(const std::string& name) {
    const auto expression = lesson::parse_expression(name);
    const auto outcome = expression ? lesson::evaluate(*expression, run_.numbers(visit_))
                                    : Result<lesson::Outcome>(expression.error());
    const double* now = outcome ? std::get_if<double>(&outcome->value) : nullptr;
    if (!now || !std::isfinite(*now))
        return visit_.report_error(outcome ? Error{"Only a number can be checked so."} : outcome.error());
    const std::string bound = next_of_two_digits(*now);
    const std::size_t point = std::min(bound.find('.'), bound.size() - 1),
                      decimals = bound.size() - point - 1;
    const std::string number =
        "{" + name + ":" + std::to_string(std::clamp<std::size_t>(decimals, 2, 6)) + "}";
    insert("\nChange something, until `" + name + "` is more than " + bound + ".\n\n```check\n" + name +
           " > " + bound + " | It is " + number + "; it should be more than " + bound + ". | It is " +
           number + " now.\n```\n");
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

void LessonWriter::draw_findings() {
    if (!checked_ || checked_->text != text_) {
        checked_.emplace(Checked{text_, {}, {}});
        auto read = lesson::parse_lesson(std::as_bytes(std::span(text_)));
        if (!read) {
            checked_->said = read.error().message + ".";
        } else {
            checked_->lesson = *std::move(read);
            const auto found = validated(*checked_->lesson);
            for (const lesson::Finding& each : std::span(found).first(std::min<std::size_t>(found.size(), 3)))
                checked_->said += (checked_->said.empty() ? "" : "\n") +
                                  ("line " + std::to_string(each.line)) +
                                  beginning_of_line(text_, each.line) + ": " + each.sentence + ".";
            if (found.size() > 3) checked_->said += "\n… and " + std::to_string(found.size() - 3) + " more.";
        }
    }
    if (checked_->said.empty()) {
        ui::caption("The text is a lesson. “Try it” opens it and runs its checks.");
        ui::landmark_item("lesson/write/fine");
    } else {
        ui::fault("lesson/write/fault", checked_->said);
    }
}

void LessonWriter::draw_buttons() {
    const Attention* attention = subject_in(visit_).attention();
    const auto& pin = visit_.state().pin;
    const std::string name = attention && pin ? name_of(*attention, *pin) : "";
    const std::string_view kind = kind_of_next_link(step_at_caret());
    if (ui::button("lesson/write/view", kind == "view"       ? "Add this view"
                                        : kind == "solution" ? "Add as solution"
                                                             : "Add as wrong"))
        add_link();
    if (ui::next_button("Add the pinned number"),
        ui::button("lesson/write/number", "Add the pinned number",
                   name.empty() ? Status(Error{"Click a number of the page first."}) : ok()))
        add_check(name);
    const bool is_lesson = checked_ && checked_->lesson;
    const Status possible = is_lesson ? ok() : Status(Error{"Mend first what is said above."});
    if (ui::next_button("Try it"), ui::button("lesson/write/try", "Try it", possible)) {
        open_ = false;
        run_.open(visit_, {.name = {}, .text = text_});
    }
    if (ui::next_button("Save"), ui::button("lesson/write/save", "Save"))
        visit_.save(file_name() + ".md", text_);
    if (ui::next_button("Print"), ui::button("lesson/write/print", "Save to print", possible))
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
    draw_findings();
    draw_buttons();
    draw_texts();
    const ui::Type mono(ui::Face::mono, ui::size_body);
    const float room = ImGui::GetContentRegionAvail().y - 2 * ImGui::GetStyle().FramePadding.y;
    const int lines = std::max(8, static_cast<int>(room / ImGui::GetTextLineHeight()));
    if (reveals_ > 0) {
        --reveals_;
        visit_.continue_at(now_ms());
        const auto line = std::ranges::count(text_.substr(0, *caret_), '\n');
        const float top = ImGui::GetTextLineHeight() * static_cast<float>(line + 2 - lines);
        ImGui::SetNextWindowScroll({0, std::max(top, 0.0F)});
    }
    const ui::Typed typed = ui::text_area("lesson/write/text", "The text of the lesson", text_,
                                          lesson::most_lesson_bytes, ImGui::GetContentRegionAvail().x, lines);
    if (typed.caret) caret_ = typed.caret;
    if (typed.changed) visit_.page().remember("lesson-draft", text_);
}

}  // namespace attn::app::learn
