#include "learn/lesson_run.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "app/link.hpp"
#include "app/link_text.hpp"
#include "learn/wording.hpp"
#include "lenses/lens.hpp"
#include "subjects/subject.hpp"

namespace attn::app::learn {

namespace {

constexpr double evaluation_ms = 200;  // between evaluations while something is computed
constexpr double rest_ms = 2000;       // a change that stands so long is a try
constexpr int most_polls = 25;         // five seconds

// Opens what a link describes, but stays in the lesson.
void open_link(Visit& visit, const std::string& link, const LessonState& lesson) {
    visit.follow_link(link_within(link, lesson),
                      "step " + std::to_string(lesson.step + 1) + " of the lesson");
}

void lock_step(Visit& visit, const lesson::Step& step) {
    if (step.view)
        visit.lock(step.view->locks,
                   "is locked in this step of the lesson. Skip the step or close the lesson to change it.");
}

// What a check compares: the title of a lens's number, as its explanation has it.
std::string measured_in_words(Visit& visit, const lesson::Expression& expression) {
    Subject& subject = subject_in(visit);
    const Attention* attention = subject.attention();
    if (attention)
        if (const auto cell = lens_number_in(*attention, expression))
            if (const auto why = lens_in(visit).explain(subject, {subject.chosen_head(), *cell}))
                return why->title;
    return in_words(expression, attention);
}

// Reads "0.25", "0,25" and "25 %".
std::optional<double> read_answer(std::string text) {
    const bool is_percent = text.ends_with('%');
    if (is_percent) text.pop_back();
    while (text.ends_with(' ')) text.pop_back();
    const auto number = read_typed_number(std::move(text));
    return number && is_percent ? std::optional(*number / 100) : number;
}

// A model that is open stays open, so it does not count.
bool names_only_a_lesson(const State& state) {
    return std::ranges::all_of(link_values(state), [](const auto& row) {
        return row.first == "model" || row.first == "lesson" || row.first.starts_with("lesson.");
    });
}

}  // namespace

std::string link_within(std::string link, const LessonState& lesson) {
    if (!lesson.name.empty()) link += "&lesson=" + lesson.name;
    if (lesson.step > 0) link += "&lesson.step=" + std::to_string(lesson.step);
    if (!lesson.text.empty()) link += "&lesson.text~=" + pack(lesson.text);
    return link;
}

// ---- Which lesson -----------------------------------------------------------------------------------------

void LessonRun::open(Visit& visit, const LessonState& lesson) {
    LessonState wanted = lesson;
    if (const auto kept = kept_.find(lesson.name); kept != kept_.end() && !kept->second.done)
        wanted.step = static_cast<Index>(kept->second.step);
    loaded_for_ = {};  // loads it anew, and opens its view
    lesson_.reset();
    entered_.reset();
    visit.perform(OpenLesson{wanted});
    opens_view_ = true;
}

void LessonRun::close(Visit& visit) {
    visit.perform(CloseLesson{});
    visit.lock({}, "");
}

void LessonRun::arrived(Visit& visit, const std::string& name, const std::string& text) {
    if (awaited_ != name) return;
    awaited_.clear();
    load(visit, text);
}

void LessonRun::failed(const std::string& name, const std::string& why) {
    if (awaited_ != name) return;
    awaited_.clear();
    fault_ = why;
}

const std::string& LessonRun::title() const {
    static const std::string none;
    return lesson_ ? lesson_->title : none;
}

void LessonRun::load(Visit& visit, const std::string& text) {
    auto read = lesson::parse_lesson(std::as_bytes(std::span(text)));
    lesson_.reset();
    fault_.clear();
    if (!read) {
        fault_ = "The lesson cannot be read: " + read.error().message + ".";
        return;
    }
    lesson_ = *std::move(read);
    steps_.assign(lesson_->steps.size(), {});
    for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i].answers.resize(lesson_->steps[i].asks.size());
    if (const auto kept = kept_.find(loaded_for_.name); kept != kept_.end())
        for (std::size_t i = 0; i < std::min(steps_.size(), kept->second.passed); ++i)
            steps_[i].passed = true;
    entered_.reset();
    enter(visit, std::exchange(opens_view_, false) || names_only_a_lesson(visit.state()));
}

