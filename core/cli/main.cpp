// attn runs and trains models, and makes tokenizers, from the command line.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/card.hpp"
#include "cli/check.hpp"
#include "cli/conformance.hpp"
#include "cli/lesson.hpp"
#include "cli/model_folder.hpp"
#include "cli/tokenizer.hpp"
#include "cli/trace_files.hpp"
#include "cli/training.hpp"
#include "cli/version.hpp"
#include "model/forward.hpp"
#include "model/generate.hpp"

namespace {

using namespace attn;

constexpr std::string_view usage = R"(usage:
  attn trace MODEL --ids 1,2,3 [--token-types 0,0,1] [--decoder-ids 0,4,5] --out DIR
      Runs the tokens and writes into DIR: logits.npy (tokens, vocabulary), attention.npy (layers, heads,
      queries, keys), every activation of the run as .npy, and tensors.json, which lists names, axes and shapes.
      A T5's encoder reads the ids and its decoder the decoder ids, which begin with the start token; its
      decoder's weights are decoder_attention.npy and cross_attention.npy.
  attn generate MODEL --ids 1,2,3 [--steps 64] [--temperature 0] [--top-k 0] [--top-p 1] [--seed 0]
      [--decoder-ids 0,4,5]
      Prints the ids of the tokens that follow, on one line. Temperature 0 takes the likeliest token.
  attn train RECIPE [--text FILE...] --out DIR [--validate FILE]
      Trains a network as the recipe has it and writes a model folder; goes on from the folder's checkpoint. A T5
      learns to translate generated sentences and takes no texts.
  attn card MODEL [--validate FILE] [--recipe FILE]
      Measures the model and writes scores.json and README.md, its model card, into its folder.
  attn tokenizer train --text FILE... --vocabulary N --out FILE [--special TOKEN...]
      Learns a byte-level BPE vocabulary of N tokens from the files' texts and writes it as a tokenizer.json.
  attn tokenizer encode TOKENIZER FILE
      Prints the ids of the file's text by a tokenizer.json or a .gguf file, on one line.
  attn conformance DIR...
      Runs recorded cases of ONNX operators, each a folder with a meta.json, and compares their outputs.
  attn check CASE... [--json]
      Says of each case whether attention was computed right: an .npz or .safetensors file, or a folder of .npy
      files, with q, k, v and output, or x, w_q, w_k, w_v, w_o, heads and output; perhaps mask, bias, weights,
      causal, scale, softcap, window, kv_heads, rope_base. Names what went wrong and the line to change, and ends
      with status 1 if something is wrong. --json prints the verdicts with stable keys.
  attn lesson FILE... [--models DIR]
      Checks lessons: opens the views of their steps as the page does, and says, as FILE:LINE: sentence, where a
      step passes before anything is done, a solution fails, a wrong attempt fails elsewhere than it says, or a
      number cannot be computed. Ends with status 1 if something is wrong. DIR has the folders of the models that
      come with the page; without it, models.
  attn --version
      Prints the version and the commit that the program was built from.

MODEL is a folder as it lies on a model hub: config.json, and model.safetensors or
model.safetensors.index.json with the files that it names. To trace and generate, also a .gguf file, or the
first of several in which a model is.
)";

enum Exit { success = 0, failure = 1, misuse = 2 };

int fail(const Error& error) {
    std::fprintf(stderr, "attn: %s\n", error.message.c_str());
    return failure;
}

int refuse(const Error& error) {
    std::fprintf(stderr, "attn: %s; attn --help explains\n", error.message.c_str());
    return misuse;
}

Result<std::shared_ptr<const Model>> load(const std::string& path) {
    auto model = is_gguf_name(path) ? load_gguf(path) : load_model_folder(path);
    if (model)
        for (const std::string& note : (*model)->notes()) std::fprintf(stderr, "note: %s\n", note.c_str());
    return model;
}

Result<std::vector<std::int32_t>> ids_if_given(const Arguments& arguments, std::string_view option) {
    if (!arguments.text(option)) return std::vector<std::int32_t>{};
    return arguments.ids(option);
}

