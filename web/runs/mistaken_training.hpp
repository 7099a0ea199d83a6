// A small network that learns with a mistake in its attention: what its loss does, and what its weights are
// worth once the mistake is put right.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/check/mistaken_attention.hpp"
#include "analysis/check/possible_mistakes.hpp"
#include "runs/training_data.hpp"

namespace attn::app {

// The plan of all these runs: random symbols that repeat, which two layers of attention can predict. It is
// small, so that a run takes seconds.
const TrainingPlan& mistaken_training_plan();
// The attention of its network, in which mistakes can be made.
const AttentionCase& mistaken_training_case();
// A mistake as that attention can make it; an index of mistakes().
const PossibleMistake& mistake_in_training(Index mistake);
// The attention with that mistake, in the variant of this detail if there is one, and otherwise in the first;
// none: it cannot make the mistake.
std::optional<Implementation> implementation_in_training(Index mistake, std::string_view detail);

class MistakenTraining {
  public:
    // Sequences that no step trains on, as the network predicts them.
    struct Measured {
        double loss = 0;   // nats a target
        double right = 0;  // the share of targets that are the most likely token
        bool operator==(const Measured&) const = default;
    };

    // No implementation: without a mistake.
    static Result<MistakenTraining> start(std::optional<Implementation> how);

    bool step();  // a sequence a thread, or what follows the last step; true while there is more
    bool done() const { return failure_ || measured_; }
    std::int64_t steps_taken() const { return std::ssize(losses_); }
    std::span<const float> losses() const { return losses_; }  // nats a target, of each step's batch
    // The number of steps after which the mean loss of the last 20 batches was first below this one.
    std::optional<std::int64_t> first_below(double loss) const;
    // Why the run cannot go on: a loss that is not a number.
    const std::optional<Error>& failure() const { return failure_; }
    // With the attention that it was trained with, and with the right one; none before the end.
    const std::optional<Measured>& measured() const { return measured_; }
    const std::optional<Measured>& put_right() const { return put_right_; }

  private:
    MistakenTraining() = default;
    double mean_loss(std::int64_t step) const;  // the last batches before this step
    Result<Measured> measure(const TrainedKernels& kernels) const;

    std::shared_ptr<const TrainedAttention> attention_;  // null: the right one
    Batches held_out_;
    std::optional<Trainer> trainer_;
    std::vector<float> losses_;
    std::optional<Error> failure_;
    std::optional<Measured> measured_, put_right_;
};

// What a run has learned in the end: its loss and the share of symbols that it predicts, also with the right
// attention in its place; its share of what is learned without a mistake; the steps until guessing's loss is
// halved.
enum class Learned { loss, predicted, share, half, right_predicted, right_loss };
inline constexpr std::size_t learned_count = 6;
double guessing_loss();  // nats a symbol, if all are as likely

// Runs with mistakes, and the one without that they are compared with.
class MistakenTrainings {
  public:
    // Takes a step of the run without a mistake or of this one, whichever has taken fewer; true while there
    // is more.
    bool step(const Implementation& how);
    // Null: not begun.
    const MistakenTraining* right() const { return find(std::nullopt); }
    const MistakenTraining* of(const Implementation& how) const { return find(how); }
    std::int64_t steps_taken() const;  // the sum over all runs
    // None: not known yet, or never reached.
    std::optional<double> learned(const MistakenTraining& run, Learned number) const;

  private:
    struct Run {
        std::optional<Implementation> how;
        MistakenTraining run;
    };
    const MistakenTraining* find(const std::optional<Implementation>& how) const;
    MistakenTraining* begun(const std::optional<Implementation>& how);  // null: it cannot begin

    std::deque<Run> runs_;
};

}  // namespace attn::app
