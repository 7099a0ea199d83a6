// Trains an encoder–decoder on the pairs of a TranslationWriter that are not held out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "train/encoder_decoder.hpp"
#include "train/optimiser.hpp"
#include "train/piece_vocabulary.hpp"
#include "train/translation.hpp"

namespace attn {

class TranslationTrainer {
  public:
    // config_json are the bytes of a config.json of a T5 with the vocabulary of a PieceVocabulary. In the
    // settings, the batch is a number of pairs, and there is no context.
    static Result<TranslationTrainer> start(std::span<const std::byte> config_json,
                                            const TrainingSettings& settings,
                                            const TrainedKernels& kernels = {});
    // Continues exactly where the checkpoint was taken, which must be from the same configuration and
    // settings.
    static Result<TranslationTrainer> resume(std::span<const std::byte> config_json,
                                             const TrainingSettings& settings,
                                             std::span<const std::byte> checkpoint);

    // The pairs of a step are a function of the seed and the step.
    Result<Optimiser::Step> step();
    std::int64_t steps_taken() const { return optimiser_.steps_taken(); }

    const EncoderDecoder& network() const { return *network_; }
    const PieceVocabulary& vocabulary() const { return *vocabulary_; }
    const ParameterLayout& layout() const { return optimiser_.layout(); }
    std::span<const float> parameters() const { return optimiser_.parameters(); }

    std::vector<std::byte> checkpoint() const { return optimiser_.checkpoint(); }
    std::vector<std::byte> weights(DType dtype) const {  // model.safetensors, f32 or f16
        return safetensors_of(layout(), parameters(), dtype);
    }

  private:
    TranslationTrainer() = default;

    // One thread's working data.
    struct Shard {
        EncoderDecoder::Kept kept;
        ParameterBuffer gradients;
        SequencePairs pairs;
        double loss = 0;
    };
    TrainingSettings settings_;
    Optimiser optimiser_;
    std::unique_ptr<const PieceVocabulary> vocabulary_;
    std::unique_ptr<const EncoderDecoder> network_;
    std::vector<Shard> shards_;
};

}  // namespace attn
