// Runs the program attn as a person types it.
#include <catch_amalgamated.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/npy.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/gguf_writer.hpp"
#include "support/shared_data.hpp"
#include "support/small_families.hpp"
#include "train/piece_vocabulary.hpp"
#include "unit/cli/program.hpp"

using namespace attn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::Matches;
using Catch::Matchers::StartsWith;
using test::Folder;
using test::Outcome;
using test::run;

namespace {

std::string golden(const std::string& name) {
    return "'" + (test::source_dir() / "tests/golden/model" / name).string() + "'";
}

}  // namespace

TEST_CASE("attn without a command, with an unknown one, with --help and with --version", "[cli]") {
    CHECK(run("").code == 2);
    CHECK_THAT(run("").text, StartsWith("usage:"));
    CHECK(run("--help").code == 0);
    CHECK_THAT(run("--help").text, ContainsSubstring("attn generate MODEL"));
    CHECK(run("--version").code == 0);
    CHECK_THAT(run("--version").text, Matches(R"(attn \d+\.\d+\.\d+( · [0-9a-f]{8,})?\n)"));
    CHECK(run("fly").code == 2);
    CHECK(run("fly").text == "attn: there is no command fly; attn --help explains\n");
}

TEST_CASE("attn refuses arguments in one sentence", "[cli]") {
    const auto refused = [](const std::string& arguments, const std::string& sentence) {
        const Outcome outcome = run(arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.text == "attn: " + sentence + "; attn --help explains\n");
    };
    refused("trace", "trace takes one MODEL");
    refused("trace a b", "trace takes one MODEL");
    refused("trace m --out d", "--ids is missing");
    refused("trace m --ids 1", "--out is missing");
    refused("generate m --ids 1,,2", "--ids takes token ids with commas between them, not '1,,2'");
    refused("generate m --ids 1,x", "--ids takes token ids with commas between them, not '1,x'");
    refused("generate m --ids 99999999999",
            "--ids takes token ids with commas between them, not '99999999999'");
    refused("generate m --ids 1 --steps many", "--steps takes a number, not 'many'");
    refused("generate m --ids 1 --steps -1", "--steps takes a whole number from 0 on");
    refused("generate m --ids 1 --seed", "--seed takes a value");
    refused("generate m --ids 1 --seed 1 --seed 2", "--seed is given twice");
    refused("generate m --ids 1 --heat 1", "there is no option --heat");
    refused("train", "train takes one RECIPE");
    refused("train r --text t", "--out is missing");
    refused("card", "card takes one MODEL");
    refused("tokenizer", "tokenizer takes train or encode");
    refused("tokenizer encode t", "tokenizer encode takes a TOKENIZER and a FILE");
    refused("tokenizer train --out o --text a", "--vocabulary is missing");
    refused("tokenizer train --vocabulary 300 --text a", "--out is missing");
    refused("tokenizer train --vocabulary 300 --out o", "--text is missing");
    refused("tokenizer train --vocabulary 300 --text --out o", "--text takes a value");
    refused("tokenizer train --text a --text b", "--text is given twice");
    refused("tokenizer train x --vocabulary 300", "tokenizer train takes options only");
    refused("conformance", "conformance takes a DIR");
}

TEST_CASE("attn says in one sentence why a model does not run", "[cli]") {
    const auto fails = [](const std::string& arguments, const std::string& sentence) {
        const Outcome outcome = run(arguments);
        CHECK(outcome.code == 1);
        CHECK(outcome.text == "attn: " + sentence + "\n");
    };
    fails("generate /nowhere --ids 1", "'/nowhere' is not a folder with a model");
    fails("generate " + golden("gpt2-f32") + " --ids 31",
          "token id 31 at position 0 is outside the vocabulary of 31");
    fails("generate " + golden("gpt2-f32") + " --ids 1 --top-p 0", "top-p must lie above 0 and not above 1");
    Folder folder;
    std::filesystem::create_directories(folder.path);
    std::filesystem::copy(test::source_dir() / "tests/golden/model/gpt2-f32/config.json", folder.path);
    fails("generate " + folder.path.string() + " --ids 1",
          "'" + folder.path.string() + "' holds neither model.safetensors nor model.safetensors.index.json");
}

