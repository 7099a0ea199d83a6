#include "app/visit.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "app/archive_intake.hpp"
#include "app/catalogue.hpp"
#include "app/clock.hpp"
#include "app/lesson_state.hpp"
#include "app/link.hpp"

namespace attn::app {

namespace {

constexpr double pause_ms = 1000;  // ends typing, and a movement about the picture

std::string as_sentence(std::string message) {
    if (!message.empty() && message.back() != '.' && message.back() != '?') message += '.';
    return message;
}

std::string with_commas(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

template <class Entry>
Resident& resident_of(std::span<const Entry> list, const std::vector<std::unique_ptr<Resident>>& residents,
                      std::string_view key) {
    const auto found = std::ranges::find(list, key, &Entry::key);
    assert(found != list.end());
    return *residents[static_cast<std::size_t>(found - list.begin())];
}

}  // namespace

Visit::Visit(Page& page)
    : page_(page), history_(default_state()), archives_(std::make_unique<ArchiveIntake>(*this)) {
    for (const SubjectEntry& entry : subject_list()) subjects_.push_back(entry.make(*this));
    for (const LensEntry& entry : lens_list()) lenses_.push_back(entry.make(*this));
}

Visit::~Visit() {
    // Lenses and subjects may use one another's shared objects until the end, so they are destroyed first.
    lenses_.clear();
    subjects_.clear();
}

Resident& Visit::subject(std::string_view key) const { return resident_of(subject_list(), subjects_, key); }
Resident& Visit::lens(std::string_view key) const { return resident_of(lens_list(), lenses_, key); }

std::shared_ptr<void>& Visit::shared_place(const void* id) {
    const auto found = std::ranges::find(shared_, id, &std::pair<const void*, std::shared_ptr<void>>::first);
    return found == shared_.end() ? shared_.emplace_back(id, nullptr).second : found->second;
}

void Visit::for_all(const std::function<void(Resident&)>& what) const {
    for (const auto& subject : subjects_) what(*subject);
    for (const auto& lens : lenses_) what(*lens);
}

// ---- The State --------------------------------------------------------------------------------------------

void Visit::perform(const Command& command, std::uint64_t gesture) {
    const State before = state();
    if (!locks_.names.empty() || changeable_)
        if (const auto next = apply(before, command))
            if (const Status allowed = may_change(command, *next); !allowed)
                return notice(allowed.error().message);
    if (Status done = history_.perform(command, gesture); !done) return report_error(done.error());
    if (state() == before) return;
    // Within a gesture, this describes the change made by the gesture as a whole.
    if (!command.is_navigation() && !command.is_choice()) last_edit_ = history_.last_edit();
    const Given last = std::exchange(given_, {gesture, command.kind(), now_ms()});
    const bool goes_on =
        (gesture != 0 && gesture == last.gesture) ||
        (command.is_navigation() && last.kind == given_.kind && given_.at - last.at < pause_ms);
    changed(before, Change::command, !goes_on);
}

bool Visit::locks(std::string_view name) const {
    return std::ranges::find(locks_.names, name) != locks_.names.end();
}

Status Visit::may_change(const Command& command, const State& next) const {
    const LinkComparison links(state(), next);
    for (const std::string& name : locks_.names)
        if (!links.is_same(name)) return Error{name + " " + locks_.why};
    const bool leads_elsewhere = next.subject != state().subject || next.lens != state().lens;
    if (!changeable_ || ((command.is_navigation() || command.is_choice()) && !leads_elsewhere)) return ok();
    for (const std::string& name : links.changed())
        if (std::ranges::find(*changeable_, name) == changeable_->end())
            return Error{name + " is locked: " +
                         (changeable_->empty()
                              ? std::string("nothing can be changed in this view.")
                              : "this view lets you change only " + with_commas(*changeable_) + ".")};
    return ok();
}

bool Visit::is_but_for_lessons(const State& other) const {
    State without_lesson = state();
    if (lesson_of(without_lesson).is_open()) without_lesson.edit<LessonState>() = {};
    return without_lesson == other;
}

State Visit::in_this_lesson(State other) const {
    if (lesson_of(state()).is_open()) other.edit<LessonState>() = lesson_of(state());
    return other;
}

std::uint64_t Visit::typing() {
    const double last = std::exchange(typed_at_, now_ms());
    if (typed_at_ - last > pause_ms) ++typing_;
    return typing_;
}

void Visit::settle(const Command& command) {
    const State before = state();
    if (Status done = history_.settle(command); !done) return report_error(done.error());
    if (state() != before) changed(before, Change::command, false);
}

void Visit::undo() {
    const State before = state();
    if (history_.undo()) restore(before, "undone: ");
}

void Visit::redo() {
    const State before = state();
    if (history_.redo()) restore(before, "redone: ");
}

void Visit::restore(const State& before, const char* edit) {
    last_edit_ = edit + history_.last_edit();
    State received = state();
    if (lesson_of(received) != lesson_of(before)) received.edit<LessonState>() = lesson_of(before);
    for_all([&](Resident& each) { each.receive(received, before, Change::restored); });
    if (received != state()) history_.correct(std::move(received));
    given_ = {};
    changed(before, Change::restored, true);
}

void Visit::replace(State next, const std::string& edit) {
    const State before = state();
    history_.replace(std::move(next), edit);
    last_edit_ = edit;
    given_ = {};
    changed(before, Change::command, true);
}

void Visit::correct(State next) {
    const State before = state();
    history_.correct(std::move(next));
    changed(before, Change::replaced, false);
}

void Visit::changed(const State& before, Change how, bool new_place) {
    ++changes_;
    for_all([&](Resident& each) { each.follow(before, how); });
    subject().fit_selection();
    show_boxes();
    page_.set_url(address(), new_place);
    page_.set_history(history_.can_undo(), history_.can_redo());
}

State Visit::read_fragment(const std::string& fragment) {
    ParsedFragment parsed = fragment.empty() && home_ ? ParsedFragment{*home_, ""} : parse_fragment(fragment);
    if (fragment.empty())
        parsed.state = in_this_lesson(std::move(parsed.state));  // it says nothing of lessons
    if (!parsed.note.empty()) page_.notice(parsed.note, false);
    for_all([&](Resident& each) { each.receive(parsed.state, state(), Change::replaced); });
    return std::move(parsed.state);
}

void Visit::set_home(const Opening& opening) {
    for (const auto& subject : subjects_)
        if (auto home = subject->home(opening)) {
            home_ = std::move(home);
            return;
        }
}

void Visit::forget_home() {
    home_.reset();
    meanwhile_.reset();
}

void Visit::show_meanwhile() {
    if (!at_home()) return;
    meanwhile_ = home_;
    show_subject(*meanwhile_, default_state().subject);
    meanwhile_->lens = default_state().lens;
    correct(in_this_lesson(*meanwhile_));
}

bool Visit::go_home() {
    const std::optional<State> meanwhile = std::exchange(meanwhile_, std::nullopt);
    if (!meanwhile || !home_) return false;
    if (!is_but_for_lessons(*meanwhile)) {
        if (state().subject != home_->subject) notice("The model is open: choose Sentence to see it.");
        return false;
    }
    correct(in_this_lesson(*home_));
    return true;
}

// If there is a home, the bare address opens it, so a link to the first example has to name it.
std::string Visit::address() const {
    const LessonState& lesson = lesson_of(state());
    if (lesson.is_open() && (lesson.name != first_lesson || !lesson.text.empty()))
        return to_fragment(state());
    if (is_but_for_lessons(home_ ? *home_ : default_state())) return "";
    if (meanwhile_ && is_but_for_lessons(*meanwhile_)) return "";
    if (!home_) return to_fragment(state());
    const std::string fragment = to_fragment(state());
    return fragment.empty() ? "v=1&subject=" + std::string(state().subject) : fragment;
}

void Visit::start(const std::string& fragment) {
    const State before = state();
    history_ = History(read_fragment(fragment));
    for_all([&](Resident& each) { each.follow(before, Change::replaced); });
    subject().fit_selection();
    show_boxes(true);
    page_.set_history(history_.can_undo(), history_.can_redo());
}

namespace {

// Names the only difference between two consecutive States.
std::string difference(const State& before, const State& next) {
    State changed = before;
    std::string told = "opened a link";
    if (next.pin != before.pin) told = Pin{next.pin}.describe(before);
    if (next.selection != before.selection) told = Select{next.selection}.describe(before);
    if (next.lens != before.lens) told = OpenLens{next.lens}.describe(before);
    changed.pin = next.pin;
    changed.selection = next.selection;
    changed.lens = next.lens;
    if (next.subject != before.subject) return OpenSubject{next.subject}.describe(before);
    return changed == next ? told : "opened a link";
}

}  // namespace

void Visit::open_fragment(const std::string& fragment) {
    State next = read_fragment(fragment);
    const std::string edit = difference(state(), next);
    open_state(std::move(next), edit);
}

void Visit::follow_link(const std::string& fragment, const std::string& edit) {
    open_state(read_fragment(fragment), edit);
    page_.set_url(address(), true);
}

void Visit::open_state(State next, const std::string& edit) {
    const State before = state();
    given_ = {};
    history_.replace(std::move(next), edit);
    ++changes_;
    for_all([&](Resident& each) { each.follow(before, Change::replaced); });
    subject().fit_selection();
    show_boxes(true);
    page_.set_history(history_.can_undo(), history_.can_redo());
}

// ---- The page around it -----------------------------------------------------------------------------------

void Visit::report_error(const Error& error) { page_.notice(as_sentence(error.message), true); }
void Visit::notice(const std::string& message) { page_.notice(as_sentence(message), false); }

void Visit::show_boxes(bool anew) {
    std::optional<TextBox> box = subject().text_box();
    if (anew || box_ != box) {
        if (box)
            page_.set_sentence(box->text, box->enabled, box->tokenized, box->placeholder);
        else
            page_.hide_sentence();
    }
    box_ = std::move(box);
    for (const Box which : lower_boxes) {
        std::optional<LowerBox> lower = subject().lower_box(which);
        if (anew || lower_boxes_[which] != lower) {
            if (lower)
                page_.set_lower_box(which, *lower);
            else
                page_.hide_lower_box(which);
        }
        lower_boxes_[which] = std::move(lower);
    }
}

void Visit::text_typed(Box box, const std::string& text) {
    // The box already shows this text.
    if (box == Box::first && box_) box_->text = text;
    if (auto& lower = lower_boxes_[box]) lower->text = text;
    subject().text_typed(box, text);
}

void Visit::tokens(TokenizedText text) {
    for (const auto& each : subjects_)
        if (const auto box = each->text_box(); box && box->tokenized) return each->tokens(std::move(text));
}

FileIntake* Visit::intake(FileKind kind) const {
    if (kind == FileKind::archive) return archives_.get();
    if (FileIntake* own = lens().intake(kind)) return own;
    for (const auto& each : subjects_)
        if (FileIntake* intake = each->intake(kind)) return intake;
    return nullptr;
}

void Visit::save(Result<std::unique_ptr<Download>> file) {
    if (!file) return report_error(file.error());
    download_ = *std::move(file);
}

void Visit::choose_figure(double width_mm, std::string caption, std::string link) {
    if (!figure_) return;
    figure_->width_mm = std::clamp(width_mm, least_figure_mm, most_figure_mm);
    figure_->caption = std::move(caption);
    figure_->link = std::move(link);
}

void Visit::save_figure(std::string_view svg) {
    save(figure_->file + ".svg", svg);
    figure_.reset();
}

void Visit::end_figure() {
    if (figure_) report_error({"The figure was not saved: what it shows is no longer on the page."});
    figure_.reset();
}

void Visit::save(const std::string& name, std::string_view text) {
    page_.download(name, std::as_bytes(std::span(text)));
}

// ---- Work -------------------------------------------------------------------------------------------------

bool Visit::busy() const {
    return download_ || std::ranges::any_of(subjects_, [](const auto& each) { return each->busy(); }) ||
           std::ranges::any_of(lenses_, [](const auto& each) { return each->busy(); });
}

std::optional<Progress> Visit::progress() const {
    const auto of_subject = subject().progress();
    if (download_) return Progress{download_->progress(), "file"};
    return of_subject;
}

std::vector<std::uint64_t> Visit::milestones() const {
    std::vector<std::uint64_t> all{frame_steps_done_};
    for_all([&](const Resident& each) { all.push_back(each.milestones()); });
    return all;
}

bool Visit::work(double budget_ms) {
    const auto before = milestones();
    const bool more = work_until(now_ms() + budget_ms);
    const bool arrived = milestones() != before;
    if (arrived) page_.draw_now();
    if (more || arrived) ++slices_;
    return more;
}

bool Visit::work_on_file(double until) {
    while (download_ && download_->step())
        if (now_ms() >= until) return true;
    if (!download_) return false;
    page_.download(download_->name(), download_->finish());
    download_.reset();
    return false;
}

bool Visit::work_on_frame(double until) {
    const bool works = !frame_steps_.empty();
    do frame_steps_done_ += std::erase_if(frame_steps_, [](auto& step) { return !step(); });
    while (!frame_steps_.empty() && now_ms() < until);
    return works;
}

bool Visit::work_until(double until) {
    const auto work = [&](Urgency urgency) {
        bool more = false;
        for (const auto* residents : {&subjects_, &lenses_})
            for (const auto& each : *residents) {
                more |= each->work(urgency, until);
                if (more && now_ms() >= until) return true;
            }
        return more;
    };
    if (work(Urgency::first) || work_on_file(until)) return true;
    const double now = now_ms();
    const bool shows = work_on_frame(now + (until - now) / 2);
    bool more = work(Urgency::usual);
    if (more && now_ms() >= until) return true;
    more |= work(Urgency::last);
    const bool due = frame_due_ms_ && now_ms() >= *frame_due_ms_;
    if (due) frame_due_ms_.reset();
    return more || shows || due;
}

}  // namespace attn::app
