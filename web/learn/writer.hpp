// Draws the editor of a lesson beside the page: its text, what is wrong with it, and buttons that add steps,
// the view, and the number on screen.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/visit.hpp"
#include "learn/lesson_run.hpp"
#include "lesson/validate.hpp"
#include "widgets/page_field.hpp"

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
    struct StepText {
        std::size_t number = 0, begin = 0, end = 0;  // the step counts from 0; bytes of the text
    };
    StepText step_at_caret() const;
    std::string_view kind_of_next_link() const;
    void check();
    void draw_buttons();
    void draw_texts();
    void draw_findings();
    void add_step();
    void add_link();
    void copy_link();
    void add_check(const std::string& name);
    void add_question(const std::string& name);
    std::optional<double> value_of(const std::string& name);
    void insert(const std::string& lines, std::string_view phrase = {});
    void select(std::size_t begin, std::size_t end);  // in bytes
    void select_line(std::size_t number);             // counted from 1
    void replace(std::string text);
    std::string file_name() const;

    Visit& visit_;
    LessonRun& run_;
    bool open_ = false;
    std::string text_, replaced_;       // the draft, and the one before it
    std::optional<std::size_t> caret_;  // in bytes
    std::optional<ui::TextRange> select_;
    float findings_height_ = 0;  // when they were drawn last
    struct Offered {
        std::string title, text;
    };
    std::optional<Offered> offered_;
    struct Checked {
        std::string text;
        std::optional<lesson::Lesson> lesson;
        std::vector<lesson::Finding> found;
    };
    std::optional<Checked> checked_;
};

}  // namespace attn::app::learn
