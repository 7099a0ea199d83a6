// The tensors of a visit: those that are open, those on their way, and files that wait for others they need.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tensor_opening.hpp"

namespace attn::app {

class OwnTensors {
  public:
    // The files of a drop, a buffer each, then one of the other two.
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size);
    void arrived();
    void discard() { intake_.discard(); }

    TensorSet* open() { return open_.get(); }
    const TensorSet* open() const { return open_.get(); }
    // Null where nothing is on its way.
    const TensorOpening* opening() const { return opening_.get(); }
    const std::vector<TensorFile>& waiting() const { return waiting_; }
    bool busy(const TensorRule& rule) const {
        return (opening_ && opening_->works()) || (open_ && !(open_->done() && open_->follows(rule)));
    }

    void answer(const std::string& question, const std::string& answer);
    void ask_again();  // what was answered for the open ones
    void cancel();     // what is on its way, and what waits
    void close() { open_.reset(); }

    // For about until_ms, of now_ms(); true while there is more to do.
    bool work(const TensorRule& rule, double until_ms);
    // Since they were last asked:
    std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }
    bool take_asked() { return std::exchange(asked_, false); }    // something asks, or has been understood
    bool take_opened() { return std::exchange(opened_, false); }  // another set is open

  private:
    void try_next();
    void settle();

    TensorIntake intake_;
    std::unique_ptr<TensorSet> open_;
    std::unique_ptr<TensorOpening> opening_;
    // What the files of a drop may make, the first that is not lacking something.
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
