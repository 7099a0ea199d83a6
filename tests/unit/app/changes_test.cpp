// Tests interventions that a user makes in a run on the page, each compared with a run of the core under the
// same intervention.
#include "subjects/sentence/changes.hpp"

#include <array>

#include "app/link.hpp"
#include "support/small_families.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> changed_ids{1, 7, 5, 8, 3, 9};

struct ChangedVisit {
    FakePage page;
    Visit visit{page};
    std::shared_ptr<const Model> model;
    explicit ChangedVisit(const std::string& name) {
        const auto family = std::ranges::find(small_families, name, &SmallFamily::name);
        REQUIRE(family != small_families.end());
        model = small_model(*family);
        const ModelFiles files = files_of(*family);
        load_files(visit, "tiny", as_opened(files));
        show("words", changed_ids);
    }
    void show(const std::string& text, const std::vector<std::int32_t>& of) {
        std::vector<std::string> pieces;
        for (const std::int32_t id : of) pieces.push_back("w" + std::to_string(id));
        visit.tokens({Box::first, text, of, pieces, std::ssize(of)});
        finish(visit);
        REQUIRE(sentence_in(visit).run());
    }
    void show_beside(const std::string& text, const std::vector<std::int32_t>& of) {
        visit.tokens({Box::second, text, of, std::vector<std::string>(of.size(), "w"), std::ssize(of)});
        finish(visit);
        REQUIRE(sentence_in(visit).second());
    }
    SentenceSubject& subject() { return sentence_in(visit); }
    void change(const RunChange& change) {
        visit.perform(ChangeRun{change});
        finish(visit);
    }
};

std::vector<float> logits_under(const ChangedVisit& opened, std::vector<Intervention> interventions,
                                const std::vector<std::int32_t>& of) {
    const auto run = run_forward(opened.model, of);
    REQUIRE(run);
    auto changed = ForwardPass::start_with(interventions, *run);
    REQUIRE(changed);
    const auto trace = changed->finish();
    REQUIRE(trace);
    const Tensor logits = (*trace)->logits({std::ssize(of) - 1, std::ssize(of)});
    return {logits.values().begin(), logits.values().end()};
}

std::vector<float> shown_logits(ChangedVisit& opened) {
    const auto logits = opened.subject().run()->logits.values();
    return {logits.begin(), logits.end()};
}

Intervention head_off(Index layer, Index head) {
    return {.attention = layer, .site = Site::head_output, .edit = {.head = head}};
}

}  // namespace

TEST_CASE("a change of a run shows the core's result under it, and before shows the original") {
    for (const char* family : {"gpt2", "llama", "bert"}) {
        CAPTURE(family);
        ChangedVisit opened(family);
        const std::vector<float> plain = shown_logits(opened);
        opened.change({.at = {.attention = 1, .head = 0}});
        CHECK(shown_logits(opened) == logits_under(opened, {head_off(1, 0)}, changed_ids));
        CHECK(opened.subject().run()->run->interventions().size() == 1);
        opened.visit.perform(ShowBefore{});
        finish(opened.visit);
        CHECK(shown_logits(opened) == plain);
        opened.visit.perform(ShowBefore{false});
        finish(opened.visit);
        CHECK(shown_logits(opened) == logits_under(opened, {head_off(1, 0)}, changed_ids));
        opened.visit.perform(SwitchChange{0});
        finish(opened.visit);
        CHECK(shown_logits(opened) == plain);
        opened.visit.undo();
        finish(opened.visit);
        CHECK(shown_logits(opened) == logits_under(opened, {head_off(1, 0)}, changed_ids));
        opened.visit.perform(DropChange{});
        finish(opened.visit);
        CHECK(shown_logits(opened) == plain);
        CHECK(opened.subject().run() == opened.subject().unchanged_run());
    }
}

