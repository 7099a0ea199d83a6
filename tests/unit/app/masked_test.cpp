// Tests masked language models on the page: where a text is masked, which of two sentences a token belongs
// to, and what the page shows of the run, compared with a run of the core.
#include <cmath>

#include "analysis/attribution/logit_pass.hpp"
#include "analysis/heads/unplaced_rows.hpp"
#include "lenses/geometry/geometry.hpp"
#include "runs/masked_run.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/sentence/fill_hint.hpp"
#include "support/small_families.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

// Ids among the small families' 20 tokens.
const SpecialTokens special{.mask = 4, .separator = 3, .all = {2, 3, 4}};
const std::vector<std::int32_t> pair_ids{2, 7, 4, 8, 3, 9, 4, 10, 3},
    pair_segments{0, 0, 0, 0, 0, 1, 1, 1, 1};

void show(Visit& visit, const std::string& text, const std::vector<std::int32_t>& ids) {
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids)
        pieces.push_back(id == 2   ? "[CLS]"
                         : id == 3 ? "[SEP]"
                         : id == 4 ? "[MASK]"
                                   : (id == 8 ? "##w" : "w") + std::to_string(id));
    visit.tokens({Box::first, text, ids, pieces, std::ssize(ids)});
    finish(visit);
    REQUIRE(sentence_in(visit).run());
}

struct Opened {
    FakePage page;
    Visit visit{page};
    std::shared_ptr<const Model> model;
    explicit Opened(const std::string& name) {
        const auto family = std::ranges::find(small_families, name, &SmallFamily::name);
        REQUIRE(family != small_families.end());
        model = small_model(*family);
        page.special = special;
        const ModelFiles files = files_of(*family);
        load_files(visit, "tiny", as_opened(files));
    }
};

std::vector<double> softmax(std::span<const float> logits) {
    double sum = 0;
    std::vector<double> out;
    for (const float logit : logits) sum += out.emplace_back(std::exp(static_cast<double>(logit)));
    for (double& each : out) each /= sum;
    return out;
}

}  // namespace

TEST_CASE("a masked language model predicts the chosen mask, or the first one, or else a word") {
    CHECK(masked_tokens(pair_ids, special) == std::vector<Index>{2, 6});
    const std::vector<std::string> words(pair_ids.size(), "word");
    CHECK(asked_token(pair_ids, words, special, std::nullopt) == 2);
    CHECK(asked_token(pair_ids, words, special, 6) == 6);
    CHECK(asked_token(pair_ids, words, special, 5) == 2);
    CHECK(asked_token(pair_ids, words, special, 100) == 2);
    const std::vector<std::int32_t> plain{2, 7, 8, 9, 3};
    const std::vector<std::string> pieces{"[CLS]", "a", "·7", "·.", "[SEP]"};
    CHECK(asked_token(plain, pieces, special, std::nullopt) == 2);
    CHECK(asked_token(plain, pieces, special, 3) == 3);
    CHECK(asked_token(plain, pieces, {}, std::nullopt) == 4);
    CHECK(asked_token(std::vector<std::int32_t>{2, 3}, words, special, std::nullopt) == 1);
}

TEST_CASE("tokens after the first separator belong to the second sentence") {
    CHECK(segments_of(pair_ids, special) == pair_segments);
    CHECK(segments_of(std::vector<std::int32_t>{2, 7, 8, 3}, special).empty());
    CHECK(segments_of(std::vector<std::int32_t>{2, 7, 8}, special).empty());
    CHECK(segments_of(std::vector<std::int32_t>{3, 7, 3, 8}, special) ==
          std::vector<std::int32_t>{0, 1, 1, 1});
    CHECK(segments_of(pair_ids, {}).empty());
}

