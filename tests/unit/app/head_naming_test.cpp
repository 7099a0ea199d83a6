// Checks that heads are named by their measured scores: from scores.json if it is valid and matches these
// weights, otherwise measured when nothing else is waiting.
#include "runs/head_naming.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

struct Storyteller {
    FakePage page;
    Visit visit{page};
    Files files;

    Storyteller() {
        const auto folder = source_dir() / "models/storyteller";
        for (const char* file : {"config.json", "model.safetensors", "scores.json"})
            files[file] = read_file(folder / file);
        if (files["model.safetensors"].empty()) SKIP("models/storyteller has no weights");
    }
    nlohmann::json scores() const {
        const auto& bytes = files.at("scores.json");
        return nlohmann::json::parse(as_text(bytes), nullptr, false);
    }
    void give_scores(const std::string& text) {
        const auto bytes = as_bytes(text);
        files["scores.json"].assign(bytes.begin(), bytes.end());
    }
    const NamedHeads* named() { return subject_in(visit).named_heads(); }
    void open() { load_files(visit, "storyteller", files); }
    void read(const char* text = "a few words") {
        visit.perform(SetText{text});
        visit.tokens({Box::first, text, {40, 50, 60, 70}, {"a", " few", " wor", "ds"}, 4});
    }
    void rest() {
        for (int i = 0; i < 10'000 && visit.work(20); ++i) continue;
        REQUIRE_FALSE(visit.work(20));
    }

  private:
    static std::string as_text(const std::vector<std::byte>& bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
};

std::string role_refusal(std::string_view text) {
    const auto read = read_role_table(as_bytes(text), 1, 2);
    REQUIRE_FALSE(read);
    return read.error().message;
}

}  // namespace

TEST_CASE("scores.json is read, or refused in one sentence") {
    const auto table = read_role_table(as_bytes(R"({"pronouns": {"pairs": 3}, "heads": [
        {"layer": 0, "head": 1, "previous_token": 0.25, "pronoun_right": 1, "entropy": 3.8},
        {"layer": 0, "head": 0, "previous_token": 0.75, "pronoun_right": 0}]})"),
                                       1, 2);
    REQUIRE(table);
    CHECK(table->of({0, 0})[HeadRole::previous_token] == 0.75);
    CHECK(table->of({0, 1})[HeadRole::pronoun] == 1);
    CHECK(std::isnan(table->of({0, 1})[HeadRole::induction]));

    CHECK(role_refusal("").starts_with("scores.json"));
    CHECK(role_refusal("[1, 2]") == "scores.json has no list of heads");
    CHECK(role_refusal(R"({"heads": []})") == "scores.json has no list of heads");
    CHECK(role_refusal(R"({"heads": [{"layer": 0, "head": 0}]})") == "scores.json does not tell of head 0.1");
    CHECK(role_refusal(R"({"heads": [{"layer": 0, "head": 0}, {"layer": 0, "head": 0}]})") ==
          "scores.json tells of head 0.0 twice");
    for (const char* where : {R"("layer": 1, "head": 0)", R"("layer": 0, "head": 2)",
                              R"("layer": -1, "head": 0)", R"("layer": 0.5, "head": 0)", R"("head": 0)"})
        CHECK(role_refusal(R"({"heads": [{)" + std::string(where) + "}]}") ==
              "scores.json tells of a head that this model, of 1 × 2 heads, does not have");
    for (const char* score : {"null", "-0.1", "1.5", "\"0.5\"", "1e99"})
        CHECK(role_refusal(R"({"heads": [{"layer": 0, "head": 0, "induction_stripe": )" + std::string(score) +
                           "}]}") ==
              "scores.json gives head 0.0 a 'induction_stripe' that is no number from 0 to 1");
    CHECK(role_refusal(R"({"heads": [{"layer": 0, "head": 0, "first_token": NaN}]})")
              .starts_with("scores.json"));
}

