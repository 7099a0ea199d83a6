// Tests tokenizer.json: a written file reads back the same, and an unreadable one is reported in one
// sentence.
#include "vocabularies.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::StartsWith;
using nlohmann::json;

namespace {

void refused(const json& tree, const std::string& what) {
    const auto result = parse(tree);
    REQUIRE_FALSE(result);
    CHECK(result.error().message == "tokenizer.json " + what);
}

json with(json tree, const char* pointer, json value) {
    tree[json::json_pointer(pointer)] = std::move(value);
    return tree;
}

json added(const std::string& content, int id) {
    return json::array({{{"id", id}, {"content", content}, {"special", true}}});
}

}  // namespace

TEST_CASE("to_json's output encodes the same", "[text]") {
    const std::string text =
        "the cat sat on the mat\n\nthe cat; das Kätzchen saß \"quoted\\\" 日本日本 😀😀<|end|>";
    const Bpe bpe = trained({text}, 300, {"<|end|>", "<pad>"});
    const std::string written = bpe.to_json();
    const auto again = Bpe::parse(as_bytes(written));
    REQUIRE(again);
    CHECK(again->vocabulary_size() == 300);
    CHECK(again->encode(text) == bpe.encode(text));
    CHECK(again->encode("the cats") == bpe.encode("the cats"));
    CHECK(again->to_json() == written);

    const json tree = json::parse(written, nullptr, false);
    REQUIRE(tree.is_object());
    CHECK(tree["version"] == "1.0");
    CHECK(tree["added_tokens"].size() == 2);
    CHECK(tree["added_tokens"][0]["content"] == "<|end|>");
    CHECK(tree["added_tokens"][0]["special"] == true);
    CHECK(tree["pre_tokenizer"]["add_prefix_space"] == false);
    CHECK(tree["model"]["vocab"].size() == 300);
    CHECK(tree["model"]["vocab"]["Ġ"] == 2 + 220);  // GPT-2's place, shifted by two special tokens
}

TEST_CASE("merges may be texts or pairs", "[text]") {
    json tree = tokenizer_json({{"a", "b"}, {"ab", "Ġ"}});
    const std::vector<std::int32_t> ids = parsed(tree).encode("ab");
    tree["model"]["merges"] = {"a b", "ab Ġ"};
    CHECK(parsed(tree).encode("ab") == ids);
    CHECK(ids.size() == 1);
}

TEST_CASE("parts that change nothing are accepted", "[text]") {
    json tree = tokenizer_json({{"a", "b"}});
    tree["normalizer"] = nullptr;
    tree["truncation"] = {{"max_length", 4}};
    tree["post_processor"] = {{"type", "ByteLevel"}, {"trim_offsets", false}};
    tree["model"].update(
        {{"dropout", nullptr}, {"continuing_subword_prefix", ""}, {"end_of_word_suffix", nullptr}});
    CHECK(parsed(tree).vocabulary_size() == 257);
    tree.erase("added_tokens");
    CHECK(parsed(tree).vocabulary_size() == 257);
}

TEST_CASE("normalized added tokens come after the others", "[text]") {
    json tree = tokenizer_json({{"a", "b"}});
    tree["added_tokens"] = {{{"id", 257}, {"content", "ab-"}, {"special", false}, {"normalized", true}},
                            {{"id", 258}, {"content", "-ba"}, {"special", true}, {"normalized", false}}};
    const auto ids = [](const json& of, std::string_view text) { return parsed(of).encode(text); };
    using Ids = std::vector<std::int32_t>;
    CHECK(ids(tree, "ab-ba") == Ids{256, 258});
    CHECK(ids(tree, "ab-ab-ba") == Ids{257, 256, 258});
    CHECK(Bpe::parse(as_bytes(parsed(tree).to_json()))->encode("ab-ba") == Ids{256, 258});
    // Special tokens are then not normalized.
    for (json& token : tree["added_tokens"]) token.erase("normalized");
    CHECK(ids(tree, "ab-ba") == Ids{256, 258});
    tree["added_tokens"][0]["normalized"] = false;
    CHECK(ids(tree, "ab-ba") == Ids{257, 65, 64});
}