TEST_CASE("the page shows the model's predictions for a mask, in every masked model family") {
    for (const char* name : {"bert", "distilbert", "roberta"}) {
        CAPTURE(name);
        Opened opened(name);
        show(opened.visit, "a pair", pair_ids);
        SentenceSubject& sentence = sentence_in(opened.visit);
        const bool segments = opened.model->config().segments > 1;
        CHECK(segments == (std::string_view(name) == "bert"));
        const auto expected = run_forward(opened.model, pair_ids, default_kernels(),
                                          segments ? pair_segments : std::vector<std::int32_t>{});
        REQUIRE(expected);
        CHECK(std::ranges::equal(sentence.run()->run->segments(), (*expected)->segments()));
        CHECK(sentence.run()->run->final_residual() == (*expected)->final_residual());
        CHECK_FALSE(sentence.continues_text());

        for (const Index chosen : {Index{5}, Index{6}, Index{2}}) {
            opened.visit.perform(Select{{0, 0, chosen, {}, {}}});
            const Index asked = chosen == 6 ? 6 : 2;
            CHECK(sentence.run()->predicted() == asked);
            const auto chances = softmax((*expected)->logits({asked, asked + 1}).values());
            REQUIRE(sentence.next_tokens().candidates.size() == 12);
            double before = 1;
            for (const Candidate& candidate : sentence.next_tokens().candidates) {
                // The sampling settings of generated texts have no effect. Both are sums of 20 terms in
                // double.
                CHECK(candidate.probability ==
                      Catch::Approx(chances[static_cast<std::size_t>(candidate.id)]).epsilon(1e-12));
                CHECK(candidate.probability <= before);
                before = candidate.probability;
                const auto why =
                    explained(opened.visit, RunCell{.stage = Stage::probability, .col = candidate.id});
                REQUIRE(why);
                CHECK(why->f64 == Catch::Approx(candidate.probability).epsilon(1e-12));
                CHECK(why->provenance.starts_with("in place of “[MASK]” at position " +
                                                  std::to_string(asked) + " "));
                REQUIRE(why->steps.front().at);
                CHECK(why->steps.front().at->cell.run()->row == asked);
                // A few roundings of f32 in a sum of 16 products.
                const auto logit = explained(opened.visit, why->steps.front().at->cell);
                REQUIRE(logit);
                CHECK(logit->f32 == static_cast<double>(candidate.logit));
                CHECK(logit->f64 == Catch::Approx(logit->f32).margin(1e-5));
            }
        }
    }
}

TEST_CASE("the page says that masks of one word are predicted one by one") {
    CHECK_THAT(fill_hint(2, 0),
               StartsWith("A word of several tokens takes as many masks, and each of them is "
                          "predicted alone."));
    CHECK_THAT(fill_hint(0, 3), EndsWith("It is masked by 3 masks, each predicted alone."));
    for (const std::string& plain : {fill_hint(1, 0), fill_hint(0, 1), fill_hint(0, 0)})
        CHECK_THAT(plain, !ContainsSubstring("alone"));
}

TEST_CASE("a word is masked with a mask for each of its tokens, and a token replaces a mask") {
    Opened opened("bert");
    SentenceSubject& sentence = sentence_in(opened.visit);
    show(opened.visit, "w7w8 w9", {2, 7, 8, 9, 3});
    CHECK(sentence.run()->predicted() == 3);
    CHECK(sentence.maskable_word() == 2);
    opened.visit.perform(Select{{0, 0, 4, {}, {}}});
    CHECK_FALSE(sentence.maskable_word());  // a special token
    opened.visit.perform(Select{{0, 0, 2, {}, {}}});
    CHECK(sentence.maskable_word() == 1);
    sentence.mask_word();
    CHECK(opened.page.written_over == Range{1, 3});
    CHECK(opened.page.written == std::vector<std::int32_t>{4, 4});
    show(opened.visit, "[MASK] [MASK] w9", {2, 4, 4, 9, 3});
    CHECK(sentence.run()->predicted() == 2);
    CHECK_FALSE(sentence.maskable_word());
    sentence.choose_next(11);
    CHECK(opened.page.written_over == Range{2, 3});
    CHECK(opened.page.written == std::vector<std::int32_t>{11});
    show(opened.visit, "[MASK] w11 w9", {2, 4, 11, 9, 3});
    CHECK(sentence.run()->predicted() == 1);
    CHECK(opened.visit.state().selection.query == 2);
    // Each is an undo step of its own.
    opened.visit.undo();
    CHECK(opened.page.box == "[MASK] [MASK] w9");
    opened.visit.undo();
    CHECK(opened.page.box == "w7w8 w9");
    // Nothing is generated.
    sentence.generate_step();
    sentence.play(true);
    CHECK_FALSE(sentence.playing());
    opened.visit.work(10);
    CHECK(opened.page.appended.empty());
}

