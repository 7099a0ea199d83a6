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
    void open();  // with the draft; offers the text of a lesson that is open
    void close() { open_ = false; }
    void recall(const std::string& draft) { text_ = draft; }
    const std::string& text() const { return text_; }
    // Says whether the open lesson is the draft, which its author tries.
    bool is_tried() const;

    void draw();  // at the cursor

  private:
    void draw_buttons();
    void draw_texts();
    void draw_findings();
    void add_link();
    void add_check(const std::string& name);
    void insert(const std::string& text);
    void replace(std::string text);
    std::string_view step_at_caret() const;
    std::string file_name() const;

    Visit& visit_;
    LessonRun& run_;
    bool open_ = false;
    std::string text_, replaced_;       // the draft, and the one before it
    std::optional<std::size_t> caret_;  // in bytes
    int reveals_ = 0;                   // frames in which the caret's line is scrolled to
    struct Offered {
        std::string title, text;
    };
    std::optional<Offered> offered_;
    struct Checked {
        std::string text, said;
        std::optional<lesson::Lesson> lesson;
    };
    std::optional<Checked> checked_;
};

}  // namespace attn::app::learn