TEST_CASE("another kind of tokenizer is refused by name", "[text]") {
    const json good = tokenizer_json({{"a", "b"}});
    refused(json::array(), "should hold an object, but holds array");
    refused(json::object(), "has no 'model'; 'BPE' is what can be read here");
    refused(with(good, "/model/type", "Unigram"),
            "has the model 'Unigram', which is not supported; 'BPE' is");
    refused(with(good, "/model", 7), "has the model without a 'type', which is not supported; 'BPE' is");
    refused(with(good, "/pre_tokenizer/type", "Metaspace"),
            "has the pre_tokenizer 'Metaspace', which is not supported; 'ByteLevel' is");
    refused(with(good, "/decoder", nullptr), "has no 'decoder'; 'ByteLevel' is what can be read here");
    refused(with(good, "/post_processor", {{"type", "TemplateProcessing"}}),
            "has the post_processor 'TemplateProcessing', which is not supported; 'ByteLevel' is");
    refused(with(good, "/normalizer", {{"type", "NFC"}}),
            "has the normalizer 'NFC'; only files without one are supported");
    refused(with(good, "/pre_tokenizer/add_prefix_space", true),
            "puts a space before the text (add_prefix_space), which is not supported");
    refused(with(good, "/pre_tokenizer/use_regex", false),
            "does not divide the text into pieces (use_regex), which is not supported");
    refused(with(good, "/model/dropout", 0.1),
            "leaves out merges at random (dropout), which is not supported");
    refused(with(good, "/model/ignore_merges", true),
            "looks whole pieces up before it merges (ignore_merges), which is not supported");
    refused(with(good, "/model/end_of_word_suffix", "</w>"),
            "marks the parts of words (end_of_word_suffix), which is not supported");
}

TEST_CASE("an inconsistent vocabulary is refused", "[text]") {
    const json good = tokenizer_json({{"a", "b"}});
    refused(with(good, "/model/vocab", json::array()),
            "has no vocabulary: 'vocab' in 'model' should be an object");
    refused(with(good, "/model/vocab/ab", "x"),
            "should have a whole number as the id of 'ab', but has string");
    refused(with(good, "/model/vocab/ab", -1),
            "should have a whole number as the id of 'ab', but has number");
    refused(with(good, "/model/vocab/ab", 4'000'000'000),
            "has 4000000000 as the id of 'ab', but only 257 tokens");
    refused(with(good, "/model/vocab/ab", 255), "gives the id 255 to a second token, '\\xc5\\x83'");
    refused(with(good, "/model/vocab/a b", 257),
            "has the token 'a b', which is not written in the characters of byte-level BPE");
    json without = good;
    without["model"]["vocab"].erase("!");
    without["model"]["vocab"]["!!"] = 0;
    refused(without, "has no token '!' for the byte 33; byte-level BPE needs all 256");
    json gap = good;
    gap["model"]["vocab"].erase("!");
    refused(gap, "has 256 as the id of 'ab', but only 256 tokens");
    refused(with(with(good, "/model/vocab/ab", 257), "/added_tokens", added("ab", 257)),
            "has no token with the id 256, but one with 257");
}

TEST_CASE("merges of missing tokens are refused", "[text]") {
    const json good = tokenizer_json({{"a", "b"}});
    refused(with(good, "/model/merges", nullptr), "has no merges: 'merges' in 'model' should be a list");
    refused(with(good, "/model/merges/0", "ab"),
            "has the merge 'ab'; it should be two tokens with a space between them");
    refused(with(good, "/model/merges/0", "a b c"),
            "has the merge 'a b c'; it should be two tokens with a space between them");
    refused(with(good, "/model/merges/0", 5), "should have two tokens as each of its merges, but has number");
    refused(with(good, "/model/merges/0", {"a", "ba"}), "merges 'a' and 'ba', but has no token 'ba'");
    refused(with(good, "/model/merges/0", {"b", "a"}), "merges 'b' and 'a', but has no token 'ba'");
}

TEST_CASE("ambiguous added tokens are refused", "[text]") {
    const json good = tokenizer_json({{"a", "b"}});
    refused(with(good, "/added_tokens", 1), "should have a list as 'added_tokens', but has number");
    refused(with(good, "/added_tokens", json::array({"<s>"})),
            "has an added token without 'content' or 'id'");
    refused(with(good, "/added_tokens", added("", 257)),
            "has the added token '' of 0 bytes; it should have 1 to 256");
    refused(with(good, "/added_tokens", std::vector<int>(10'001)),
            "has 10001 added tokens; at most 10000 can be read here");
    json twice = with(good, "/added_tokens", added("<s>", 257));
    twice["added_tokens"].push_back(twice["added_tokens"][0]);
    refused(twice, "has the added token '<s>' twice");
    json stripped = with(good, "/added_tokens", added("<s>", 257));
    stripped["added_tokens"][0]["lstrip"] = true;
    refused(stripped, "has the added token '<s>' with 'lstrip', which is not supported");
    refused(with(good, "/added_tokens", added("ab", 257)), "has two ids for 'ab'");
    refused(with(good, "/added_tokens", added("Ġ", 220)),
            "has the added token '\\xc4\\xa0', which is also how byte-level BPE writes other bytes");
    CHECK(parsed(with(good, "/added_tokens", added("ab", 256))).vocabulary_size() == 257);
}

TEST_CASE("invalid JSON is refused as such", "[text]") {
    const auto result = Bpe::parse(as_bytes("{\"model\""));
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().message, StartsWith("tokenizer.json is not valid JSON at line 1"));
}