void LessonRun::update(Visit& visit, double moment) {
    const LessonState& now = lesson_of(visit.state());
    LessonState wanted = now;
    wanted.step = 0;
    if (wanted != loaded_for_) {
        loaded_for_ = wanted;
        lesson_.reset();
        fault_.clear();
        awaited_.clear();
        entered_.reset();
        visit.lock({}, "");
        if (!wanted.text.empty()) {
            load(visit, wanted.text);
        } else if (!wanted.name.empty()) {
            awaited_ = wanted.name;
            visit.page().fetch_lesson(wanted.name);
        }
    }
    if (!lesson_) return;
    // Undo or a link may have led to another step.
    if (entered_ != step(visit)) enter(visit, false);
    note_seen(visit.state(), so_far_.seen);
    const Evaluated key{visit.changes(), visit.slices()};
    if (changes_seen_ != key.changes) {
        changes_seen_ = key.changes;
        polls_ = 0;
        changed_at_ = moment;
    }
    const bool changed = !evaluated_ || evaluated_->changes != key.changes;
    // A number may be on its way although nothing tells when it arrives.
    const auto waits = [](const std::optional<AnswerNow>& answer) {
        return answer && !answer->missing.empty();
    };
    const bool polls =
        polls_ < most_polls &&
        (std::ranges::any_of(
             checks_, [](const CheckNow& check) { return check.is_unsaid || !check.missing.empty(); }) ||
         std::ranges::any_of(progress(visit).answers, waits));
    if (changed || ((polls || evaluated_ != key) && moment >= evaluated_at_ + evaluation_ms)) {
        polls_ += evaluated_ == key;
        evaluated_ = key;
        evaluated_at_ = moment;
        evaluate(visit, moment);
    }
    if (polls || evaluated_ != key) visit.continue_at(evaluated_at_ + evaluation_ms);
    count_try(visit, moment);
}

// ---- The step ---------------------------------------------------------------------------------------------

std::size_t LessonRun::step(const Visit& visit) const {
    const auto wanted = static_cast<std::size_t>(lesson_of(visit.state()).step);
    return lesson_ ? std::min(wanted, lesson_->steps.size() - 1) : 0;
}

const lesson::Step* LessonRun::shown(const Visit& visit) const {
    return lesson_ ? &lesson_->steps[step(visit)] : nullptr;
}

// The State that a step begins with: its own view's or, without one, the last before.
State LessonRun::start_of(const Visit& visit, std::size_t step) const {
    for (std::size_t i = step + 1; i-- > 0;)
        if (const auto& view = lesson_->steps[i].view) return parse_fragment(view->link).state;
    return visit.state();
}

void LessonRun::enter(Visit& visit, bool opens_view) {
    const std::size_t now = step(visit);
    const lesson::Step& step = lesson_->steps[now];
    entered_ = now;
    evaluated_.reset();
    checks_.assign(step.checks.size(), {});
    so_far_ = {step.view || now == 0 ? start_of(visit, now) : visit.state(), {}};
    visit.lock({}, "");
    if (opens_view && step.view) open_link(visit, step.view->link, lesson_of(visit.state()));
    lock_step(visit, step);
    counts_ = false;
    counted_changes_ = visit.changes();
    remember(visit);
}

void LessonRun::go_to(Visit& visit, std::size_t to) {
    if (!lesson_ || to >= lesson_->steps.size()) return;
    visit.lock({}, "");
    LessonState next = lesson_of(visit.state());
    next.step = static_cast<Index>(to);
    if (!lesson_->steps[to].view)
        visit.perform(ShowLessonStep{next.step});
    else
        open_link(visit, lesson_->steps[to].view->link, next);
    enter(visit, false);
}

void LessonRun::restart(Visit& visit) {
    progress(visit).fault.clear();
    visit.lock({}, "");
    enter(visit, true);
}

void LessonRun::show_solution(Visit& visit) {
    const lesson::Step* now = shown(visit);
    if (!now || !now->solution) return;
    progress(visit).solved = true;
    visit.lock({}, "");
    open_link(visit, now->solution->link, lesson_of(visit.state()));
    lock_step(visit, *now);
    counts_ = false;
    counted_changes_ = visit.changes();
}

void LessonRun::show_hint(const Visit& visit) {
    const lesson::Step* now = shown(visit);
    if (now) progress(visit).hints = std::min(progress(visit).hints + 1, now->hints.size());
}

void LessonRun::answer(Visit& visit, std::size_t ask, std::string given, std::optional<std::size_t> choice) {
    const lesson::Step* now = shown(visit);
    if (!now || ask >= now->asks.size()) return;
    progress(visit).answers[ask] = AnswerNow{std::move(given), choice};
    judge(visit, ask);
    evaluated_.reset();
}

// Tells whether an answer is right, or why it cannot be told yet.
void LessonRun::judge(Visit& visit, std::size_t number) {
    const lesson::Ask& ask = shown(visit)->asks[number];
    AnswerNow& answer = *progress(visit).answers[number];
    const lesson::Lookup lookup = numbers(visit);
    answer.missing.clear();
    if (answer.choice) {
        const auto right = lesson::right_choice(ask, lookup);
        answer.is_right = right && *right == *answer.choice;
        if (!right) answer.missing = right.error().message;
    } else if (const auto typed = read_answer(answer.given)) {
        const auto right = lesson::is_right(ask, *typed, lookup);
        answer.is_right = right && *right;
        if (!right) answer.missing = right.error().message;
    } else {
        answer.missing = "Write a number, such as 0.25.";
    }
    if (!answer.is_right && answer.missing.empty()) ++progress(visit).tries;
}

// ---- Checks -----------------------------------------------------------------------------------------------

