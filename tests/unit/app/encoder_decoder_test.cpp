// Tests encoder–decoders on the page: two boxes, one run, three kinds of attention, and their explanations.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "app/looks.hpp"
#include "model/explain.hpp"
#include "parts/all_heads.hpp"
#include "subjects/translation_presets.hpp"
#include "support/small_families.hpp"
#include "support/translator.hpp"
#include "train/translation.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Answers generated tokens as the page does, until no more arrive.
void answer(Visit& visit, FakePage& page) {
    for (int i = 0; i < 4000; ++i) {
        visit.begin_frame();
        visit.begin_frame();
        visit.work(10);
        if (!page.appended.empty()) {
            CHECK(page.appended_to == Box::second);
            std::vector<std::int32_t> ids = translator_ids(*page.second);
            ids.push_back(page.appended.back());
            page.appended.clear();
            split(visit, Box::second, translator_text(ids));
        } else if (!sentence_in(visit).playing() && !visit.progress()) {
            return;
        }
    }
    FAIL("It never ends.");
}

}  // namespace

TEST_CASE("the translator opens with a sentence of its grammar, its French and the head that aligns best") {
    FakePage page;
    Visit visit(page);
    open_translator(visit, page);
    const TranslationPreset& preset = translation_presets.front();
    CHECK(page.box == preset.english);
    CHECK(page.second == preset.french);
    CHECK(page.continued);
    CHECK(visit.state().subject == sentence_subject);
    CHECK(visit.state().selection.layer ==
          5);  // 2 of the encoder, 2 of the decoder, the second cross-attention
    CHECK(visit.state().selection.head == 2);
    const TextRun& whole = *sentence_in(visit).run();
    CHECK_FALSE(visit.state().selection.query);
    CHECK(sentence_in(visit).head_count().layers.name(5) == "cross 1");
    CHECK(head_text({2, 3}, whole.numbering()) == "decoder 0 · head 3");
    CHECK(whole.numbering().short_head({0, 1}) == "E0.1");
    CHECK(sentence_of(visit.state()).sampling.temperature == 0);
    CHECK(page.notices.empty());

    // The same numbers as in a run of the core.
    std::vector<std::int32_t> read = translator_ids(preset.english), written = translator_ids(preset.french);
    read.push_back(PieceVocabulary::end);
    written.insert(written.begin(), PieceVocabulary::padding);
    const auto expected = run_forward(sentence_in(visit).model(), read, default_kernels(), {}, written);
    REQUIRE(expected);
    CHECK(whole.run->final_residual() == (*expected)->final_residual());

    // The link restores both texts.
    const State linked = parse_fragment(to_fragment(visit.state())).state;
    CHECK(sentence_of(linked) == sentence_of(visit.state()));
    CHECK(linked.selection == visit.state().selection);
}

TEST_CASE("every preset is translated as it says, token by token, and one step of undo takes it back") {
    FakePage page;
    Visit visit(page);
    open_translator(visit, page);
    for (const TranslationPreset& preset : translation_presets) {
        CAPTURE(preset.key);
        visit.perform(subject_in(visit).translating()->texts(preset.english, ""));
        split_boxes(visit, page);
        CHECK(sentence_in(visit).run()->tokens() == 1);
        sentence_in(visit).play(true);
        answer(visit, page);
        CHECK(sentence_of(visit.state()).written == preset.french);
        visit.undo();
        CHECK(sentence_of(visit.state()).written.empty());
        CHECK(page.second == "");
        visit.redo();
        CHECK(page.second == preset.french);
        split_boxes(visit, page);
        // At the end it starts again.
        sentence_in(visit).play(true);
        CHECK(page.second == "");
        split(visit, Box::second, "");
        answer(visit, page);
        CHECK(sentence_of(visit.state()).written == preset.french);
    }
    page.notices.clear();
    sentence_in(visit).generate_step();
    answer(visit, page);
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "translator ends its text here: it drew “</s>”.");
    CHECK(page.appended.empty());
}

TEST_CASE("an empty second box is the start token alone, and either text can be typed") {
    FakePage page;
    Visit visit(page);
    open_translator(visit, page);
    visit.text_typed(Box::second, "");
    split(visit, Box::second, "");
    finish(visit);
    CHECK(sentence_in(visit).run()->pieces == std::vector<std::string>{"<pad>"});
    visit.text_typed(Box::second, "Le chien");
    split(visit, Box::second, "Le chien");
    finish(visit);
    CHECK(sentence_in(visit).run()->pieces == std::vector<std::string>{"<pad>", "·Le", "·chien"});
    visit.text_typed(Box::first, "The dog sat.");
    split(visit, Box::first, "The dog sat.");
    finish(visit);
    CHECK(sentence_in(visit).run()->of(0).pieces ==
          std::vector<std::string>{"·The", "·dog", "·sat", ".", "</s>"});
    CHECK(sentence_of(visit.state()).written == "Le chien");
    // Without a text to read, nothing is shown.
    visit.text_typed(Box::first, "");
    split(visit, Box::first, "");
    finish(visit);
    CHECK_FALSE(sentence_in(visit).run());
}

