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
        auto change = change_at(*trace, {{0, 1}, {.stage = each.stage, .row = 2, .col = each.col}});
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
    CHECK_FALSE(change_at(*trace, {{0, 1}, {.stage = Stage::raw, .row = 2, .col = 1}}));
    CHECK_FALSE(change_at(*trace, {{0, 1}, {.stage = Stage::weight, .row = 2, .col = 1, .words = true}}));
    CHECK_FALSE(change_at(*trace, {{9, 1}, {.stage = Stage::q, .row = 2, .col = 1}}));
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