TEST_CASE("the bundled model's heads have their names from scores.json, at once and for good") {
    Storyteller s;
    s.open();
    REQUIRE(s.named());
    CHECK(s.named()->name({3, 0}) == "pronoun 0.999 in test texts");
    CHECK(s.named()->name({4, 5}) == "induction 0.95 on random repeats");
    CHECK(s.named()->name({0, 1}) == "previous token 0.87 on random repeats");
    CHECK(s.named()->name({2, 6}).empty());
    CHECK(s.named()->name({5, 0}).empty());  // there is no such head
    CHECK_THAT(s.named()->told({3, 0}),
               StartsWith("Pronoun 0.999 in test texts: the share of texts in which "));
    CHECK_THAT(s.named()->told({3, 0}),
               ContainsSubstring("\nInduction 0.70 on random repeats: the mean weight on what followed "));
    CHECK_THAT(s.named()->told({3, 0}), ContainsSubstring("From the model's scores.json"));
    s.read();
    s.rest();
    CHECK(s.named()->name({3, 0}) == "pronoun 0.999 in test texts");  // the check against the weights agrees
    CHECK(s.page.notices.empty());
}

TEST_CASE("without scores.json the heads are measured, once per model, when nothing waits") {
    Storyteller s;
    const nlohmann::json card = s.scores();
    s.files.erase("scores.json");
    s.open();
    s.rest();
    CHECK_FALSE(s.named());  // there is no sentence yet
    s.read();
    while (!sentence_in(s.visit).run() || !sentence_in(s.visit).run()->overview() ||
           !sentence_in(s.visit).run()->overview()->done()) {
        CHECK_FALSE(s.named());
        s.visit.work(0);
    }
    s.rest();
    REQUIRE(s.named());
    const NamedHeads* named = s.named();
    CHECK(named->name({4, 5}).starts_with("induction 0.9"));
    CHECK(named->name({0, 1}).starts_with("previous token 0.8"));
    CHECK(named->name({3, 0}).starts_with("induction 0.7"));
    CHECK(named->name({4, 5}).ends_with(" on 4 random repeats"));
    CHECK_THAT(named->told({4, 5}),
               ContainsSubstring("Measured on 4 sequences of 64 random tokens, each given twice"));
    // The card's means are over 16 sequences, these over 4.
    double apart = 0;
    for (const auto& head : card["heads"]) {
        const RoleScores& scores = named->table.of({head["layer"], head["head"]});
        for (std::size_t role = 0; role < 4; ++role)
            apart = std::max(
                apart, std::abs(scores.values[role] - head[std::string(head_roles[role].key)].get<double>()));
    }
    INFO("apart by " << apart);
    CHECK(apart < 0.1);
    s.read("other words");
    s.rest();
    CHECK(s.named() == named);
}

TEST_CASE("a broken scores.json gives one sentence, and the heads are measured") {
    const auto [what, change] = GENERATE(table<std::string, std::string (*)(nlohmann::json)>({
        {"scores.json has no list of heads", [](nlohmann::json) { return std::string("{}"); }},
        {"does not tell of head 4.7",
         [](nlohmann::json scores) {
             scores["heads"].erase(39);
             return scores.dump();
         }},
        {"of 5 × 8 heads, does not have",
         [](nlohmann::json scores) {
             scores["heads"][3]["layer"] = 7;
             return scores.dump();
         }},
        {"that is no number from 0 to 1",
         [](nlohmann::json scores) {
             scores["heads"][3]["induction_stripe"] = nullptr;
             return scores.dump();
         }},
        {"scores.json", [](nlohmann::json) { return std::string("not json"); }},
        {"scores.json", [](nlohmann::json) { return std::string(); }},
    }));
    Storyteller s;
    s.give_scores(change(s.scores()));
    s.open();
    INFO(what);
    REQUIRE(s.page.notices.size() == 1);
    CHECK_THAT(s.page.notices[0], StartsWith("storyteller: scores.json"));
    CHECK_THAT(s.page.notices[0], ContainsSubstring(what));
    CHECK_THAT(s.page.notices[0], ContainsSubstring("Heads are named by what is measured here."));
    CHECK_FALSE(s.named());
    s.read();
    s.rest();
    REQUIRE(s.named());
    CHECK(s.named()->name({4, 5}).starts_with("induction 0.9"));
}