TEST_CASE("a patch takes its numbers from the second text, as far as both texts go") {
    for (const char* family : {"gpt2", "llama", "bert"}) {
        CAPTURE(family);
        ChangedVisit opened(family);
        const std::vector<float> plain = shown_logits(opened);
        const RunChange patch{.at = {.attention = 1, .head = 0}, .operation = Operation::patch};
        opened.change(patch);
        CHECK(shown_logits(opened) == plain);  // there is no other text yet
        for (const std::vector<std::int32_t>& ids :
             {std::vector<std::int32_t>{2, 7, 6, 8, 4, 9}, std::vector<std::int32_t>{2, 7, 6, 8}}) {
            opened.visit.perform(Compare{Comparison{"other words"}});
            opened.show_beside("other words", ids);
            const auto other = run_forward(opened.model, ids);
            REQUIRE(other);
            Intervention each = head_off(1, 0);
            each.edit.operation = Operation::patch;
            each.from = {*other};
            if (ids.size() < changed_ids.size()) each.edit.rows = each.edit.from_rows = {0, 1, 2, 3};
            CHECK(shown_logits(opened) == logits_under(opened, {each}, changed_ids));
            // Without a second text, nothing is patched.
            opened.visit.undo();
            finish(opened.visit);
            CHECK(shown_logits(opened) == plain);
        }
        const State linked = parse_fragment(to_fragment(opened.visit.state())).state;
        CHECK(sentence_of(linked).changes.all == std::vector{patch});
    }
}

TEST_CASE("a pinned number of a model is changed in place") {
    ChangedVisit opened("llama");
    const auto trace = opened.subject().run()->run;
    struct Case {
        Stage stage;
        Site site;
        std::optional<Index> head;
        Index col;
    };
    // The second of two heads that share a key-value head.
    const Index kv = trace->attention(0).record().kv_head(1);
    for (const Case& each :
         {Case{Stage::q, Site::q, 1, 3}, Case{Stage::k, Site::k, kv, 2}, Case{Stage::v, Site::v, kv, 0},
          Case{Stage::masked, Site::score, 1, 1}, Case{Stage::weight, Site::weight, 1, 1},
          Case{Stage::output, Site::head_output, 1, 2}, Case{Stage::resid_pre, Site::resid_pre, {}, 4},
          Case{Stage::attention_output, Site::attention_output, {}, 4},
          Case{Stage::resid_mid, Site::resid_mid, {}, 4}, Case{Stage::mlp_output, Site::mlp_output, {}, 4}}) {
        CAPTURE(info(each.site).key);
        auto change = change_at(*trace, {{0, 1}, RunCell{.stage = each.stage, .row = 2, .col = each.col}});
        REQUIRE(change);
        CHECK(change->at.site == each.site);
        CHECK(change->at.head == each.head);
        change->operation = Operation::set;
        change->value = 0.75;
        opened.change(*change);
        CHECK(shown_logits(opened) == logits_under(opened,
                                                   {{.attention = 0,
                                                     .site = each.site,
                                                     .edit = {.head = each.head,
                                                              .rows = {2},
                                                              .columns = {each.col},
                                                              .operation = Operation::set,
                                                              .values = {0.75f}}}},
                                                   changed_ids));
        opened.visit.perform(DropChange{});
        finish(opened.visit);
    }
    CHECK_FALSE(change_at(*trace, {{0, 1}, RunCell{.stage = Stage::raw, .row = 2, .col = 1}}));
    CHECK_FALSE(change_at(
        *trace, {{0, 1}, RunCell{.stage = Stage::weight, .row = 2, .col = 1, .unit = Unit::words}}));
    CHECK_FALSE(change_at(*trace, {{9, 1}, RunCell{.stage = Stage::q, .row = 2, .col = 1}}));
}