TEST_CASE("attn generate prints ids on one line", "[cli]") {
    const Outcome greedy = run("generate " + golden("llama-sharded-bf16") + " --ids 1,2,3 --steps 4");
    CHECK(greedy.code == 0);
    CHECK(std::ranges::count(greedy.text, ' ') == 3);
    CHECK_THAT(greedy.text, EndsWith("\n"));

    const std::string sampled =
        "generate " + golden("llama-sharded-bf16") + " --ids 1,2,3 --temperature 1 --seed ";
    CHECK(run(sampled + "1").text == run(sampled + "1").text);
    CHECK(run(sampled + "1").text != run(sampled + "2").text);

    const Outcome full =
        run("generate " + golden("gpt2-f32") + " --ids 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16");
    CHECK(full.code == 1);
    CHECK_THAT(full.text, EndsWith("\nattn: the context of 18 tokens is full\n"));
}

TEST_CASE("attn tokenizer encode reads what attn tokenizer train writes", "[cli]") {
    Folder folder;
    std::filesystem::create_directories(folder.path);
    const auto put = [&](const char* name, std::string_view text) {
        const std::string path = (folder.path / name).string();
        std::ofstream(path) << text;
        return path;
    };
    const std::string one = put("one", "aa<s>"), two = put("two", "aa\nbb");
    const std::string tokenizer = (folder.path / "tokenizer.json").string();
    const std::string train =
        "tokenizer train --text " + one + " " + two + " --special '<s>' --out " + tokenizer;
    CHECK(run(train + " --vocabulary 259").text.empty());
    CHECK(run("tokenizer encode " + tokenizer + " " + one).text == "257 0\n");
    CHECK(run("tokenizer encode " + tokenizer + " " + two).text == "257 199 258\n");
    // A file that transformers also reads.
    put("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true})");
    CHECK(run("tokenizer encode " + tokenizer + " " + one).text ==
          "attn: tokenizer_config.json puts a token around texts (add_bos_token), which is not supported\n");
    put("tokenizer_config.json", R"({"tokenizer_class": "GemmaTokenizer"})");
    CHECK(run("tokenizer encode " + tokenizer + " " + one).code == 1);
    put("tokenizer_config.json", R"({"tokenizer_class": "GPTNeoXTokenizerFast", "add_eos_token": true})");
    CHECK_THAT(run("tokenizer encode " + tokenizer + " " + one).text, ContainsSubstring("(add_eos_token)"));
    for (const char* config : {R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false})",
                               R"({"tokenizer_class": "Qwen2Tokenizer", "add_bos_token": false})", "{}"}) {
        put("tokenizer_config.json", config);
        CHECK(run("tokenizer encode " + tokenizer + " " + one).text == "257 0\n");
    }
    const Outcome large = run(train + " --vocabulary 300");
    CHECK(large.code == 1);
    CHECK(large.text == "attn: a vocabulary of 300 tokens is more than this text supports; it makes 259\n");
    CHECK_THAT(run("tokenizer encode " + two + " " + one).text,
               StartsWith("attn: tokenizer.json is not valid JSON"));
    CHECK_THAT(run("tokenizer encode /nowhere " + one).text, StartsWith("attn: /nowhere: "));
}

TEST_CASE("attn tokenizer encode reads the tokenizer of a GGUF file", "[cli][gguf]") {
    const auto shared = test::shared_data("gguf");
    if (!shared) SKIP("the shared GGUF files are not here; set ATTN_SHARED to their folder");
    Folder folder;
    std::filesystem::create_directories(folder.path);
    const std::string text = (folder.path / "text").string();
    std::ofstream(text) << "one<|endoftext|>two";
    const auto encode = [&](const char* file) {
        return run("tokenizer encode " + (*shared / file).string() + " " + text).text;
    };
    CHECK(encode("gpt2/gpt2-tiny-q8_0.gguf") == "291 68 399 83 86 78\n");
    CHECK(encode("gpt2/gpt2-tiny-q8_0-00001-of-00002.gguf") == "291 68 399 83 86 78\n");
    CHECK_THAT(encode("gpt2/gpt2-tiny-q8_0-00002-of-00002.gguf"),
               ContainsSubstring("The file has no tokenizer: it lacks tokenizer.ggml.model"));
    CHECK_THAT(encode("broken/bos-99.gguf"), StartsWith("attn: ") && ContainsSubstring("bos_token_id is 99"));
}

