#include "app/history.hpp"

namespace attn::app {

void History::push(State state, std::string edit) {
    past_.push_back({std::move(state), std::move(edit)});
    if (past_.size() > limit) past_.erase(past_.begin());
    future_.clear();
    chosen_.reset();
}

void History::remember() {
    before_ = present_;
    push(present_, "");
}

Status History::settle(const Command& command) {
    auto next = app::apply(present_, command);
    if (!next) return next.error();
    present_ = *std::move(next);
    return ok();
}

void History::choose(State next, std::string edit, std::uint64_t gesture) {
    const bool head =
        next.selection.layer != present_.selection.layer || next.selection.head != present_.selection.head;
    const Kind what = head ? Kind::head : next.pin != present_.pin ? Kind::cell : Kind::word;
    const bool goes_on = chosen_ && (chosen_ == what || (gesture != 0 && gesture == gesture_));
    if (!goes_on) {
        push(std::exchange(present_, std::move(next)), std::move(edit));
        chosen_ = what;
    } else if ((present_ = std::move(next)) == past_.back().state) {
        past_.pop_back();
        chosen_.reset();
    }
    gesture_ = gesture;
    command_kind_ = nullptr;
}

Status History::perform(const Command& command, std::uint64_t gesture) {
    auto next = app::apply(present_, command);
    if (!next) return next.error();
    if (*next == present_) return ok();
    if (command.is_choice()) {
        choose(*std::move(next), command.describe(present_), gesture);
        return ok();
    }
    if (!command.is_navigation()) {
        const bool same_gesture = gesture != 0 && gesture == gesture_ && command.kind() == command_kind_;
        gesture_ = gesture;
        command_kind_ = command.kind();
        if (!same_gesture) remember();
        edit_ = past_.back().edit = command.describe(past_.back().state);
        if (same_gesture && *next == past_.back().state) {  // the gesture is back where it began
            past_.pop_back();
            gesture_ = 0;
        }
    }
    present_ = *std::move(next);
    return ok();
}

void History::walk(std::vector<Step>& from, std::vector<Step>& to) {
    before_ = present_;
    Step step = std::move(from.back());
    from.pop_back();
    edit_ = step.edit;
    to.push_back({std::exchange(present_, std::move(step.state)), std::move(step.edit)});
    gesture_ = 0;
    chosen_.reset();
}

bool History::undo() {
    if (past_.empty()) return false;
    walk(past_, future_);
    return true;
}

bool History::redo() {
    if (future_.empty()) return false;
    walk(future_, past_);
    return true;
}

// Finds the description of the step from here to that State, if it was taken before.
const std::string* History::step_to(const State& state) const {
    const State* after = &present_;
    for (auto step = past_.rbegin(); step != past_.rend(); after = &(step++)->state)
        if ((step->state == state && *after == present_) || (step->state == present_ && *after == state))
            return &step->edit;
    return nullptr;
}

void History::replace(State state, std::string edit) {
    if (state == present_) return;
    if (const std::string* taken = step_to(state)) edit = *taken;
    remember();
    edit_ = past_.back().edit = std::move(edit);
    present_ = std::move(state);
    gesture_ = 0;
}

}  // namespace attn::app