TEST_CASE("changes stay while the text is typed, and those of missing tokens wait") {
    ChangedVisit opened("gpt2");
    opened.change({.at = {.site = Site::mlp_output, .attention = 0, .row = 5},
                   .operation = Operation::scale,
                   .value = 2});
    CHECK(opened.subject().run()->run->interventions().size() == 1);
    opened.show("fewer words", {1, 7, 5});
    CHECK(opened.subject().run()->run->interventions().empty());
    auto longer = changed_ids;
    longer.push_back(4);
    opened.show("more words", longer);
    CHECK(shown_logits(opened) ==
          logits_under(opened,
                       {{.attention = 0,
                         .site = Site::mlp_output,
                         .edit = {.rows = {5}, .operation = Operation::scale, .values = {2}}}},
                       longer));
    opened.visit.perform(SetModel{"another"});
    CHECK(opened.visit.state().of<SentenceState>().changes == RunChanges{});
}

TEST_CASE("a changed run is compared with the original as long as something is changed") {
    ChangedVisit opened("gpt2");
    const Command beside = Compare{Comparison{.text = "", .before = true}};
    opened.visit.perform(beside);
    CHECK_FALSE(opened.visit.state().of<SentenceState>().compared);
    opened.change({.at = {.attention = 0, .head = 1}});
    opened.visit.perform(beside);
    finish(opened.visit);
    REQUIRE(opened.subject().second());
    CHECK(opened.subject().second() == opened.subject().unchanged_run());
    CHECK(opened.subject().attention()->version() != opened.subject().second()->version());
    CHECK(opened.subject().comparison_names() == std::pair<std::string, std::string>{"changed", "before"});
    opened.visit.perform(SwitchChange{0});
    CHECK_FALSE(opened.visit.state().of<SentenceState>().compared);
}

TEST_CASE("a run is steered by a direction, whose dial is a change like others") {
    for (const char* family : {"gpt2", "llama", "bert"}) {
        CAPTURE(family);
        ChangedVisit opened(family);
        const std::vector<float> plain = shown_logits(opened);
        const auto unchanged = opened.subject().run()->run;
        const auto expected = [&](const Steering& steering) {
            const auto vector = steering_vector(steering, *unchanged);
            REQUIRE(vector);
            return logits_under(opened, {head_off(0, 1), intervention_of(steering, *vector)}, changed_ids);
        };
        opened.change({.at = {.attention = 0, .head = 1}});
        TextModel& model = *opened.subject().text_model();
        CHECK_FALSE(model.steering());
        Steering steering{.direction = {.token = 4}, .attention = 1, .dial = 0.5};
        const auto steer = [&] {
            opened.visit.perform(model.steer(steering));
            finish(opened.visit);
            CHECK(model.steering() == steering);
            CHECK(sentence_of(opened.visit.state()).changes.all.size() == 2);
            CHECK(shown_logits(opened) == expected(steering));
            CHECK(sentence_of(parse_fragment(to_fragment(opened.visit.state())).state).changes ==
                  sentence_of(opened.visit.state()).changes);
        };
        steer();
        steering.dial = -2;
        steer();
        steering.direction = {
            .kind = SteeringDirection::Kind::written, .token = 3, .head = {.layer = 1, .head = 1}};
        steering.site = Site::resid_mid;
        steering.row = 2;
        steer();
        const auto whole = model.steered(steering);
        REQUIRE(whole);
        CHECK(whole->unchanged == unchanged);
        CHECK(whole->at == 1);
        CHECK(whole->changes == opened.subject().run()->run->interventions());
        opened.visit.perform(ShowBefore{});
        finish(opened.visit);
        CHECK(shown_logits(opened) == plain);
        opened.visit.perform(ShowBefore{false});
        opened.visit.perform(SwitchChange{1});
        finish(opened.visit);
        CHECK(model.steering()->dial == 0);
        CHECK(shown_logits(opened) == logits_under(opened, {head_off(0, 1)}, changed_ids));
        opened.visit.undo();
        finish(opened.visit);
        CHECK(shown_logits(opened) == expected(steering));
        // A token that this vocabulary lacks changes nothing.
        opened.visit.perform(DropChange{0});
        steering.direction.token = 20;
        opened.visit.perform(model.steer(steering));
        finish(opened.visit);
        CHECK(shown_logits(opened) == plain);
        CHECK_FALSE(model.steered(steering));
    }
}

