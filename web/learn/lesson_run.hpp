// Runs a lesson over a visit: opens its views, evaluates its checks whenever the page's numbers change,
// counts tries, and remembers how far the user is. The State says which lesson is open and at which step.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/lesson_state.hpp"
#include "app/visit.hpp"
#include "learn/numbers.hpp"
#include "lesson/lesson.hpp"

namespace attn::app::learn {

// What a check says now.
struct CheckNow {
    bool holds = false;
    std::optional<lesson::Measured> measured = {};
    std::string about = {};    // what is measured, in words
    std::string said = {};     // the check's sentence, or what is seen once it holds
    std::string missing = {};  // why it cannot be evaluated yet
    bool is_unsaid = false;    // a number of its sentence is not there yet
};

// How a question was answered.
struct AnswerNow {
    std::string given;                  // the choice, or the number as typed
    std::optional<std::size_t> choice;  // its index
    bool is_right = false;
    std::string missing = {};  // why it cannot be told
};

struct StepProgress {
    bool passed = false;
    std::size_t tries = 0;   // changes that were left standing, and wrong answers
    std::size_t hints = 0;   // shown so far
    bool solved = false;     // the solution was shown
    std::string fault = {};  // what its author has to mend: it passes at the start, or the solution fails
    std::vector<std::optional<AnswerNow>> answers = {};
    std::vector<std::string> seen = {};  // what the checks said when the step was passed
};

// Returns the link for a step of this lesson.
std::string link_within(std::string link, const LessonState& lesson);

class LessonRun {
  public:
    // ---- Which lesson -------------------------------------------------------------------------------------
    // Opens a lesson of the site, or one's text, at the step where it was left.
    void open(Visit& visit, const LessonState& lesson);
    void close(Visit& visit);
    // The site has sent a lesson, or says why not.
    void arrived(Visit& visit, const std::string& name, const std::string& text);
    void failed(const std::string& name, const std::string& why);
    bool waits_for(const std::string& name) const { return awaited_ == name; }

    // Call once a frame: follows the State, requests what it names, and evaluates. `moment` is now_ms().
    void update(Visit& visit, double moment);
    bool is_open(const Visit& visit) const { return lesson_of(visit.state()).is_open(); }
    const lesson::Lesson* lesson() const { return lesson_ ? &*lesson_ : nullptr; }
    const std::string& fault() const { return fault_; }  // why there is none
    const std::string& title() const;

    // ---- The step -----------------------------------------------------------------------------------------
    std::size_t step(const Visit& visit) const;
    const lesson::Step* shown(const Visit& visit) const;
    StepProgress& progress(const Visit& visit) { return steps_[step(visit)]; }
    const std::vector<StepProgress>& all_progress() const { return steps_; }
    const std::vector<CheckNow>& checks() const { return checks_; }
    bool may_go_on(const Visit& visit) const;  // passed, or there is nothing to pass
    void go_to(Visit& visit, std::size_t step);
    void restart(Visit& visit);  // opens the step's view again
    void show_solution(Visit& visit);
    void answer(Visit& visit, std::size_t ask, std::string given, std::optional<std::size_t> choice);
    void show_hint(const Visit& visit);
    lesson::Lookup numbers(Visit& visit) const { return numbers_of(visit, so_far_); }

    // ---- What is kept -------------------------------------------------------------------------------------
    // Lists how far each lesson was taken, as "one-token-back 2 5": the step, and how many were passed.
    struct Kept {
        std::size_t step = 0, passed = 0;
        bool done = false;
        bool was_done = false;  // before this visit
    };
    const std::map<std::string, Kept, std::less<>>& kept() const { return kept_; }
    void recall(const std::string& text);

  private:
    void load(Visit& visit, const std::string& text);
    void enter(Visit& visit, bool opens_view);
    State start_of(const Visit& visit, std::size_t step) const;
    void evaluate(Visit& visit, double moment);
    bool is_settled(Visit& visit, double moment) const;
    void judge(Visit& visit, std::size_t ask);
    void count_try(Visit& visit, double moment);
    void pass(Visit& visit);
    void remember(Visit& visit);

    LessonState loaded_for_;  // without the step
    std::optional<lesson::Lesson> lesson_;
    std::string awaited_, fault_;
    std::vector<StepProgress> steps_ = {StepProgress{}};
    std::vector<CheckNow> checks_;
    StepSoFar so_far_;
    std::optional<std::size_t> entered_;  // the step that so_far_ belongs to
    struct Evaluated {
        std::uint64_t changes = 0, slices = 0;
        bool operator==(const Evaluated&) const = default;
    };
    std::optional<Evaluated> evaluated_;
    double evaluated_at_ = 0, changed_at_ = 0;  // ms
    int polls_ = 0;                             // evaluations since the last change, without a sign of more
    std::uint64_t changes_seen_ = 0, counted_changes_ = 0;  // changes of the visit
    bool counts_ = false;                                   // a change waits to be counted as a try
    bool opens_view_ = false;                               // once the lesson has arrived
    std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace attn::app::learn