TEST_CASE("another model's scores.json is dropped once the weights are measured") {
    Storyteller s;
    nlohmann::json scores = s.scores();
    for (const char* key : {"layer", "head"}) std::swap(scores["heads"][1][key], scores["heads"][33][key]);
    s.give_scores(scores.dump());
    s.open();
    CHECK(s.named()->name({4, 1}) == "previous token 0.87 on random repeats");
    s.read();
    s.rest();
    CHECK(s.named()->name({4, 1}).empty());
    CHECK(s.named()->name({0, 1}).starts_with("previous token"));
    REQUIRE(s.page.notices.size() == 1);
    CHECK_THAT(s.page.notices[0], ContainsSubstring("scores.json is not of these weights: it gives head 0.1 "
                                                    "“previous token” 0.04, and they have 0.8"));
}

TEST_CASE("a head's score on the present text says so, beside the score on random repeats") {
    Storyteller s;
    s.open();
    s.read();
    s.rest();
    Attention& attention = *subject_in(s.visit).attention();
    s.visit.perform(Select{{4, 5, {}, {}, {}}});
    const auto why = explained(s.visit, head_score_cell(*attention.overview(), {4, 5}, HeadScore::induction));
    REQUIRE(why);
    CHECK_THAT(why->title, StartsWith("induction on this text, layer 4, head 5"));
    const auto tables = tables_of(attention, s.visit.state(), {4, 5});
    CHECK_THAT(tables.back().title, ContainsSubstring("measured on this text"));
}

TEST_CASE("if a text has no repetition, repeated words are offered for heads that detect it") {
    Storyteller s;
    s.open();
    CHECK_FALSE(sentence_in(s.visit).offer_repetition());  // there is no text yet
    s.read();
    s.rest();
    const auto offer = sentence_in(s.visit).offer_repetition();
    REQUIRE(offer);
    CHECK(std::ranges::any_of(subject_in(s.visit).offers(),
                              [&](const Offer& each) { return each.label.starts_with(offer->label); }));
    s.visit.perform(offer->command);
    const std::string twice = "apple moon river stone apple moon river stone";
    CHECK(sentence_of(s.visit.state()).text == twice);
    s.visit.tokens({Box::first,
                    twice,
                    {40, 50, 60, 70, 40, 50, 60, 70},
                    {"a", " few", " wor", "ds", " a", " few", " wor", "ds"},
                    8});
    s.rest();
    CHECK_FALSE(sentence_in(s.visit).offer_repetition());
    s.visit.undo();
    CHECK(sentence_of(s.visit.state()).text == "a few words");
}

TEST_CASE("a network in training has names at the shown step, while it rests") {
    FakePage page;
    Visit visit{page};
    TrainingPlan plan = training_presets()[0].plan;
    plan.layers = plan.heads = 2;
    plan.d_model = plan.context = 16;
    plan.batch = 1;
    visit.perform(OpenSubject{training_subject});
    visit.perform(SetTrainingPlan{plan});
    visit.perform(ShowTrainingStep{4});
    for (int i = 0; i < 10'000 && (visit.work(20) || !subject_in(visit).attention()); ++i) continue;
    visit.work(20);
    const auto rests = [&] { return !visit.work(20); };
    for (int i = 0; i < 1000 && !rests(); ++i) continue;
    const NamedHeads* named = subject_in(visit).named_heads();
    REQUIRE(named);
    CHECK(named->table.layers == 2);
    CHECK(named->table.of({1, 1})[HeadRole::induction] >= 0);
    visit.perform(ShowTrainingStep{0});
    CHECK(subject_in(visit).attention());
    CHECK_FALSE(subject_in(visit).named_heads());  // belong to another step
    for (int i = 0; i < 1000 && !rests(); ++i) continue;
    CHECK(subject_in(visit).named_heads());
}