int run_trace(std::span<const std::string> words) {
    constexpr std::array<std::string_view, 4> options{"--ids", "--token-types", "--decoder-ids", "--out"};
    const auto arguments = Arguments::parse(words, options);
    if (!arguments) return refuse(arguments.error());
    if (arguments->positional().size() != 1) return refuse({"trace takes one MODEL"});
    auto ids = arguments->ids("--ids");
    if (!ids) return refuse(ids.error());
    auto segments = ids_if_given(*arguments, "--token-types");
    if (!segments) return refuse(segments.error());
    auto decoder_ids = ids_if_given(*arguments, "--decoder-ids");
    if (!decoder_ids) return refuse(decoder_ids.error());
    const auto out = arguments->text("--out");
    if (!out) return refuse(out.error());

    auto model = load(arguments->positional().front());
    if (!model) return fail(model.error());
    const std::int64_t bytes =
        trace_bytes((*model)->config(), std::ssize(*ids), std::max<Index>(1, std::ssize(*decoder_ids)));
    if (auto status = check_memory("a run of " + std::to_string(ids->size()) + " tokens", bytes); !status)
        return fail(status.error());
    const auto trace = run_forward(std::move(*model), std::move(*ids), default_kernels(),
                                   *std::move(segments), *std::move(decoder_ids));
    if (!trace) return fail(trace.error());
    if (auto status = write_trace(**trace, *out); !status) return fail(status.error());
    return success;
}

int run_generate(std::span<const std::string> words) {
    constexpr std::array<std::string_view, 7> options{"--ids",   "--steps", "--temperature", "--top-k",
                                                      "--top-p", "--seed",  "--decoder-ids"};
    const auto arguments = Arguments::parse(words, options);
    if (!arguments) return refuse(arguments.error());
    if (arguments->positional().size() != 1) return refuse({"generate takes one MODEL"});
    auto ids = arguments->ids("--ids");
    if (!ids) return refuse(ids.error());
    auto decoder_ids = ids_if_given(*arguments, "--decoder-ids");
    if (!decoder_ids) return refuse(decoder_ids.error());
    const auto steps = arguments->number<Index>("--steps", 64);
    if (!steps) return refuse(steps.error());
    if (*steps < 0) return refuse({"--steps takes a whole number from 0 on"});
    const Sampling standard;
    const auto temperature = arguments->number("--temperature", standard.temperature);
    if (!temperature) return refuse(temperature.error());
    const auto top_k = arguments->number("--top-k", standard.top_k);
    if (!top_k) return refuse(top_k.error());
    const auto top_p = arguments->number("--top-p", standard.top_p);
    if (!top_p) return refuse(top_p.error());
    const auto seed = arguments->number("--seed", standard.seed);
    if (!seed) return refuse(seed.error());

    auto model = load(arguments->positional().front());
    if (!model) return fail(model.error());
    auto generator =
        Generator::start(std::move(*model), std::move(*ids),
                         {.temperature = *temperature, .top_k = *top_k, .top_p = *top_p, .seed = *seed},
                         *std::move(decoder_ids));
    if (!generator) return fail(generator.error());
    std::optional<Error> problem;
    for (Index step = 0; step < *steps && !problem; ++step) {
        if (const auto id = generator->next()) {
            std::printf("%s%d", step > 0 ? " " : "", *id);
            std::fflush(stdout);
        } else {
            problem = id.error();
        }
    }
    std::printf("\n");
    std::fflush(stdout);
    return problem ? fail(*problem) : success;
}

int run_train(std::span<const std::string> words) {
    constexpr std::array<std::string_view, 2> options{"--out", "--validate"};
    constexpr std::array<std::string_view, 1> lists{"--text"};
    const auto arguments = Arguments::parse(words, options, lists);
    if (!arguments) return refuse(arguments.error());
    if (arguments->positional().size() != 1) return refuse({"train takes one RECIPE"});
    const auto out = arguments->text("--out");
    if (!out) return refuse(out.error());
    const auto texts = arguments->list("--text");
    const auto validation = arguments->text("--validate");
    const auto status = train({.recipe = arguments->positional().front(),
                               .texts = texts,
                               .validation = validation ? *validation : "",
                               .folder = *out});
    return status ? success : fail(status.error());
}