TEST_CASE("a pair's segments are in its small print, in explanations, in files and in the lenses' runs") {
    Opened opened("bert");
    show(opened.visit, "a pair", pair_ids);
    const TextRun& run = *sentence_in(opened.visit).run();
    CHECK(run.small_print(4) == "3 · A");
    CHECK(run.small_print(5) == "9 · B");
    CHECK(run.source().at("token_types") == "0,0,0,0,0,1,1,1,1");
    for (const auto& [row, told] :
         {std::pair{4, "row 0 of the segment embedding, segment A: up to the first separator"},
          {5, "row 1 of the segment embedding, segment B: after the first separator"}}) {
        const auto why = explained(opened.visit, RunCell{Stage::segment, row, 3});
        REQUIRE(why);
        CHECK(why->formula == told);
        CHECK(why->f64 == why->f32);
    }
    // A run under a mask that allows everything equals the original run.
    MaskedRun masked;
    REQUIRE(masked.follow(run, Mask()));
    while (masked.step()) continue;
    REQUIRE(masked.done());
    CHECK(masked.predicted() == 2);
    CHECK(masked.before() == masked.after());
    // The gradient of the loss at the mask with respect to a head's output, by the backward pass and by
    // running the model again.
    LogitPass pass;
    pass.read(run.trace(), run.predicted());
    REQUIRE(pass.ask({.raise = 7, .over = 9}));
    pass.go_to({0, 1}, 5);
    while (pass.step()) continue;
    CHECK(pass.gradient()->value() == loss_of(run.logits.values(), {7, 9}));
    REQUIRE(pass.differences().size() == pass.slopes().size());
    for (std::size_t i = 0; i < pass.slopes().size(); ++i)
        // The bound of logit_gradient_test, but for a second-order difference, whose curvature term remains.
        CHECK(pass.differences()[i] == Catch::Approx(pass.slopes()[i]).margin(1e-2));
    // A text alone has no segments.
    show(opened.visit, "alone", {2, 7, 8, 3});
    CHECK(sentence_in(opened.visit).run()->run->segments().empty());
    CHECK(sentence_in(opened.visit).run()->small_print(1) == "7");
}

TEST_CASE("a second sentence in the other box has its own segments") {
    Opened opened("bert");
    show(opened.visit, "a pair", pair_ids);
    opened.visit.perform(Compare{Comparison{"another"}});
    const std::vector<std::int32_t> ids{2, 7, 3, 9, 4, 3};
    opened.visit.tokens({Box::second, "another", ids, std::vector<std::string>(6, "w"), 6});
    finish(opened.visit);
    REQUIRE(sentence_in(opened.visit).compared_run());
    const auto expected = run_forward(opened.model, ids, default_kernels(), {0, 0, 0, 1, 1, 1});
    REQUIRE(expected);
    CHECK(sentence_in(opened.visit).compared_run()->run->final_residual() == (*expected)->final_residual());
}

TEST_CASE("a position embedding of a text with padding names its row") {
    Opened opened("roberta");
    show(opened.visit, "padded", {2, 7, 1, 8, 3});
    for (const auto& [token, row] : {std::pair{Index{1}, 3}, {Index{2}, 1}, {Index{3}, 4}}) {
        const auto why = explained(opened.visit, RunCell{Stage::position, token, 5});
        REQUIRE(why);
        CHECK(why->f64 == why->f32);
        CHECK(why->formula.starts_with("row " + std::to_string(row) + " of the position embedding"));
        CHECK((why->formula.find("padding") != std::string::npos) == (token == 2));
        CHECK(why->steps.front().at->cell == RunCell{Stage::w_position, row, 5});
    }
    // Lens Order's own table has the same rows.
    const TextRun& run = *sentence_in(opened.visit).run();
    const UnplacedRows content(run.trace(), run.record(0), {0, 1}, {0, 5});
    const std::vector<Index> places{0, 1, 2, 3, 4};
    const HeadRows placed = content.at_own_positions(places, places);
    for (Index token = 0; token < 5; ++token)
        for (Index a = 0; a < run.record_at(0).d_k(); ++a)
            CHECK(placed.q.heads().head(0)(token, a) ==
                  Catch::Approx(run.record_at(0).q().heads().head(1)(token, a)).margin(2e-6));
}

TEST_CASE("lenses about one query start at the mask, or else at a word") {
    Opened opened("bert");
    show(opened.visit, "a pair", pair_ids);
    CHECK(chosen_query(sentence_in(opened.visit)) == 2);
    geometry::State metric;
    metric.part = geometry::Part::metric;
    opened.visit.perform(Set<geometry::State>{metric});
    opened.visit.perform(OpenLens{"geometry"});
    CHECK(lens_in(opened.visit).spoken(subject_in(opened.visit)).find("“[MASK]” looks most") !=
          std::string::npos);
    opened.visit.perform(OpenLens{"inverse"});
    CHECK(lens_in(opened.visit).spoken(subject_in(opened.visit)).starts_with("“[MASK]” gives "));
    show(opened.visit, "no mask", {2, 7, 8, 9, 3});
    CHECK(chosen_query(sentence_in(opened.visit)) == 3);
    opened.visit.perform(Select{{0, 0, 4, {}, {}}});
    CHECK(chosen_query(sentence_in(opened.visit)) == 4);
}