TEST_CASE("attn runs GGUF files, also one of several", "[cli][gguf]") {
    Folder folder;
    std::filesystem::create_directories(folder.path);
    const auto put = [&](const std::string& name, const test::GgufWriter& writer) {
        const auto bytes = writer.file();
        const std::string path = (folder.path / name).string();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
        return path;
    };
    const ModelFiles files = test::files_of(test::small_families[1]);
    const std::string one = put("x.gguf", test::converted_to_gguf(files)),
                      first = put("x-00001-of-00002.gguf", test::converted_to_gguf(files, 0, 2));
    const std::string note =
        "note: the file lists no tokens (tokenizer.ggml.tokens), so only ids can be given\n";
    const Outcome traced = run("trace " + one + " --ids 1,2,3 --out " + (folder.path / "out").string());
    CHECK(traced.text == note);
    REQUIRE(traced.code == 0);
    const auto logits = test::read_file(folder.path / "out/logits.npy");
    const auto array = parse_npy(logits);
    REQUIRE(array);
    const auto trace = run_forward(test::small_model(test::small_families[1]), {1, 2, 3});
    REQUIRE(trace);
    CHECK(*to_tensor(*array) == (*trace)->logits({0, 3}));

    const Outcome alone = run("generate " + first + " --ids 1,2,3 --steps 4");
    CHECK(alone.code == 1);
    CHECK_THAT(alone.text, ContainsSubstring("x-00002-of-00002.gguf' is missing: the model is in 2 files"));
    const std::string second = put("x-00002-of-00002.gguf", test::converted_to_gguf(files, 1, 2));
    const std::string expected = run("generate " + one + " --ids 1,2,3 --steps 4").text;
    CHECK(run("generate " + first + " --ids 1,2,3 --steps 4").text == expected);
    CHECK(run("generate " + second + " --ids 1,2,3 --steps 4").text == expected);

    std::filesystem::resize_file(second, 100);
    CHECK_THAT(run("generate " + first + " --ids 1").text,
               StartsWith("attn: " + second + ": this GGUF file"));
    CHECK_THAT(run("generate " + (folder.path / "none.gguf").string() + " --ids 1").text,
               ContainsSubstring("none.gguf: No such file"));
}

TEST_CASE("attn trace writes every tensor and lists them", "[cli]") {
    Folder folder;
    const Outcome outcome = run("trace " + golden("qwen2-linear-f32") + " --ids 4,5,6 --out " +
                                (folder.path / "new/place").string());
    CHECK(outcome.text.empty());
    REQUIRE(outcome.code == 0);

    const auto list = test::read_file(folder.path / "new/place/tensors.json");
    const auto tensors = nlohmann::json::parse(
        std::string(reinterpret_cast<const char*>(list.data()), list.size()), nullptr, false);
    REQUIRE(tensors.is_array());
    for (const auto& entry : tensors) {
        const auto name = entry["name"].get<std::string>();
        CAPTURE(name);
        const auto file = test::read_file(folder.path / "new/place" / (name + ".npy"));
        const auto array = parse_npy(file);
        REQUIRE(array);
        CHECK(array->shape == entry["shape"].get<Shape>());
        CHECK(entry["axes"].size() == array->shape.size());
    }
    const auto attention = test::read_file(folder.path / "new/place/attention.npy");
    const auto logits = test::read_file(folder.path / "new/place/logits.npy");
    CHECK(parse_npy(attention)->shape == Shape{2, 4, 3, 3});
    CHECK(parse_npy(logits)->shape == Shape{3, 31});
}

TEST_CASE("attn train writes a model that runs, continues from its checkpoint, and gets a card", "[cli]") {
    const Folder folder;
    std::filesystem::create_directories(folder.path);
    const auto write = [&](const std::string& name, const std::string& text) {
        std::ofstream(folder.path / name) << text;
        return "'" + (folder.path / name).string() + "'";
    };
    const auto recipe = [&](const std::string& more) {
        return write("recipe.json",
                     R"({"model": {"model_type": "gpt2", "n_positions": 256, "n_embd": 8, "n_layer": 2,
            "n_head": 2, "tie_word_embeddings": true}, "vocabulary": 300,
            "training": {"batch": 2, "context": 16, "steps": 3)" +
                         more + R"(}, "mixture": {"text": 1, "sentences": 1}})");
    };
    std::string story;
    for (int i = 0; i < 40; ++i)
        story += "Once upon a time a small fox sat by the river and waited for the moon. ";
    const std::string text = write("story.txt", story), out = "'" + (folder.path / "model").string() + "'";
    const std::string command =
        "train " + recipe("") + " --text " + text + " --validate " + text + " --out " + out;
    const Outcome first = run(command);
    INFO(first.text);
    REQUIRE(first.code == 0);
    CHECK_THAT(first.text, ContainsSubstring("from step 0 of 3") && ContainsSubstring("bits a byte") &&
                               ContainsSubstring("heads: previous token"));
    const Outcome again = run(command);
    REQUIRE(again.code == 0);
    CHECK_THAT(again.text, ContainsSubstring("from step 3 of 3"));

    CHECK(run("generate " + out + " --ids 1,2,3 --steps 4").code == 0);
    const Outcome card = run("card " + out + " --validate " + text + " --recipe " + recipe(""));
    INFO(card.text);
    REQUIRE(card.code == 0);
    CHECK_THAT(card.text, ContainsSubstring("| bits per byte of story.txt |"));
    const auto scores =
        nlohmann::json::parse(std::ifstream(folder.path / "model" / "scores.json"), nullptr, false);
    CHECK(scores["heads"].size() == 4);
    CHECK(scores["pronouns"]["pairs"] >= 500);
    CHECK(std::filesystem::exists(folder.path / "model" / "README.md"));

    const auto fails = [&](const std::string& arguments, const std::string& says) {
        const Outcome outcome = run(arguments);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.text, ContainsSubstring(says));
    };
    fails("train " + recipe(R"(, "rate": 0)") + " --text " + text + " --out " + out,
          "the learning rate is 0");
    fails("train " + recipe(R"(, "dropout": 1)") + " --text " + text + " --out " + out, "dropout is 1");
    const std::string empty = write("empty.txt", ""), other = "'" + (folder.path / "other").string() + "'";
    fails("train " + recipe("") + " --text " + empty + " --out " + other, "the text has 0 tokens");
    fails("train nowhere --text " + text + " --out " + out, "nowhere");
}