TEST_CASE("a difference of two texts steers once there is a second text") {
    ChangedVisit opened("llama");
    const std::vector<float> plain = shown_logits(opened);
    const Steering steering{.direction = {.kind = SteeringDirection::Kind::second_text},
                            .attention = 1,
                            .site = Site::resid_post,
                            .dial = 1};
    TextModel& model = *opened.subject().text_model();
    opened.visit.perform(model.steer(steering));
    finish(opened.visit);
    CHECK(shown_logits(opened) == plain);
    const std::vector<std::int32_t> ids{2, 7, 6, 8};
    opened.visit.perform(Compare{Comparison{"other words"}});
    opened.show_beside("other words", ids);
    const auto here = run_forward(opened.model, changed_ids), there = run_forward(opened.model, ids);
    const auto vector = steering_vector(steering, **here, {.second = there->get()});
    REQUIRE(vector);
    CHECK(shown_logits(opened) == logits_under(opened, {intervention_of(steering, *vector)}, changed_ids));
}

TEST_CASE("a change replaces another one, wherever that is") {
    State state = default_state();
    const auto change = [](Index layer) { return RunChange{.at = {.attention = layer, .head = 0}}; };
    for (const Index layer : {0, 1, 2}) REQUIRE(ChangeRun{change(layer)}.apply(state));
    const auto layers = [&] {
        std::vector<Index> all;
        for (const RunChange& each : sentence_of(state).changes.all) all.push_back(each.at.attention);
        return all;
    };
    REQUIRE(ChangeRun{change(5), 1}.apply(state));
    CHECK(layers() == std::vector<Index>{0, 5, 2});
    REQUIRE(ChangeRun{change(2), 0}.apply(state));
    CHECK(layers() == std::vector<Index>{5, 2});
    CHECK_FALSE(ChangeRun{change(4), 2}.apply(state));
    CHECK(layers() == std::vector<Index>{5, 2});
}

