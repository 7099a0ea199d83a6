#include "learn/replay.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "app/catalogue.hpp"
#include "app/clock.hpp"
#include "app/link.hpp"
#include "learn/numbers.hpp"
#include "lesson/prose.hpp"
#include "subjects/subject.hpp"

namespace attn::app::learn {

namespace {

constexpr double most_ms = 300'000, slice_ms = 40;

std::string without_full_stop(std::string sentence) {
    if (sentence.ends_with('.')) sentence.pop_back();
    return sentence;
}

std::string counted(std::string_view what, std::size_t number) {
    return std::string(what) + " " + std::to_string(number);
}

class Replay {
  public:
    Replay(const lesson::Lesson& lesson, Visit& visit, Surroundings& around)
        : lesson_(lesson), visit_(visit), around_(around) {}

    std::vector<lesson::Finding> run() {
        for (const lesson::Step& step : lesson_.steps) look_at(step);
        return std::move(found_);
    }

  private:
    using Names = std::set<std::string, std::less<>>;

    void add(lesson::Place line, const std::string& sentence) {
        lesson::Finding finding{line.number, sentence};
        if (std::ranges::find(found_, finding) == found_.end()) found_.push_back(std::move(finding));
    }

    // ---- Links ----------------------------------------------------------------------------------------
    void open(const std::string& link, lesson::Place line) {
        if (link == open_) return;
        open_ = link;
        const ParsedFragment parsed = parse_fragment(link);
        if (!parsed.note.empty()) add(line, parsed.note);
        if (lesson_.needs == "example" && subject_in(visit_, parsed.state.subject).learning())
            add(line, "this link shows a network in training; say needs: training");
        visit_.open_fragment(link);
        settle(line);
        for (const std::string& error : around_.take_errors()) add(line, error);
    }

    // Alternates frames and work until nothing happens in several frames.
    void settle(lesson::Place line, int still_frames = 2) {
        const double until = now_ms() + most_ms;
        for (int still = 0; still < still_frames;) {
            if (now_ms() > until) return add(line, "what this link shows is not computed after five minutes");
            around_.draw(visit_);
            subject_in(visit_).attention();  // is made when it is asked for
            const bool more = visit_.work(slice_ms), delivered = around_.deliver(visit_);
            const bool computes = visit_.busy() || visit_.progress() || visit_.frame_computes();
            still = more || delivered || computes ? 0 : still + 1;
        }
    }

    // ---- Checks ---------------------------------------------------------------------------------------
    std::optional<bool> holds(const lesson::Check& check, const lesson::Lookup& lookup) {
        const auto outcome = lesson::evaluate(check.expression, lookup);
        const bool* is_true = outcome ? std::get_if<bool>(&outcome->value) : nullptr;
        if (!outcome)
            add(check.line, "“" + lesson::to_text(check.expression) +
                                "” cannot be computed: " + without_full_stop(outcome.error().message));
        else if (!is_true)
            add(check.line, "“" + lesson::to_text(check.expression) + "” is neither true nor false");
        return is_true ? std::optional(*is_true) : std::nullopt;
    }

    std::string said(const lesson::Check& check, const lesson::Lookup& lookup, bool holds_now = false) {
        const auto sentence = lesson::filled(holds_now ? check.seen : check.sentence, lookup);
        if (!sentence)
            add(check.line, "a number in the sentence cannot be computed: " +
                                without_full_stop(sentence.error().message));
        return sentence ? ": " + *sentence : "";
    }

    // Returns the first check that is false, counted from 1; 0: all hold. One that cannot be computed counts
    // as false.
    std::size_t first_failing(const lesson::Step& step, const lesson::Lookup& lookup) {
        for (std::size_t i = 0; i < step.checks.size(); ++i)
            if (holds(step.checks[i], lookup) != true) return i + 1;
        return 0;
    }

    // Explanations begin computations in double precision, so everything is asked for twice.
    void ask_for_numbers(const lesson::Step& step, const lesson::Lookup& lookup, lesson::Place line) {
        for (const lesson::Check& check : step.checks) {
            (void)lesson::evaluate(check.expression, lookup);
            (void)lesson::filled(check.sentence, lookup);
            (void)lesson::filled(check.seen, lookup);
        }
        for (const lesson::Ask& ask : step.asks) (void)lesson::evaluate(ask.answer.expression, lookup);
        settle(line, 1);
    }

    // Fills in the numbers of a text.
    void look_at_text(const std::string& text, lesson::Place line, const lesson::Lookup& lookup) {
        const auto prose = lesson::parse_prose(text);
        if (!prose) return;  // validated() says why
        for (const lesson::Inline& each : *prose)
            if (const auto filled = lesson::filled(each.sentence, lookup); !filled)
                add(line,
                    "a number in the text cannot be computed: " + without_full_stop(filled.error().message));
    }

    void look_at_prose(const std::vector<lesson::Block>& blocks, const lesson::Lookup& lookup) {
        for (const lesson::Block& block : blocks)
            if (block.kind == lesson::Block::Kind::paragraph) look_at_text(block.text, block.line, lookup);
    }