TEST_CASE("attn train makes a translator, continues from its checkpoint, and attn card measures it",
          "[cli]") {
    const Folder folder;
    std::filesystem::create_directories(folder.path);
    const std::string out = "'" + (folder.path / "model").string() + "'",
                      recipe = "'" + (folder.path / "recipe.json").string() + "'";
    const auto write = [&](const std::string& more) {
        std::ofstream(folder.path / "recipe.json")
            << R"({"model": {"model_type": "t5", "d_model": 8, "d_kv": 4, "num_heads": 2, "d_ff": 8, "num_layers": 1},
            "vocabulary": )" +
                   std::to_string(PieceVocabulary().size()) +
                   R"(, "training": {"batch": 2, "steps": 3, "warmup": 1})" + more + "}";
    };
    write("");
    const std::string command = "train " + recipe + " --out " + out;
    const Outcome first = run(command);
    INFO(first.text);
    REQUIRE(first.code == 0);
    CHECK_THAT(first.text, ContainsSubstring("from step 0 of 3") &&
                               ContainsSubstring("held out: 0.0 % right; best head"));
    CHECK_THAT(run(command).text, ContainsSubstring("from step 3 of 3"));

    const Outcome card = run("card " + out + " --recipe " + recipe);
    INFO(card.text);
    REQUIRE(card.code == 0);
    CHECK_THAT(first.text, ContainsSubstring(" targets  gradient"));
    CHECK_THAT(card.text, ContainsSubstring("held-out pairs | 0.0 % |") && ContainsSubstring("cross head"));
    const auto scores =
        nlohmann::json::parse(std::ifstream(folder.path / "model" / "scores.json"), nullptr, false);
    CHECK(scores["heads"].size() == 2);
    CHECK(scores["translation"]["pairs"] == 2000);
    CHECK(std::filesystem::exists(folder.path / "model" / "tokenizer.json"));

    const auto fails = [&](const std::string& arguments, const std::string& says) {
        const Outcome outcome = run(arguments);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.text, ContainsSubstring(says));
    };
    fails("card " + out + " --validate " + recipe, "leave out the text");
    fails(command + " --text " + recipe, "leave out the texts");
    write(R"(, "mixture": {"text": 1})");
    fails(command, "a T5 learns from generated pairs alone");
}

