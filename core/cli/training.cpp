#include "cli/training.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "analysis/heads/repeated_tokens.hpp"
#include "cli/model_folder.hpp"
#include "cli/tokenizer.hpp"
#include "kernels/workers.hpp"
#include "text/bpe_train.hpp"
#include "text/word_list.hpp"
#include "train/puzzles.hpp"
#include "train/recipe.hpp"
#include "train/sentences.hpp"
#include "train/translation_scores.hpp"
#include "train/translation_trainer.hpp"

namespace attn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double report_seconds = 10, checkpoint_seconds = 120, measure_seconds = 240;
constexpr Index tokenizer_paragraphs = 20'000;  // the vocabulary learns from this many generated ones

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<Bpe> tokenizer_for(const Recipe& recipe, std::span<const std::string_view> texts,
                          const std::string& file) {
    if (std::filesystem::exists(file)) return load_tokenizer(file);
    std::vector<std::string_view> all(texts.begin(), texts.end());
    std::string sentences;
    if (recipe.mixture.sentences > 0) {
        SentenceWriter writer(recipe.training.seed);
        for (Index i = 0; i < tokenizer_paragraphs; ++i) sentences += writer.paragraph() + "\n";
        all.push_back(sentences);
    }
    const std::array<std::string, special_tokens> special{"<|endoftext|>"};
    auto bpe = train_bpe(all, recipe.vocabulary, special);
    if (!bpe) return bpe;
    if (auto status = save_tokenizer(*bpe, file); !status) return status.error();
    return bpe;
}

// Writes to a file beside it first, so that a run that is killed while writing leaves the previous one
// intact.
Status replace_file(const std::string& file, std::span<const std::byte> bytes) {
    if (auto status = write_file(file + ".new", bytes); !status) return status;
    std::error_code failed;
    std::filesystem::rename(file + ".new", file, failed);
    if (failed) return Error{file + ": " + failed.message()};
    return ok();
}

void tell_heads(const Trainer& trainer) {
    const auto model = trainer.model();
    if (!model) return;
    const Index period = std::min<Index>(64, trainer.config().context / 2);
    const auto scores = score_repeated_tokens(*model, period, 4, special_tokens, 1);
    if (!scores) return;
    struct Best {
        double score = -1;
        std::size_t layer = 0, head = 0;
        void see(double s, std::size_t l, std::size_t h) {
            if (s > score) *this = {s, l, h};
        }
    } previous, duplicate, induction;
    for (std::size_t l = 0; l < scores->size(); ++l)
        for (std::size_t h = 0; h < (*scores)[l].size(); ++h) {
            const RepeatedTokenScores& s = (*scores)[l][h];
            previous.see(s.head.previous_token, l, h);
            duplicate.see(s.duplicate_stripe, l, h);
            induction.see(s.induction_stripe, l, h);
        }
    std::printf(
        "  heads: previous token %.3f (%zu.%zu)  duplicate %.3f (%zu.%zu)  induction %.3f (%zu.%zu)\n",
        previous.score, previous.layer, previous.head, duplicate.score, duplicate.layer, duplicate.head,
        induction.score, induction.layer, induction.head);
}

