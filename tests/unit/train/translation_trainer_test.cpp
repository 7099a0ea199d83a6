#include "train/translation_trainer.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <string>

#include "support/files.hpp"
#include "train/translation_scores.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

const std::string translator_config =
    R"({"model_type": "t5", "vocab_size": )" + std::to_string(PieceVocabulary().size()) +
    R"(, "d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 24, "num_layers": 1, "num_decoder_layers": 2})";

TrainingSettings settings_of_translator() {
    return {.batch = 4, .schedule = {.steps = 40, .warmup = 2, .rate = 1e-2, .final_rate = 1e-3}};
}

TranslationTrainer started_translator(const TrainingSettings& settings) {
    auto trainer = TranslationTrainer::start(as_bytes(translator_config), settings);
    INFO((trainer ? "" : trainer.error().message));
    REQUIRE(trainer);
    return *std::move(trainer);
}

std::vector<float> trained_translator(TranslationTrainer trainer, int steps) {
    for (int i = 0; i < steps; ++i) REQUIRE(trainer.step());
    return {trainer.parameters().begin(), trainer.parameters().end()};
}

}  // namespace

TEST_CASE("Training a translator continues from its checkpoint to the same bits", "[unit][train]") {
    const std::vector<float> whole = trained_translator(started_translator(settings_of_translator()), 4);
    TranslationTrainer first = started_translator(settings_of_translator());
    for (int i = 0; i < 2; ++i) REQUIRE(first.step());
    auto second =
        TranslationTrainer::resume(as_bytes(translator_config), settings_of_translator(), first.checkpoint());
    REQUIRE(second);
    CHECK(second->steps_taken() == 2);
    CHECK(trained_translator(*std::move(second), 2) == whole);
    const auto refused =
        TranslationTrainer::resume(as_bytes(translator_config), settings_of_translator(), as_bytes("none"));
    CHECK(!refused);
}

TEST_CASE("A translator learns", "[unit][train]") {
    TranslationTrainer trainer = started_translator(settings_of_translator());
    const auto first = trainer.step();
    REQUIRE(first);
    double last = 0;
    for (int i = 1; i < 40; ++i) {
        const auto step = trainer.step();
        REQUIRE(step);
        last = step->loss;
    }
    CHECK(last < first->loss - 1);
}

TEST_CASE("What a translator cannot be trained with is named", "[unit][train]") {
    struct Wrong {
        void (*spoil)(TrainingSettings&);
        std::string says;
    };
    for (const Wrong& wrong : {Wrong{[](TrainingSettings& s) { s.dropout = 0.1; }, "without \"dropout\""},
                               Wrong{[](TrainingSettings& s) { s.position_waves = 1; }, "\"position_waves\""},
                               Wrong{[](TrainingSettings& s) { s.batch = 0; }, "the batch is 0"}}) {
        TrainingSettings settings = settings_of_translator();
        wrong.spoil(settings);
        const auto trainer = TranslationTrainer::start(as_bytes(translator_config), settings);
        REQUIRE(!trainer);
        CHECK_THAT(trainer.error().message, ContainsSubstring(wrong.says));
    }
    const auto small = TranslationTrainer::start(
        as_bytes(
            R"({"model_type": "t5", "vocab_size": 20, "d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 24,
            "num_layers": 1})"),
        settings_of_translator());
    REQUIRE(!small);
    CHECK_THAT(small.error().message, ContainsSubstring("the vocabulary has 20 tokens; that of the English"));
}

TEST_CASE("Translations are the most likely tokens, and the scores count the correct ones", "[unit][train]") {
    TranslationTrainer trainer = started_translator(settings_of_translator());
    for (int i = 0; i < 20; ++i) REQUIRE(trainer.step());
    const EncoderDecoder& network = trainer.network();
    const std::vector<Translation> pairs = held_out_translations(40, 3);
    SequencePairs read;
    for (const Translation& pair : pairs)
        read.add(trainer.vocabulary().ids(pair.english), trainer.vocabulary().ids(pair.french), 0);
    const auto kept = network.activations(40 * most_translation_tokens, most_translation_tokens);
    const auto made = translate(network, trainer.parameters(), read.source, 12, *kept);
    Sequences decoder;
    for (const auto& one : made) {
        std::vector<std::int32_t> from{0};
        from.insert(from.end(), one.begin(), one.end() - 1);
        decoder.add(from);
        CHECK(one.size() <= 12);
        CHECK(std::ranges::find(one, 1) >= one.end() - 1);  // nothing follows the end
    }
    const ConstMatrix logits = network.decode(trainer.parameters(), decoder, *kept);
    for (std::size_t i = 0; i < made.size(); ++i)
        for (std::size_t j = 0; j < made[i].size(); ++j) {
            const float* row = logits.row(decoder.parts[i].begin + static_cast<Index>(j));
            // The rows come from other sums than when they were chosen.
            CHECK(row[made[i][j]] >= *std::max_element(row, row + logits.cols) - 1e-4f);
        }

    const TranslationScores scores =
        score_translations(network, trainer.parameters(), trainer.vocabulary(), pairs);
    CHECK(scores.pairs == 40);
    REQUIRE(scores.heads.size() == 4);
    network.loss(trainer.parameters(), read, *kept);
    for (const TranslationScores::Head& head : scores.heads) {
        double aligned = 0, pieces = 0;
        for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
            const Tensor all = network.weights(EncoderDecoder::Attention::cross, head.at.layer,
                                               static_cast<Index>(pair), *kept);
            const ConstMatrix weights = all.heads().head(head.at.head);
            for (std::size_t row = 0; row < pairs[pair].sources.size(); ++row) {
                if (pairs[pair].french[row] == ".") continue;  // not a word
                Index strongest = 0;
                for (Index key = 0; key < weights.cols; ++key)
                    if (weights(static_cast<Index>(row), key) > weights(static_cast<Index>(row), strongest))
                        strongest = key;
                for (const Index source : pairs[pair].sources[row]) aligned += source == strongest;
                ++pieces;
            }
        }
        CHECK_THAT(head.aligned, WithinAbs(aligned / pieces, 1e-12));
        CHECK(head.aligned <= scores.best.aligned);
    }
    CHECK(scores.right == 0);
}