void LessonRun::evaluate(Visit& visit, double moment) {
    const lesson::Step& step = *shown(visit);
    const lesson::Lookup lookup = numbers(visit);
    bool all = !step.checks.empty() || !step.asks.empty();
    for (std::size_t i = 0; i < step.checks.size(); ++i) {
        const lesson::Check& check = step.checks[i];
        CheckNow& now = checks_[i];
        const auto outcome = lesson::evaluate(check.expression, lookup);
        if (!outcome) {
            now = {.missing = outcome.error().message};
            all = false;
            continue;
        }
        const bool* truth = std::get_if<bool>(&outcome->value);
        now = {.holds = truth && *truth, .measured = outcome->measured};
        if (now.measured) now.about = measured_in_words(visit, check.expression);
        const lesson::Sentence& said = now.holds ? check.seen : check.sentence;
        auto text = lesson::filled(said, lookup);
        now.is_unsaid = !text;
        if (text) now.said = *std::move(text);
        all = all && now.holds;
    }
    StepProgress& progress = this->progress(visit);
    for (std::size_t i = 0; i < progress.answers.size(); ++i) {
        if (progress.answers[i] && !progress.answers[i]->missing.empty()) judge(visit, i);
        all = all && progress.answers[i] && progress.answers[i]->is_right;
    }
    if (progress.passed) return;
    // Nothing but the step's view or its solution was opened since.
    const bool is_untouched = !step.checks.empty() && !counts_ && counted_changes_ == visit.changes();
    if (!all && !(is_untouched && progress.solved)) return;
    if (!is_settled(visit, moment)) return evaluated_.reset();
    if (!all) {
        const auto fails = std::ranges::find(checks_, false, &CheckNow::holds);
        if (fails != checks_.end() && fails->missing.empty())
            progress.fault = "The solution of this step fails at check " +
                             std::to_string(fails - checks_.begin() + 1) + ".";
        return;
    }
    if (is_untouched && !progress.solved && step.asks.empty())
        progress.fault = "This step passes before anything is done; let its view fail a check.";
    pass(visit);
}

// While a model has yet to read another text, the numbers are those of the text before.
bool LessonRun::is_settled(Visit& visit, double moment) const {
    constexpr double reading_ms = 400;
    Subject& subject = subject_in(visit);
    if (subject.text_model() == nullptr) return true;
    if (moment < changed_at_ + reading_ms) {
        visit.continue_at(changed_at_ + reading_ms);
        return false;
    }
    return !visit.progress() && !subject.awaits_model();
}

void LessonRun::pass(Visit& visit) {
    StepProgress& now = progress(visit);
    now.passed = true;
    now.seen.clear();
    for (const CheckNow& check : checks_)
        if (!check.said.empty()) now.seen.push_back(check.said);
    counts_ = false;
    visit.announce("Step " + std::to_string(step(visit) + 1) + " is done. " +
                   (now.seen.empty() ? "" : now.seen.front()));
    remember(visit);
}

// Counts a change after which a check still fails, once it has stood for a while.
void LessonRun::count_try(Visit& visit, double moment) {
    if (counted_changes_ != visit.changes()) {
        counted_changes_ = visit.changes();
        counts_ = true;
    }
    if (!counts_ || progress(visit).passed || checks_.empty()) return;
    if (moment < changed_at_ + rest_ms) {
        if (!visit.frame_is_due_later()) visit.continue_at(changed_at_ + rest_ms);
        return;
    }
    counts_ = false;
    StepProgress& now = progress(visit);
    constexpr std::size_t patience = 2;
    if (++now.tries % patience == 0) show_hint(visit);
}

bool LessonRun::may_go_on(const Visit& visit) const {
    const lesson::Step* now = shown(visit);
    return now && (steps_[step(visit)].passed || (now->checks.empty() && now->asks.empty()));
}

// ---- What is kept -----------------------------------------------------------------------------------------

void LessonRun::remember(Visit& visit) {
    const std::string& name = loaded_for_.name;
    if (name.empty() || !lesson_) return;
    const std::size_t now = step(visit);
    Kept& kept = kept_[name];
    kept.step = now;
    std::size_t passed = 0;
    while (passed < steps_.size() && steps_[passed].passed) ++passed;
    kept.passed = std::max(passed, std::min(now, steps_.size()));
    const bool reads_last = now + 1 == steps_.size() && may_go_on(visit);
    kept.done = kept.done || reads_last;
    std::string text;
    for (const auto& [of, how_far] : kept_)
        text += of + " " + std::to_string(how_far.step) + " " + std::to_string(how_far.passed) +
                (how_far.done ? " done" : "") + "\n";
    visit.page().remember("lessons", text);
}

void LessonRun::recall(const std::string& text) {
    for (const auto line : split(text, '\n')) {
        const auto parts = split(line, ' ');
        if (parts.size() < 3 || !is_lesson_name(parts[0])) continue;
        const auto step = read_integer<std::size_t>(parts[1]), passed = read_integer<std::size_t>(parts[2]);
        const bool is_done = parts.size() > 3 && parts[3] == "done";
        if (step && passed && *step < lesson::most_steps && *passed <= lesson::most_steps)
            kept_[std::string(parts[0])] = {*step, *passed, is_done, is_done};
    }
}

}  // namespace attn::app::learn