// Takes the steps that are left, writes the weights and the checkpoint, and reports. A step is `units` of
// `what`.
template <class AnyTrainer>
Status train_to_end(AnyTrainer& trainer, const TrainingSettings& settings, Index units, const char* what,
                    const std::string& folder, const auto& measure) {
    const std::string checkpoint = folder + "/checkpoint.safetensors";
    const Clock::time_point start = Clock::now();
    const std::int64_t first = trainer.steps_taken();
    Clock::time_point told = start, saved = start, measured = start;
    double loss = 0, outside = 0;  // the sum over targets; seconds spent on anything but training
    std::int64_t since = 0;        // targets
    while (trainer.steps_taken() < settings.schedule.steps) {
        const auto step = trainer.step();
        if (!step) return step.error();
        loss += step->loss * static_cast<double>(step->targets);
        since += step->targets;
        const bool last = trainer.steps_taken() == settings.schedule.steps;
        if (seconds_since(told) >= report_seconds || last) {
            const double speed = static_cast<double>((trainer.steps_taken() - first) * units) /
                                 (seconds_since(start) - outside);
            std::printf(
                "step %lld  loss %.4f over %lld targets  gradient %.2f  rate %.2e  %.0f %s/s  %.0f s left\n",
                static_cast<long long>(trainer.steps_taken()), loss / static_cast<double>(since),
                static_cast<long long>(since), step->gradient_norm, step->rate, speed, what,
                static_cast<double>((settings.schedule.steps - trainer.steps_taken()) * units) / speed);
            std::fflush(stdout);
            told = Clock::now();
            loss = 0;
            since = 0;
        }
        const Clock::time_point before = Clock::now();
        if (seconds_since(saved) >= checkpoint_seconds || last) {
            if (auto status = replace_file(checkpoint, trainer.checkpoint()); !status) return status;
            if (auto status = replace_file(folder + "/model.safetensors", trainer.weights(DType::f16));
                !status)
                return status;
            saved = Clock::now();
        }
        if (seconds_since(measured) >= measure_seconds || last) {
            measure();
            measured = Clock::now();
        }
        outside += seconds_since(before);
    }
    return ok();
}

constexpr Index measured_pairs = 500;
constexpr std::uint64_t measured_seed = 1;

Status train_translation(const Recipe& recipe, const std::string& folder) {
    const std::string checkpoint = folder + "/checkpoint.safetensors";
    Result<TranslationTrainer> trainer = Error{""};
    if (std::filesystem::exists(checkpoint)) {
        const auto bytes = read_file(checkpoint);
        if (!bytes) return bytes.error();
        trainer = TranslationTrainer::resume(recipe.config_json, recipe.training, *bytes);
    } else {
        trainer = TranslationTrainer::start(recipe.config_json, recipe.training);
    }
    if (!trainer) return trainer.error();
    std::printf("%td parameters, %d threads, from step %lld of %lld\n", trainer->layout().count(),
                thread_count(), static_cast<long long>(trainer->steps_taken()),
                static_cast<long long>(recipe.training.schedule.steps));
    const std::string tokenizer = trainer->vocabulary().to_json();
    if (auto status = write_file(folder + "/tokenizer.json", std::as_bytes(std::span(tokenizer))); !status)
        return status;
    if (auto status = write_file(folder + "/config.json", recipe.config_json); !status) return status;

    const std::vector<Translation> pairs = held_out_translations(measured_pairs, measured_seed);
    const auto measure = [&] {
        const TranslationScores found =
            score_translations(trainer->network(), trainer->parameters(), trainer->vocabulary(), pairs);
        std::printf("  held out: %.1f %% right; best head %td.%td, %.1f %% aligned\n", 100 * found.right,
                    found.best.at.layer, found.best.at.head, 100 * found.best.aligned);
        std::fflush(stdout);
    };
    return train_to_end(*trainer, recipe.training, recipe.training.batch, "pairs", folder, measure);
}

// Continues from the checkpoint in the folder, if there is one.
Result<Trainer> trainer_in(const std::string& folder, const Recipe& recipe, Batches batches) {
    const std::string checkpoint = folder + "/checkpoint.safetensors";
    Result<Trainer> trainer = Error{""};
    if (std::filesystem::exists(checkpoint)) {
        const auto bytes = read_file(checkpoint);
        if (!bytes) return bytes.error();
        trainer = Trainer::resume(recipe.config_json, recipe.training, std::move(batches), *bytes);
    } else {
        trainer = Trainer::start(recipe.config_json, recipe.training, std::move(batches));
    }
    if (!trainer) return trainer;
    std::printf("%td parameters, %d threads, from step %lld of %lld\n", trainer->layout().count(),
                thread_count(), static_cast<long long>(trainer->steps_taken()),
                static_cast<long long>(recipe.training.schedule.steps));
    if (auto status = write_file(folder + "/config.json", recipe.config_json); !status) return status.error();
    return trainer;
}

constexpr std::size_t measured_lists = 1000;