TEST_CASE("directions are told in words, and written into links") {
    using Kind = SteeringDirection::Kind;
    const auto with = [](const SteeringDirection& direction, Site site, double dial,
                         std::optional<Index> row = {}) {
        return change_of({direction, 2, site, row, dial});
    };
    const std::vector<std::pair<RunChange, std::string>> all{
        {with({.token = 412}, Site::resid_pre, 0.8), "+ 0.8 × “cat” (embedding), before layer 2, all tokens"},
        {with({.kind = Kind::unembedding, .token = 7}, Site::resid_post, -1, 3),
         "− 1 × “cat” (unembedding), after layer 2, token 3"},
        {with({.kind = Kind::written, .token = 7, .head = {1, 4}}, Site::resid_mid, 2),
         "+ 2 × what layer 1 · head 4 writes for “cat”, within layer 2, all tokens"},
        {with({.kind = Kind::second_text, .place = 5}, Site::resid_mid, 1, 5),
         "+ 1 × this text − the second at token 5, within layer 2, token 5"},
        {with({.kind = Kind::second_text}, Site::resid_pre, 1, 5),
         "+ 1 × this text − the second, before layer 2, token 5"},
        {with({.kind = Kind::many_texts}, Site::resid_post, 1, 5),
         "+ 1 × this text − many texts, after layer 2, token 5"},
        {with({.kind = Kind::contrast}, Site::resid_mid, 0.5, 7),
         "+ 0.5 × positive − negative texts, within layer 2, token 7"}};
    std::vector<RunChange> changes;
    for (const auto& [change, text] : all) {
        CHECK(told(change, {6}, "“cat”") == text);
        changes.push_back(change);
    }
    CHECK(told(changes[0], {6}) == "+ 0.8 × token 412 (embedding), before layer 2, all tokens");
    changes[3].at.row = 6;
    changes[5].on = false;
    const std::string text = write_changes(changes);
    CHECK(text ==
          "residual_in,2,,,,add,0.8,embedding_412;residual_out,2,,3,,add,-1,unembedding_7;"
          "residual_middle,2,,,,add,2,written_7_1_4;residual_middle,2,,6,,add,1,second_5;"
          "residual_in,2,,5,,add,1,second;residual_out,2,,5,,add,1,texts,off;"
          "residual_middle,2,,7,,add,0.5,contrast");
    CHECK(read_changes(text) == changes);
    for (const char* wrong : {"residual_in,2,,,,add,1,", "residual_in,2,,,,add,1,embedding",
                              "residual_in,2,,,,add,1,embedding_-1", "residual_in,2,,,,add,1,embedding_1_2",
                              "residual_in,2,,,,add,1,written_1", "residual_in,2,,,,add,1,written_1_2_-3",
                              "residual_in,2,,,,add,1,second_x", "residual_in,2,,,,add,1,second_1_2",
                              "residual_in,2,,,,add,1,texts_1", "residual_in,2,,,,add,1,contrast_1",
                              "residual_in,2,,,,add,1,cat_1", "residual_in,2,,,,scale,1,embedding_1",
                              "residual_in,2,,,,zero,,embedding_1", "residual_in,2,,,4,add,1,embedding_1",
                              "residual_in,2,,1,,add,_1_2,embedding_1", "mlp_output,2,,,,add,1,embedding_1",
                              "q,2,,,,add,1,embedding_1", "residual_in,2,,,,add,1,embedding_2147483648"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read_changes(wrong));
    }
}

TEST_CASE("changes are written into links and read from them, and invalid ones are refused") {
    const std::vector<RunChange> changes{
        {.at = {.site = Site::q, .attention = 3, .head = 2, .row = 13, .column = 5},
         .operation = Operation::set,
         .value = 1.25},
        {.at = {.site = Site::head_output, .attention = 3, .head = 1}, .on = false},
        {.at = {.site = Site::weight, .attention = 0}, .operation = Operation::mean},
        {.at = {.site = Site::resid_post, .attention = 1, .row = 2},
         .operation = Operation::scale,
         .value = -1},
        {.at = {.site = Site::q, .attention = 3, .head = 2, .row = 13},
         .operation = Operation::add,
         .values = {0.1f, -2, 1e-7f}}};
    const std::string text = write_changes(changes);
    CHECK(text ==
          "q,3,2,13,5,set,1.25;head_output,3,1,,,zero,off;weight,0,,,,mean;residual_out,1,,2,,scale,-1;"
          "q,3,2,13,,add,_0.1_-2_1e-07");
    CHECK(read_changes(text) == changes);
    for (const char* wrong :
         {"", "q", "q,3,2,13,5,set", "q,3,2,13,5,zero,1", "q,3,2,13,5,set,nan", "q,3,2,13,5,set,1e300",
          "q,-1,,,,zero", "p,3,,,,zero", "mask,3,2,13,5,patch", "mlp_output,3,1,,,zero",
          "mask,3,1,0,0,scale,2", "q,3,,,,zero;q,3,,,,mean", "q,3,2,,,add,_1_2", "q,3,2,13,5,add,_1_2",
          "q,3,2,13,,set,_1_2", "q,3,2,13,,add,_", "q,3,2,13,,add,_1_nan", "q,3,2,13,,add,1_2",
          "weight,3,2,13,,add,_1_2"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read_changes(wrong));
    }
    std::string many;
    for (std::size_t i = 0; i <= most_changes; ++i)
        many += (i ? ";" : "") + std::string("q,") + std::to_string(i) + ",,,,zero";
    CHECK_FALSE(read_changes(many));
}
