#include "app/history.hpp"

namespace attn::app {

void History::remember() {
    before_ = present_;
    past_.push_back(present_);
    if (past_.size() > limit) past_.erase(past_.begin());
    future_.clear();
}

Status History::perform(const Command& command, std::uint64_t gesture) {
    auto next = app::apply(present_, command);
    if (!next) return next.error();
    if (*next == present_) return ok();
    if (!command.is_navigation()) {
        const bool same_gesture = gesture != 0 && gesture == gesture_ && command.kind() == command_kind_;
        gesture_ = gesture;
        command_kind_ = command.kind();
        if (!same_gesture) {
            remember();
        } else if (*next == past_.back()) {  // back to where the gesture began
            past_.pop_back();
            gesture_ = 0;
        }
    }
    present_ = *std::move(next);
    return ok();
}

bool History::undo() {
    if (past_.empty()) return false;
    before_ = present_;
    future_.push_back(std::move(present_));
    present_ = std::move(past_.back());
    past_.pop_back();
    gesture_ = 0;
    return true;
}

bool History::redo() {
    if (future_.empty()) return false;
    before_ = present_;
    past_.push_back(std::move(present_));
    present_ = std::move(future_.back());
    future_.pop_back();
    gesture_ = 0;
    return true;
}

void History::replace(State state) {
    if (state == present_) return;
    remember();
    present_ = std::move(state);
    gesture_ = 0;
}

}  // namespace attn::app