Status train_puzzle(const Recipe& recipe, const std::string& folder) {
    const TrainingSettings& settings = recipe.training;
    auto batches = puzzle_batches(*recipe.puzzle, settings.context, settings.seed);
    if (!batches) return batches.error();
    Result<Trainer> trainer = trainer_in(folder, recipe, *std::move(batches));
    if (!trainer) return trainer.error();
    const std::string tokenizer = word_list_tokenizer(puzzle_words(*recipe.puzzle));
    if (auto status = write_file(folder + "/tokenizer.json", std::as_bytes(std::span(tokenizer))); !status)
        return status;
    const std::vector<PuzzleList> lists =
        held_out_lists(*recipe.puzzle, settings.context, measured_lists, measured_seed);
    const auto measure = [&] {
        const auto model = trainer->model();
        const auto right = model ? share_answered(**model, lists) : Result<double>(model.error());
        if (right) std::printf("  held out: %.1f %% right\n", 100 * *right);
        std::fflush(stdout);
    };
    return train_to_end(*trainer, settings, settings.batch, "lists", folder, measure);
}

}  // namespace

Status train(const TrainingFiles& files) {
    const auto recipe_bytes = read_file(files.recipe);
    if (!recipe_bytes) return recipe_bytes.error();
    const Result<Recipe> recipe = parse_recipe(*recipe_bytes);
    if (!recipe) return recipe.error();
    const auto contents = read_files(files.texts);
    if (!contents) return contents.error();
    Bytes validation;
    if (!files.validation.empty()) {
        auto bytes = read_file(files.validation);
        if (!bytes) return bytes.error();
        validation = *std::move(bytes);
    }
    std::error_code failed;
    std::filesystem::create_directories(files.folder, failed);
    if (failed) return Error{files.folder + ": " + failed.message()};

    if (recipe->translation) {
        if (!files.texts.empty() || !files.validation.empty())
            return Error{files.recipe +
                         " is of a T5, which learns from generated pairs: leave out the texts"};
        return train_translation(*recipe, files.folder);
    }
    if (recipe->puzzle) {
        if (!files.texts.empty() || !files.validation.empty())
            return Error{files.recipe + " is of a puzzle, whose lists are generated: leave out the texts"};
        return train_puzzle(*recipe, files.folder);
    }
    std::vector<std::string_view> texts;
    for (const Bytes& bytes : *contents) texts.push_back(as_text(bytes));
    Result<Bpe> bpe = tokenizer_for(*recipe, texts, files.folder + "/tokenizer.json");
    if (!bpe) return bpe.error();
    if (bpe->vocabulary_size() != recipe->vocabulary)
        return Error{files.folder + "/tokenizer.json has " + std::to_string(bpe->vocabulary_size()) +
                     " tokens, the recipe asks for " + std::to_string(recipe->vocabulary) +
                     ": take another folder"};
    const auto tokenizer = std::make_shared<const Bpe>(*std::move(bpe));
    std::vector<std::int32_t> tokens;
    for (const std::string_view text : texts) {
        const auto more = tokenizer->encode(text);
        tokens.insert(tokens.end(), more.begin(), more.end());
    }
    const std::vector<std::int32_t> validation_tokens = tokenizer->encode(as_text(validation));
    std::printf("%zu tokens of text, ", tokens.size());
    if (!validation.empty())
        std::printf("%.3f bytes a token of the validation text, ",
                    static_cast<double>(validation.size()) / static_cast<double>(validation_tokens.size()));

    const TrainingSettings& settings = recipe->training;
    auto batches = mixed_batches(tokenizer, std::move(tokens), settings.context, special_tokens,
                                 recipe->mixture, settings.seed);
    if (!batches) return batches.error();
    Result<Trainer> trainer = trainer_in(files.folder, *recipe, *std::move(batches));
    if (!trainer) return trainer.error();

    const auto measure = [&] {
        if (!validation.empty()) {
            const auto found = trainer->evaluate(validation_tokens);
            std::printf("  validation: %.4f bits a byte, accuracy %.4f\n",
                        bits_per_byte(found, validation.size()), found.accuracy);
        }
        tell_heads(*trainer);
        std::fflush(stdout);
    };
    return train_to_end(*trainer, settings, settings.batch * settings.context, "tokens", files.folder,
                        measure);
}

}  // namespace attn