TEST_CASE("attn trace takes the token types of a BERT's two sentences", "[cli]") {
    Folder folder;
    const auto place = folder.path / "bert";
    std::filesystem::create_directories(place);
    const auto family =
        std::ranges::find(test::small_families, std::string_view("bert"), &test::SmallFamily::name);
    REQUIRE(family != test::small_families.end());
    const ModelFiles files = test::files_of(*family);
    for (const auto& [name, bytes] :
         {std::pair("config.json", files.config), {"model.safetensors", files.weights.begin()->second}})
        std::ofstream(place / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    const std::string out = (folder.path / "out").string(),
                      trace = "trace " + place.string() + " --ids 2,7,3,9,3 --out " + out;
    const auto logits = [&](const std::string& arguments) {
        const Outcome outcome = run(arguments);
        CHECK(outcome.text.empty());
        REQUIRE(outcome.code == 0);
        const auto bytes = test::read_file(out + "/logits.npy");
        const auto array = parse_npy(bytes);
        REQUIRE(array);
        const auto tensor = to_tensor(*array);
        REQUIRE(tensor);
        return *tensor;
    };
    const auto expected = [&](std::vector<std::int32_t> segments) {
        const auto run =
            run_forward(test::small_model(*family), {2, 7, 3, 9, 3}, default_kernels(), std::move(segments));
        REQUIRE(run);
        return (*run)->logits({0, 5});
    };
    const Tensor pair = logits(trace + " --token-types 0,0,0,1,1"), alone = logits(trace);
    CHECK(pair == expected({0, 0, 0, 1, 1}));
    CHECK(alone == expected({}));
    CHECK(pair != alone);

    const auto fails = [](const std::string& arguments, int code, const std::string& sentence) {
        const Outcome outcome = run(arguments);
        CHECK(outcome.code == code);
        CHECK(outcome.text == "attn: " + sentence + "\n");
    };
    fails(trace + " --token-types 0,0,1", 1, "3 token types are not one for each of 5 tokens");
    fails(trace + " --token-types 0,0,0,1,2", 1, "token type 2 at position 4 is none of the model's 2");
    fails(trace + " --token-types 0,a", 2,
          "--token-types takes token ids with commas between them, not '0,a'; attn --help explains");
    const Outcome none = run("trace " + golden("gpt2-f32") + " --ids 1,2 --token-types 0,1 --out " + out);
    CHECK(none.code == 1);
    CHECK_THAT(none.text, ContainsSubstring("has no segments"));
}

TEST_CASE("attn trace writes the weights of a T5's three kinds of attention", "[cli]") {
    Folder folder;
    const auto place = folder.path / "t5";
    std::filesystem::create_directories(place);
    const test::SmallFamily& family = test::small_encoder_decoders[1];
    const ModelFiles files = test::files_of(family);
    const auto put = [&](const char* name, const Bytes& bytes) {
        std::ofstream(place / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    };
    put("config.json", files.config);
    put("model.safetensors", files.weights.begin()->second);
    const std::string ids = "--ids 7,18,2,8,1,8,2,19,4", out = (folder.path / "out").string();
    const Outcome outcome = run("trace " + place.string() + " " + ids + " --decoder-ids 0,3,1 --out " + out);
    CHECK(outcome.text.empty());
    REQUIRE(outcome.code == 0);
    const auto trace = test::run_text(test::small_model(family), {0, 3, 1});
    REQUIRE(trace);
    Index number = 0;
    for (const char* name : {"attention", "decoder_attention", "cross_attention"}) {
        const auto bytes = test::read_file(out + "/" + name + ".npy");
        const auto array = parse_npy(bytes);
        REQUIRE(array);
        const auto weights = to_tensor(*array);
        REQUIRE(weights);
        std::span<const float> rest = weights->values();
        for (Index layer = 0; layer < weights->dim(0); ++layer, ++number) {
            const Record& record = (*trace)->attention(number).record();
            REQUIRE(weights->shape() ==
                    Shape{weights->dim(0), record.heads(), record.queries(), record.keys()});
            for (Index head = 0; head < record.heads(); ++head)
                for (Index query = 0; query < record.queries(); ++query) {
                    const std::vector<float> row = record.weights(head, query);
                    CHECK(std::ranges::equal(rest.first(row.size()), row));
                    rest = rest.subspan(row.size());
                }
        }
    }
    CHECK(number == (*trace)->attentions());
    CHECK(run("generate " + place.string() + " " + ids + " --steps 3").code == 0);

    const Outcome none = run("trace " + golden("gpt2-f32") + " --ids 1 --decoder-ids 0 --out " + out);
    CHECK(none.code == 1);
    CHECK_THAT(none.text, ContainsSubstring("has no decoder beside an encoder"));
}

TEST_CASE("attn names a missing shard, not where it looked", "[cli]") {
    const Folder folder;
    const auto place = folder.path / std::string(60, 'd');
    std::filesystem::create_directories(place);
    const std::string shard = "model-" + std::string(80, '0') + "1-of-00002.safetensors";
    std::ofstream(place / "config.json") << R"({"model_type": "gpt2"})";
    std::ofstream(place / "model.safetensors.index.json")
        << nlohmann::json{{"weight_map", {{"wte.weight", shard}}}}.dump();
    CHECK(run("trace '" + place.string() + "' --ids 1 --out '" + (folder.path / "out").string() + "'").text ==
          "attn: model.safetensors.index.json names the file '" + shard + "', which is not in the folder\n");
}