    StepSoFar after(const StepSoFar& start) const {
        StepSoFar now = start;
        note_seen(visit_.state(), now.seen);
        return now;
    }

    // ---- Steps ----------------------------------------------------------------------------------------
    void look_at(const lesson::Step& step) {
        if (step.view) {
            reached_ = step.view->link;
            locks_ = step.view->locks;
        }
        const lesson::Place line = step.view ? step.view->line : step.line;
        if (reached_.empty()) {
            if (!step.checks.empty() || !step.asks.empty())
                add(line, "no view is open here; give this step one");
            return;
        }
        open(reached_, line);
        const StepSoFar start = after({visit_.state(), {}});
        look_at_start(step, start, line);
        for (const lesson::Wrong& wrong : step.wrongs) look_at_wrong(step, wrong, start);
        if (!step.solution) return;
        reached_ = step.solution->link;
        look_at_solution(step, start);
    }

    void look_at_start(const lesson::Step& step, const StepSoFar& start, lesson::Place line) {
        const lesson::Lookup lookup = numbers_of(visit_, start);
        ask_for_numbers(step, lookup, line);
        if (&step == &lesson_.steps.front()) look_at_prose(lesson_.introduction, lookup);
        look_at_prose(step.prose, lookup);
        for (const lesson::Hint& hint : step.hints) look_at_text(hint.text, hint.line, lookup);
        bool passes = !step.checks.empty();
        for (const lesson::Check& check : step.checks) {
            passes &= holds(check, lookup) == true;
            said(check, lookup);
        }
        if (passes) add(line, "the step passes before anything is done; let its view fail a check");
        for (const lesson::Ask& ask : step.asks) {
            look_at_text(ask.question, ask.line, lookup);
            std::optional<Error> error;
            if (ask.choices.empty()) {
                if (const auto right = lesson::is_right(ask, 0, lookup); !right) error = right.error();
            } else if (const auto right = lesson::right_choice(ask, lookup); !right) {
                error = right.error();
            }
            if (error)
                add(ask.line, "“" + lesson::to_text(ask.answer) +
                                  "” does not answer the question: " + without_full_stop(error->message));
        }
    }

    void look_at_wrong(const lesson::Step& step, const lesson::Wrong& wrong, const StepSoFar& start) {
        open(wrong.link, wrong.line);
        const StepSoFar now = after(start);
        const lesson::Lookup lookup = numbers_of(visit_, now);
        ask_for_numbers(step, lookup, wrong.line);
        const std::size_t fails = first_failing(step, lookup);
        if (fails == wrong.fails) {
            if (fails > 0) said(step.checks[fails - 1], lookup);
        } else if (fails == 0) {
            add(wrong.line,
                "this attempt passes all checks; it should fail at " + counted("check", wrong.fails));
        } else {
            add(wrong.line, "this attempt fails at " + counted("check", fails) + ", not at " +
                                counted("check", wrong.fails) +
                                without_full_stop(said(step.checks[fails - 1], lookup)));
        }
    }

    void look_at_solution(const lesson::Step& step, const StepSoFar& start) {
        const lesson::Solution& solution = *step.solution;
        open(solution.link, solution.line);
        const StepSoFar now = after(start);
        const lesson::Lookup lookup = numbers_of(visit_, now);
        ask_for_numbers(step, lookup, solution.line);
        for (std::size_t i = 0; i < step.checks.size(); ++i)
            if (holds(step.checks[i], lookup) == true)
                said(step.checks[i], lookup, true);
            else
                add(solution.line, "the solution fails at " + counted("check", i + 1) +
                                       without_full_stop(said(step.checks[i], lookup)));
        for (const std::string& name : locks_) {
            const auto same = unchanged(name, start.start, visit_.state());
            if (!same)
                add(solution.line,
                    "lock: “" + name + "” means nothing here: " + without_full_stop(same.error().message));
            else if (!*same)
                add(solution.line, "the solution changes “" + name + "”, which the view locks");
        }
    }

    const lesson::Lesson& lesson_;
    Visit& visit_;
    Surroundings& around_;
    std::string open_;                // the link that was opened last
    std::string reached_;             // the link with which a step without a view begins
    std::vector<std::string> locks_;  // the last view has these
    std::vector<lesson::Finding> found_;
};

}  // namespace

std::vector<lesson::Finding> validated(const lesson::Lesson& lesson) {
    std::vector<std::string> names;
    std::vector<lesson::KnownName> known(known_names().begin(), known_names().end());
    std::vector<std::size_t> ranks;
    for (const LensEntry& lens : lens_list())
        for (const CellKind* kind : lens.cells) {
            names.push_back(std::string(lens.key) + "." + std::string(kind->name));
            ranks.push_back(kind->rank());
        }
    for (std::size_t i = 0; i < names.size(); ++i) known.push_back({names[i], ranks[i], ranks[i]});
    return lesson::validate(lesson, known);
}

std::vector<lesson::Finding> replay(const lesson::Lesson& lesson, Visit& visit, Surroundings& around) {
    return Replay(lesson, visit, around).run();
}

}  // namespace attn::app::learn
