// Holds the tensors of a visit: the open ones, those being opened, and files that wait for others they need.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "subjects/tensors/tensor_opening.hpp"

namespace attn::app {

class OwnTensors {
  public:
    // For dropped files, call buffer() for each, then one of the other two.
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size);
    // The answers come from a link about files with these names, if one was followed.
    void arrived(const std::vector<std::string>& named = {}, const Answers& answers = {});
    void discard() { intake_.discard(); }

    TensorSet* open() { return open_.get(); }
    const TensorSet* open() const { return open_.get(); }
    // Null if nothing is being opened.
    const TensorOpening* opening() const { return opening_.get(); }
    const std::vector<TensorFile>& waiting() const { return waiting_; }
    bool busy(const TensorRule& rule) const {
        return (opening_ && opening_->works()) || (open_ && !(open_->done() && open_->follows(rule)));
    }

    void answer(const std::string& question, const std::string& answer);
    void ask_again() { open_with({}); }
    void open_with(const Answers& answers);  // reopens the open tensors with other answers
    void cancel();                           // cancels the current opening, and drops the waiting files
    void close() { open_.reset(); }

    // Works until until_ms of now_ms(); true while there is more to do.
    bool work(const TensorRule& rule, double until_ms);
    // Return what has happened since the last call.
    std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }
    bool take_asked() { return std::exchange(asked_, false); }    // questions arose, or there are none left
    bool take_opened() { return std::exchange(opened_, false); }  // another set is open

  private:
    void try_next();
    void settle();

    TensorIntake intake_;
    std::unique_ptr<TensorSet> open_;
    std::unique_ptr<TensorOpening> opening_;
    // A set that the dropped files may form. The first attempt that lacks nothing is opened.
    struct Attempt {
        std::vector<TensorFile> files;
        Answers answers;
    };
    std::vector<Attempt> attempts_;
    std::vector<TensorFile> waiting_;
    std::optional<Error> error_;
    bool asked_ = false, opened_ = false;
};

}  // namespace attn::app
