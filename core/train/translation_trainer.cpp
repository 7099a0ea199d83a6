#include "train/translation_trainer.hpp"

#include <algorithm>
#include <string>

#include "kernels/workers.hpp"
#include "tensor/random.hpp"

namespace attn {

Result<TranslationTrainer> TranslationTrainer::start(std::span<const std::byte> config_json,
                                                     const TrainingSettings& settings,
                                                     const TrainedKernels& kernels) {
    const auto config = parse_t5_config(config_json);
    if (!config) return config.error();
    if (const auto sound = check(settings); !sound) return sound.error();
    if (settings.dropout > 0 || settings.position_waves > 0 || settings.attention_only)
        return Error{
            "an encoder–decoder is trained without \"dropout\", \"position_waves\" and "
            "\"attention_only\": leave them out"};
    TranslationTrainer trainer;
    trainer.vocabulary_ = std::make_unique<const PieceVocabulary>();
    if (config->vocab_size != trainer.vocabulary_->size())
        return Error{"the vocabulary has " + std::to_string(config->vocab_size) +
                     " tokens; that of the English and French sentences has " +
                     std::to_string(trainer.vocabulary_->size())};
    auto layout = t5_layout(*config);
    if (!layout) return layout.error();
    trainer.settings_ = settings;
    trainer.network_ = std::make_unique<const EncoderDecoder>(*config, *layout, kernels);
    auto parameters = initial_t5_parameters(*layout, *config, mixed(settings.seed, 0));
    trainer.optimiser_ = Optimiser(*std::move(layout), std::move(parameters), settings, *kernels.backward);
    const Index threads = std::min<Index>(thread_count(), settings.batch),
                pairs = (settings.batch + threads - 1) / threads;
    for (Index i = 0; i < threads; ++i)
        trainer.shards_.push_back(
            {trainer.network_->activations(pairs * most_translation_tokens, most_translation_tokens),
             ParameterBuffer(trainer.parameters().size()),
             {}});
    return trainer;
}

Result<Optimiser::Step> TranslationTrainer::step() {
    for (Shard& shard : shards_) shard.pairs = {};
    Index counted = 0;
    for (Index i = 0; i < settings_.batch; ++i) {
        TranslationWriter writer(mixed(settings_.seed, static_cast<std::uint64_t>(steps_taken()) + 1,
                                       static_cast<std::uint64_t>(i)));
        const Translation pair = writer.next(false);
        const auto target = vocabulary_->ids(pair.french);
        counted += std::ssize(target);
        shards_[static_cast<std::size_t>(i) % shards_.size()].pairs.add(vocabulary_->ids(pair.english),
                                                                        target, network_->config().start_id);
    }
    const float weight = 1 / static_cast<float>(counted);
    for_each_task(std::ssize(shards_), [&](Index i) {
        Shard& shard = shards_[static_cast<std::size_t>(i)];
        shard.loss = network_->gradient(parameters(), shard.pairs, weight, *shard.kept, shard.gradients);
    });
    double loss = 0;
    std::vector<std::span<float>> gradients;
    for (Shard& shard : shards_) {
        loss += shard.loss;
        gradients.emplace_back(shard.gradients);
    }
    auto step = optimiser_.step(loss / static_cast<double>(counted), gradients);
    if (step) step->targets = counted;
    return step;
}

Result<TranslationTrainer> TranslationTrainer::resume(std::span<const std::byte> config_json,
                                                      const TrainingSettings& settings,
                                                      std::span<const std::byte> checkpoint) {
    auto trainer = start(config_json, settings);
    if (!trainer) return trainer;
    if (const auto restored = trainer->optimiser_.restore(checkpoint); !restored) return restored.error();
    return trainer;
}

}  // namespace attn
