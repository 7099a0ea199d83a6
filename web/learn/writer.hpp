// Draws the editor of a lesson beside the page: its text, what is wrong with it, and buttons that add the
// view and the number on screen.
#pragma once

#include <optional>
#include <string>

#include "app/visit.hpp"
#include "learn/lesson_run.hpp"

namespace attn::app::learn {

class LessonWriter {
  public:
    explicit LessonWriter(Visit& visit);

    bool is_open() const { return open_; }
    void open();  // with the text of the open lesson or, if there is none, with the draft
    void close() { open_ = false; }
    void recall(const std::string& draft) { text_ = draft; }
    const std::string& text() const { return text_; }

    void draw();  // at the cursor

  private:
    void draw_buttons();
    void draw_findings();
    void insert(const std::string& text);
    std::string file_name() const;

    Visit& visit_;
    LessonRun& run_;
    bool open_ = false;
    std::string text_;
    std::optional<std::size_t> caret_;  // in bytes
    struct Checked {
        std::string text, said;
        std::optional<lesson::Lesson> lesson;
    };
    std::optional<Checked> checked_;
};

}  // namespace attn::app::learn