TEST_CASE("queries and keys are those of the chosen head's texts") {
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        FakePage page;
        page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
        Visit visit(page);
        const std::vector<std::int32_t> read{5, 9, 13, 7, 1}, written{4, 11, 6};
        open_encoder_decoder(visit, family, read, written);
        SentenceSubject& sentence = sentence_in(visit);
        REQUIRE(sentence.run());
        const std::vector<std::string> of_read{"·w5", "·w9", "·w13", "·w7", "·w1"},
            of_written{"·w0", "·w4", "·w11", "·w6"};
        const Trace& trace = *sentence.run()->run;
        const ModelConfig& config = sentence.model()->config();
        CHECK(sentence.run()->layers() == config.attentions());
        for (Index layer = 0; layer < config.attentions(); ++layer) {
            CAPTURE(layer);
            visit.perform(Select{{layer, 1, {}, {}, {}}});
            Attention& attention = *subject_in(visit).attention();
            const bool encoder = layer < config.layers,
                       cross = layer >= config.layers + config.decoder_layers;
            CHECK(attention.query_names() == (encoder ? of_read : of_written));
            CHECK(attention.key_names() == (encoder || cross ? of_read : of_written));
            CHECK(attention.one_line() == !cross);
            const MapPointer map = attention.map(layer, 1, {});
            const Record& record = trace.attention(layer).record();
            REQUIRE(map->queries() == attention.queries());
            REQUIRE(map->keys() == attention.keys());
            for (Index i = 0; i < map->queries(); ++i) {
                double sum = 0;
                for (Index j = 0; j < map->keys(); ++j) {
                    const auto why = explained(visit, RunCell{Stage::weight, i, j});
                    REQUIRE(why);
                    CHECK(why->f32 == static_cast<double>(record.cell(Stage::weight, 1, i, j)));
                    // f32 compared with double, over sums of at most 10 products.
                    CHECK(why->f64 == Catch::Approx(why->f32).margin(1e-5));
                    sum += why->f64;
                }
                CHECK(sum == Catch::Approx(1).epsilon(1e-12));
            }
            // Heads over the same texts are saved together.
            const parts::AllHeads all = parts::all_heads(attention, {});
            CHECK(all.layers == (encoder ? config.layers : config.decoder_layers));
            CHECK(all.map(0, 0)->keys() == attention.keys());
            // A token that this head does not have cannot be chosen.
            visit.perform(Select{{layer, 1, attention.queries() - 1, attention.keys() - 1, {}}});
            CHECK(visit.state().selection.query == attention.queries() - 1);
            visit.perform(Select{{layer, 1, attention.queries(), attention.keys(), {}}});
            CHECK_FALSE(visit.state().selection.query);
            CHECK_FALSE(visit.state().selection.key);
        }
        // T5's bias is a separate step that says where it is stored.
        visit.perform(Select{{0, 1, {}, {}, {}}});
        const auto score = explained(visit, RunCell{Stage::masked, 3, 1});
        REQUIRE(score);
        const auto bias = std::ranges::find(score->steps, "bias", &Explained::Step::name);
        REQUIRE(bias != score->steps.end());
        const auto bucket = bias_bucket(trace, 0, 3, 1);
        REQUIRE(bucket);
        CHECK(score->note.find("bucket " + std::to_string(*bucket) + " of ") != std::string::npos);
        CHECK(score->note.find("relative_attention_bias.weight[" + std::to_string(*bucket) + ", 1]") !=
              std::string::npos);
        CHECK(score->note.find("2 tokens before the query") != std::string::npos);
        visit.perform(Select{{config.attentions() - 1, 1, {}, {}, {}}});
        CHECK(explained(visit, RunCell{Stage::scaled, 3, 1})->note.empty());
        CHECK(page.notices.empty());
    }
}

TEST_CASE("a written text waits in the State for an encoder–decoder, and goes with a departing one") {
    FakePage page;
    Visit visit(page);
    visit.start("v=1&subject=sentence&text=what%20is%20read&written=what%20is%20written&model=own");
    const auto open = [&](const std::string& name, const SmallFamily& family) {
        const ModelFiles files = files_of(family);
        load_files(visit, name, as_opened(files));
    };
    CHECK(sentence_of(visit.state()).written == "what is written");
    open("gpt2", small_families.front());
    CHECK(sentence_of(visit.state()).written == "what is written");
    CHECK_FALSE(page.second);
    open("own", small_encoder_decoders.front());
    CHECK(sentence_of(visit.state()).written == "what is written");
    CHECK(page.second == "what is written");
    open("gpt2", small_families.front());
    CHECK(sentence_of(visit.state()).written.empty());
}

TEST_CASE("a pin that the other text lacks is dropped") {
    FakePage page;
    Visit visit(page);
    open_translator(visit, page);
    // The texts have 8 and 10 tokens.
    visit.perform(Select{{2, 0, {}, {}, {}}});
    visit.perform(Pin{RunCell{Stage::weight, 9, 9}});
    CHECK(visit.state().pin);
    visit.perform(Select{{0, 0, {}, {}, {}}});
    CHECK_FALSE(visit.state().pin);
}