int run_card(std::span<const std::string> words) {
    constexpr std::array<std::string_view, 2> options{"--validate", "--recipe"};
    const auto arguments = Arguments::parse(words, options);
    if (!arguments) return refuse(arguments.error());
    if (arguments->positional().size() != 1) return refuse({"card takes one MODEL"});
    const auto validation = arguments->text("--validate"), recipe = arguments->text("--recipe");
    const auto status =
        write_card(arguments->positional().front(), validation ? *validation : "", recipe ? *recipe : "");
    return status ? success : fail(status.error());
}

int run_tokenizer_train(std::span<const std::string> words) {
    constexpr std::array<std::string_view, 2> options{"--vocabulary", "--out"};
    constexpr std::array<std::string_view, 2> lists{"--text", "--special"};
    const auto arguments = Arguments::parse(words, options, lists);
    if (!arguments) return refuse(arguments.error());
    if (!arguments->positional().empty()) return refuse({"tokenizer train takes options only"});
    if (const auto given = arguments->text("--vocabulary"); !given) return refuse(given.error());
    const auto vocabulary = arguments->number("--vocabulary", 0);
    if (!vocabulary) return refuse(vocabulary.error());
    const auto out = arguments->text("--out");
    if (!out) return refuse(out.error());
    const auto files = arguments->list("--text");
    if (files.empty()) return refuse({"--text is missing"});
    if (auto status = train_tokenizer(files, *vocabulary, arguments->list("--special"), *out); !status)
        return fail(status.error());
    return success;
}

int run_tokenizer_encode(std::span<const std::string> words) {
    const auto arguments = Arguments::parse(words, {});
    if (!arguments) return refuse(arguments.error());
    if (arguments->positional().size() != 2) return refuse({"tokenizer encode takes a TOKENIZER and a FILE"});
    const auto ids = encode_file(arguments->positional()[0], arguments->positional()[1]);
    if (!ids) return fail(ids.error());
    const char* between = "";
    for (const std::int32_t id : *ids) {
        std::printf("%s%d", between, id);
        between = " ";
    }
    std::printf("\n");
    return success;
}

int run_tokenizer(std::span<const std::string> words) {
    if (!words.empty() && words.front() == "train") return run_tokenizer_train(words.subspan(1));
    if (!words.empty() && words.front() == "encode") return run_tokenizer_encode(words.subspan(1));
    return refuse({"tokenizer takes train or encode"});
}

}  // namespace

int main(int count, char** values) {
    const std::vector<std::string> words(values + 1, values + count);
    if (words.empty()) {
        std::fwrite(usage.data(), 1, usage.size(), stderr);
        return misuse;
    }
    const std::span<const std::string> rest = std::span(words).subspan(1);
    if (words.front() == "trace") return run_trace(rest);
    if (words.front() == "generate") return run_generate(rest);
    if (words.front() == "train") return run_train(rest);
    if (words.front() == "card") return run_card(rest);
    if (words.front() == "tokenizer") return run_tokenizer(rest);
    if (words.front() == "lesson") return run_lesson(rest);
    if (words.front() == "check") {
        std::vector<std::string> cases(rest.begin(), rest.end());
        const bool json = std::erase(cases, "--json") > 0;
        const auto arguments = Arguments::parse(cases, {});
        if (!arguments) return refuse(arguments.error());
        if (cases.empty()) return refuse({"check takes a CASE"});
        return run_check(cases, json);
    }
    if (words.front() == "conformance")
        return rest.empty() ? refuse({"conformance takes a DIR"}) : run_conformance(rest);
    if (words.front() == "--help" || words.front() == "-h") {
        std::fwrite(usage.data(), 1, usage.size(), stdout);
        return success;
    }
    if (words.front() == "--version") {
        std::printf("attn %s\n", std::string(version()).c_str());
        return success;
    }
    return refuse({"there is no command " + words.front()});
}
