#include "learn/writer.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "app/link.hpp"
#include "learn/naming.hpp"
#include "learn/printed.hpp"
#include "learn/replay.hpp"
#include "subjects/subject.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::learn {

namespace {

constexpr const char* beginning =
    "---\ntitle: My lesson\nneeds: example\nminutes: 5\n---\n\nWhat this lesson is about, in a sentence or "
    "two.\n\n"
    "## What to do first\n\nSay what to change, and what to reach.\n";

}  // namespace

LessonWriter::LessonWriter(Visit& visit) : visit_(visit), run_(visit.shared<LessonRun>()) {}

void LessonWriter::open() {
    open_ = true;
    if (const lesson::Lesson* shown = run_.lesson(); shown && run_.is_open(visit_)) {
        text_ = lesson::write_lesson(*shown);
        run_.close(visit_);
    } else if (text_.empty()) {
        text_ = beginning;
    }
}

// Inserts lines where the caret is or was last, or else at the end.
void LessonWriter::insert(const std::string& text) {
    std::size_t at = std::min(caret_.value_or(text_.size()), text_.size());
    at = std::min(text_.find('\n', at), text_.size());
    std::string lines = text;
    if (at > 0 && text_[at - 1] != '\n') lines = "\n" + lines;
    text_.insert(at, lines);
    caret_ = at + lines.size();
    visit_.page().remember("lesson-draft", text_);
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
                                  ("line " + std::to_string(each.line)) + ": " + each.sentence + ".";
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
    if (ui::button("lesson/write/view", "Add this view")) {
        const std::string link = to_fragment(visit_.state());
        insert("\n```view\n" + (link.empty() ? "v=1" : link) + "\n```\n");
    }
    if (ui::next_button("Add the pinned number"),
        ui::button("lesson/write/number", "Add the pinned number",
                   name.empty() ? Status(Error{"Click a number of the page first."}) : ok()))
        insert("\n```check\n" + name + " > 0 | It is {" + name + ":2}. | It is {" + name + ":2} now.\n```\n");
    const bool is_lesson = checked_ && checked_->lesson;
    const Status possible = is_lesson ? ok() : Status(Error{"Mend what is said below first."});
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

void LessonWriter::draw() {
    ui::heading("Write a lesson");
    draw_findings();
    draw_buttons();
    const float height = ImGui::GetContentRegionAvail().y;
    const ui::Type mono(ui::Face::mono, ui::size_small);
    const int lines = std::max(8, static_cast<int>((height - 20) / ImGui::GetTextLineHeight()));
    const ui::Typed typed = ui::text_area("lesson/write/text", "The text of the lesson", text_,
                                          lesson::most_lesson_bytes, ImGui::GetContentRegionAvail().x, lines);
    if (typed.caret) caret_ = typed.caret;
    if (typed.changed) visit_.page().remember("lesson-draft", text_);
}

}  // namespace attn::app::learn
