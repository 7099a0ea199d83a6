// Draws the panel of a lesson, where the inspector stands: its prose, the checks with their live numbers,
// questions, hints, and the buttons to go on. Without an open lesson, it lists all of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/drawing.hpp"
#include "learn/lesson_run.hpp"
#include "learn/library.hpp"
#include "learn/prose_view.hpp"
#include "learn/writer.hpp"
#include "widgets/layout.hpp"

namespace attn::app::learn {

class LessonPanel {
  public:
    explicit LessonPanel(Visit& visit);

    LessonRun& run() { return run_; }
    Library& library() { return library_; }
    LessonWriter& writer() { return writer_; }
    bool is_open() const { return lists_ || writer_.is_open() || run_.is_open(visit_); }
    void show_list(bool on) { lists_ = on; }
    void write();  // opens the editor
    bool lists() const { return lists_; }
    void open(std::string_view name);
    void open_text(const std::string& text);  // a whole lesson
    void greet();                             // opens the lesson for newcomers, unless another one is open
    void update();

    // Only the title and the checks are shown, in a sheet that is folded down.
    bool is_brief() const { return brief_ && ui::narrow_window(); }
    float height() const;             // the height of a whole step, as it was drawn last
    bool shows_step() const;          // and not a list, the editor, or why there is none
    void draw(const Hover& pointed);  // at the cursor; the prose is about the pointed query, if there is one
    // Points at what the step is about, unless the cursor is over something else.
    void point(Hover& hover) const;

  private:
    void draw_head();
    void draw_step();
    void draw_content(const lesson::Step& step);
    void draw_checks(const lesson::Step& step);
    void draw_check(const lesson::Check& check, const CheckNow& now, std::size_t number);
    void draw_asks(const lesson::Step& step);
    void draw_ask(const lesson::Step& step, std::size_t number);
    void draw_hints(const lesson::Step& step);
    void draw_done(const lesson::Step& step);
    void draw_buttons(const lesson::Step& step);
    void draw_paragraphs(const std::vector<lesson::Block>& blocks);
    void draw_text(const std::string& text);
    void draw_list();
    void draw_languages();
    std::string number_text(const lesson::Part& part);
    void finish();
    void tell_next();

    Visit& visit_;
    LessonRun& run_;
    Library& library_;
    LessonWriter writer_;
    bool lists_ = false;
    bool brief_ = false;                          // on a phone, only the title and the checks are shown
    std::map<std::string, std::string> numbers_;  // in the prose, by their expressions
    struct NumbersOf {
        std::uint64_t changes = 0, slices = 0;
        std::optional<Index> query;  // the pointed one
        bool operator==(const NumbersOf&) const = default;
    } numbers_of_;
    std::optional<Index> pointed_query_;
    std::map<std::string, std::vector<lesson::Inline>> prose_;  // the paragraphs, by their text
    std::map<std::size_t, std::string> typed_;                  // answers in fields, by their questions
    std::size_t drawn_step_ = 0;
    float content_height_ = 0;  // the height of the step; 0: not drawn yet
    std::size_t drawn_hints_ = 0;
    bool scrolls_up_ = false;  // a new step begins at its top
};

}  // namespace attn::app::learn
