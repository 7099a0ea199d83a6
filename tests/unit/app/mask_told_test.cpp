// Tests that explanations of masked and of visible scores name the model's rule behind them.
#include "subjects/explain.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

const std::vector<std::string> told_words{"a", "b", "c", "d", "e", "f", "g", "h"};

std::unique_ptr<TextRun> told_run(const char* name, const std::optional<Mask>& mask = {}) {
    const auto all = all_small_families();
    const auto found = std::ranges::find(all, std::string_view(name), &SmallFamily::name);
    REQUIRE(found != all.end());
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6};
    auto trace = run_text(small_model(*found), ids);
    REQUIRE(trace);
    if (mask) {
        auto under = ForwardPass::start_under(*mask, (*trace)->model(), ids);
        REQUIRE(under);
        trace = under->finish();
        REQUIRE(trace);
    }
    const auto text = std::make_shared<const ReadText>(told_words, "a b c d e f g h");
    const auto read = std::make_shared<const ReadText>(
        std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, "a b c d e f g h i");
    return std::make_unique<TextRun>(*trace, text, (*trace)->encoder() ? read : nullptr, "tiny");
}

Explained told_at(TextRun& run, Index layer, Index row, Index col, Stage stage = Stage::weight) {
    auto why = explain_run_cell(run.of(layer), {layer, 1}, {.stage = stage, .row = row, .col = col}, {});
    REQUIRE(why);
    return *why;
}

std::string step_of(const Explained& why, std::string_view name) {
    const auto found = std::ranges::find(why.steps, name, &Explained::Step::name);
    return found == why.steps.end() ? "no such step" : found->arithmetic;
}

}  // namespace

TEST_CASE("a window is a step, distinguished from causality", "[app]") {
    struct Windows {
        const char* family;
        Index width;
        std::vector<bool> windowed;  // per layer, from the family's configuration
    };
    for (const Windows& of :
         {Windows{"mistral", 4, {true, true}}, Windows{"qwen2", 4, {false, true}},
          Windows{"gemma2", 4, {true, false}}, Windows{"gemma3_text", 4, {true, false, true}},
          Windows{"phi3_window", 5, {true, true}}, Windows{"phi3", 5, {true, true}},
          Windows{"llama", 0, {false, false}}}) {
        const auto run = told_run(of.family);
        for (Index layer = 0; layer < std::ssize(of.windowed); ++layer) {
            CAPTURE(of.family, layer);
            const bool windowed = of.windowed[static_cast<std::size_t>(layer)];
            const std::string keys = " the window of " + std::to_string(of.width) + " keys";
            for (Index row = 0; row < 8; ++row)
                for (Index col = 0; col < 8; ++col) {
                    CAPTURE(row, col);
                    const Explained why = told_at(*run, layer, row, col);
                    const bool after = col > row, outside = windowed && row - col >= of.width;
                    CHECK(why.masked == (after || outside));
                    CHECK(step_of(why, "masked") == (after      ? "after the query: −∞"
                                                     : outside  ? "outside" + keys + ": −∞"
                                                     : windowed ? "inside" + keys
                                                                : "not after the query"));
                }
            const Explained last = told_at(*run, layer, 7, 0);
            CHECK((last.note == "") == !windowed);
            if (!windowed) continue;
            CHECK(last.note == "Window: a query of this layer sees " + std::to_string(of.width) +
                                   " keys, itself included. That of \"h\" reaches back to " +
                                   (of.width == 4 ? "\"e\" at position 4" : "\"d\" at position 3") +
                                   ", behind this key.");
            CHECK_THAT(told_at(*run, layer, 1, 0).note,
                       EndsWith("That of \"b\" reaches back to \"a\" at position 0."));
            // Masked scores follow the same rule; an output has none.
            CHECK_THAT(told_at(*run, layer, 7, 0, Stage::masked).note, ContainsSubstring("behind this key"));
            CHECK(told_at(*run, layer, 7, 0, Stage::output).note == "");
        }
    }
}

TEST_CASE("a user's mask in place of a model's own does not mention its rules", "[app]") {
    const auto run = told_run("mistral", Mask::causal());
    CHECK(step_of(told_at(*run, 0, 7, 0), "masked") == "the mask allows it");
    CHECK(step_of(told_at(*run, 0, 0, 7), "masked") == "masked: −∞");
    CHECK(told_at(*run, 0, 7, 0).note == "");
}

TEST_CASE("a T5 bias is a step that names its bucket, its distance and its place", "[app]") {
    const auto run = told_run("t5");
    const TextRun& whole = run->whole();
    // The buckets of 8 in both directions within 6 tokens, from transformers' _relative_position_bucket.
    const Explained encoder = told_at(*run, 0, 4, 2);
    CHECK(step_of(encoder, "bias") == "of bucket 2: 2 tokens before the query");
    CHECK_THAT(encoder.note, ContainsSubstring("encoder.block.0.layer.0.SelfAttention.relative_attention_bias"
                                               ".weight[2, 1], at byte ") &&
                                 EndsWith(" of model.safetensors."));
    CHECK(step_of(told_at(*run, 0, 2, 3), "bias") == "of bucket 5: 1 token after the query");
    CHECK(step_of(encoder, "masked").find(" + ") != std::string::npos);
    const Index decoder = whole.run->model()->config().layers;
    CHECK(step_of(told_at(*run, decoder, 3, 3), "bias") == "of bucket 0: at the query itself");
    CHECK(step_of(told_at(*run, decoder, 2, 5), "masked") == "after the query: −∞");
    // Cross-attention has neither biases nor a mask.
    const Explained cross = told_at(*run, decoder + whole.run->model()->config().decoder_layers, 2, 5);
    CHECK(step_of(cross, "bias") == "no such step");
    CHECK(step_of(cross, "masked") == "no such step");
}
