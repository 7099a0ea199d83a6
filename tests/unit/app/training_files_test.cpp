#include "runs/training_files.hpp"

#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>

#include "support/threads.hpp"
#include "text/bpe.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

TrainingPlan small(const char* preset) {
    TrainingPlan plan = training_preset(preset)->plan;
    plan.layers = 1, plan.heads = 2, plan.d_model = 16, plan.context = 16, plan.batch = 1, plan.steps = 4;
    plan.vocabulary = is_symbolic(plan.task) ? 60 : 300;
    for (int i = 0; plan.task == TrainingTask::own_text && i < 400; ++i)
        plan.text += "The cat sat on mat " + std::to_string(i) + ". ";
    return plan;
}

struct Trained {
    TrainingRun run;
    TrainingView view;
};
Trained trained_view(const TrainingPlan& plan, std::int64_t steps) {
    auto run = TrainingRun::start(plan);
    REQUIRE(run);
    while (run->advance(steps, 1e9)) {
    }
    auto view = run->state_at(steps);
    REQUIRE(view);
    return {*std::move(run), *std::move(view)};
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a trained network is saved like models on a hub, and loads unchanged") {
    const Threads one(1);
    for (const char* preset : {"induction", "reversal", "copying", "pronouns", "own-text"}) {
        INFO(preset);
        TrainingPlan plan = small(preset);
        plan.values.ablated = {{0, 1}};
        const auto [run, view] = trained_view(plan, 2);
        Files files = hub_files(run, view);
        REQUIRE(files.size() == 3);
        ModelFiles folder;
        folder.config = files["config.json"];
        folder.weights["model.safetensors"] = files["model.safetensors"];
        const auto model = Model::load(std::move(folder));
        REQUIRE(model);
        CHECK((*model)->notes().empty());
        const auto trace = run_forward(*model, run.data().probe);
        REQUIRE(trace);
        CHECK((*trace)->logits({0, 16}) == view.probe->logits({0, 16}));
        if (run.data().tokenizer) {
            const auto tokenizer = Bpe::parse(files["tokenizer.json"]);
            REQUIRE(tokenizer);
            CHECK(tokenizer->vocabulary_size() == run.data().vocabulary);
            CHECK(tokenizer->encode("The animal") == run.data().tokenizer->encode("The animal"));
        }
    }
}

TEST_CASE("a tokenizer of symbols knows each as a word") {
    const Threads one(1);
    const auto [run, view] = trained_view(small("reversal"), 0);
    const auto json = nlohmann::json::parse(text_of(hub_files(run, view)["tokenizer.json"]), nullptr, false);
    REQUIRE(json.is_object());
    CHECK(json["model"]["type"] == "WordLevel");
    CHECK(json["pre_tokenizer"]["type"] == "WhitespaceSplit");
    const auto& vocabulary = json["model"]["vocab"];
    REQUIRE(vocabulary.size() == 60);
    CHECK(vocabulary["|"] == 0);
    CHECK(vocabulary["A"] == 1);
    CHECK(vocabulary["a"] == 27);
    CHECK(vocabulary["59"] == 59);
    // Reading the probe's text gives the probe's tokens.
    const std::string text = probe_text(run.data());
    std::vector<std::int32_t> ids;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        ids.push_back(vocabulary[text.substr(at, end - at)].get<std::int32_t>());
        at = end + 1;
    }
    CHECK(ids == run.data().probe);
}

TEST_CASE("the card says how the network was trained") {
    const Threads one(1);
    TrainingPlan plan = small("induction");
    plan.changes = {{2, {.rate = 0.5, .seed = 9, .window = 4, .ablated = {{0, 1}}}}};
    const auto [run, view] = trained_view(plan, 3);
    const std::string address =
        "#v=1&subject=training&train=one-layer,heads:2,d:16,vocabulary:60,context:16,batch:1,steps:4,at:2,"
        "rate:0.5,order:9,window:4,off:0.1&step=3";
    const std::string card = model_card(run, view, address);
    for (const char* part :
         {"# one-layer, step 3\n", "| Network | 1 layer of 2 heads, d_model 16, attention only",
          "| Vocabulary | 60 symbols |", "| Steps | 3 of 4, each of 1 sequence of 16 tokens |",
          "| Seeds | 1 of the first weights, 9 of the sequences |", "| Learning rate | 0.5 |",
          "| Mask | causal, a window of 4 tokens |", "| Heads left out | 0.1 |", "| Loss | ",
          "what was changed on the way is in the address"})
        CHECK_THAT(card, ContainsSubstring(part));
    CHECK_THAT(card, ContainsSubstring("    " + address + "\n"));
    CHECK_THAT(card, !ContainsSubstring("pasted"));

    TrainingPlan long_text = small("own-text");
    while (long_text.text.size() <= 32'000) long_text.text += long_text.text;
    const auto [own, at_start] = trained_view(long_text, 0);
    CHECK_THAT(model_card(own, at_start, "#"), ContainsSubstring("has to be pasted in first"));
    CHECK_THAT(model_card(own, at_start, "#"), !ContainsSubstring("| Loss |"));
}

TEST_CASE("an archive holds the folder") {
    const Threads one(1);
    const auto [run, view] = trained_view(small("copying"), 1);
    const Archive archive = hub_archive(run, view, "#v=1");
    CHECK(archive.name == "copying-step-1");
    const std::string bytes = text_of(archive.bytes);
    for (const auto& [name, file] : hub_files(run, view))
        CHECK_THAT(bytes, ContainsSubstring("copying-step-1/" + name + text_of(file)));
    CHECK_THAT(bytes, ContainsSubstring("copying-step-1/README.md" + model_card(run, view, "#v=1")));
}
