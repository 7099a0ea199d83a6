// Tests runs under interventions, in every family: masks, reuse, continued runs, and refusals.
#include "model/intervention.hpp"

#include "model/generate.hpp"
#include "model/reused_rows.hpp"
#include "unit/model/intervention_runs.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("an intervention in a mask equals another mask, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_of_text(model), nothing_alike = disturbed(trace);
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            CAPTURE(attention);
            const auto with = [&](Operation operation, std::vector<float> values) {
                Intervention each{.attention = attention,
                                  .site = Site::mask,
                                  .edit = {.head = 1,
                                           .rows = {2, 5},
                                           .columns = {1, 6},
                                           .operation = operation,
                                           .values = std::move(values)}};
                return each;
            };
            const Record& as_it_is = trace->attention(attention).record();
            const auto check = [&](const Intervention& each, bool first, bool second) {
                const auto changed = run_with({each}, trace);
                const Record& record = changed->attention(attention).record();
                for (Index head = 0; head < record.heads(); ++head)
                    for (Index query = 0; query < record.queries(); ++query)
                        for (Index key = 0; key < record.keys(); ++key) {
                            const bool touched = head == 1 && (query == 2 || query == 5);
                            const bool expected = touched && key == 1 ? first
                                                  : touched && key == 6
                                                      ? second
                                                      : as_it_is.spec().mask.allows(head, query, key);
                            CHECK(record.spec().mask.allows(head, query, key) == expected);
                        }
                const auto alone = Record::run(record.q(), record.k(), record.v(), record.spec());
                REQUIRE(alone);
                CHECK(alone->output() == record.output());
                check_same(*run_with(changed->interventions(), nothing_alike, 1), *changed);
                return changed;
            };
            check(with(Operation::zero, {}), false, false);
            check(with(Operation::set, {1}), true, true);
            const auto both = check(with(Operation::set, {1, 0}), true, false);
            Intervention patch = with(Operation::patch, {});
            patch.from = {both};
            check_same(*run_with({patch}, trace), *both);
        }
    }
}

TEST_CASE("numbers that a hidden key does not affect are kept, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_of_text(small_model(family)), nothing_alike = disturbed(trace);
        std::vector<Intervention> hidden;
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            const AttentionKind kind = trace->attention(attention).place.kind;
            if (kind != AttentionKind::cross && kind != AttentionKind::encoder)
                hidden.push_back({.attention = attention, .site = Site::mask, .edit = {.columns = {4}}});
        }
        const auto changed = run_with(hidden, trace);
        check_same(*run_with(changed->interventions(), nothing_alike, 1), *changed);
        CHECK(ReusedRows(*changed, trace.get()).rows(0, BlockStep::attend) ==
              (trace->network().causal ? 4 : 0));
    }
}

TEST_CASE("setting the present value changes no bit, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_of_text(small_model(family));
        check_same(*run_with({}, trace), *trace);
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (const Site site : vector_sites) {
                CAPTURE(attention, info(site).key);
                check_same(*run_with({{.attention = attention,
                                       .site = site,
                                       .edit = {.operation = Operation::patch},
                                       .from = {trace}}},
                                     trace),
                           *trace);
            }
    }
}

TEST_CASE("without all heads an attention writes its bias, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_of_text(small_model(family));
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            const auto changed = run_with({{.attention = attention, .site = Site::head_output}}, trace);
            const LayerAttention at = changed->attention(attention);
            const std::span<const float> bias = at.half.attention_out.bias.values();
            const ConstMatrix output = at.run.attention_output.matrix();
            for (Index row = 0; row < output.rows; ++row)
                for (Index column = 0; column < output.cols; ++column)
                    CHECK(output(row, column) == (bias.empty() ? 0 : bias[static_cast<std::size_t>(column)]));
        }
    }
}

TEST_CASE("a changed run continues with more tokens, also one by one, in every family", "[model]") {
    const std::vector<std::int32_t> longer{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    for (const SmallFamily& family : all_small_families()) {
        if (!family.causal) continue;
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_of_text(model), whole = run_of_text(model, longer);
        const Index last = trace->attentions() - 1;
        const std::vector<Intervention> all{
            {.attention = last, .site = Site::q, .edit = {.head = 1, .operation = Operation::mean}},
            {.attention = last,
             .site = Site::weight,
             .edit = {.operation = Operation::scale, .values = {0.5f}}},
            {.attention = last,
             .site = Site::score,
             .edit = {.head = 0, .columns = {2}, .operation = Operation::mean}},
            {.attention = last, .site = Site::mask, .edit = {.head = 0, .columns = {0, 1}}},
            {.attention = last, .site = Site::mlp_output, .edit = {.rows = {3}}},
            {.attention = last,
             .site = Site::v,
             .edit = {.rows = {2}, .operation = Operation::patch, .from_rows = {1}},
             .from = {trace}},
        };
        const auto changed = run_with(all, trace);
        auto forward = continue_text(changed, longer, 1);
        REQUIRE(forward);
        const auto continued = forward->finish();
        REQUIRE(continued);
        const auto at_once = run_with(changed->interventions(), whole);
        check_same(**continued, *at_once);

        auto generator = Generator::start(changed, {});
        REQUIRE(generator);
        for (int i = 0; i < 3; ++i) REQUIRE(generator->next());
        while (generator->step()) {
        }
        const auto again = run_with(changed->interventions(),
                                    run_of_text(model, {generator->ids().begin(), generator->ids().end()}));
        const Tensor logits = again->logits({again->tokens() - 1, again->tokens()});
        CHECK(std::ranges::equal(generator->logits(), logits.values()));
    }
}

TEST_CASE("a query that was shown a later key still sees it when the text continues", "[model]") {
    const auto model = small_model(small_families.front());
    const auto trace = run_of_text(model);
    const auto changed =
        run_with({{.attention = 0,
                   .site = Site::mask,
                   .edit = {.rows = {1}, .columns = {6}, .operation = Operation::set, .values = {1}}}},
                 trace);
    std::vector<std::int32_t> text = changed_ids;
    for (const std::int32_t id : {4, 4}) {
        text.push_back(id);
        check_same(**ForwardPass::start(changed, text)->finish(),
                   *run_with(changed->interventions(), run_of_text(model, text)));
    }
    const std::vector<std::int32_t> shorter(changed_ids.begin(), changed_ids.begin() + 4);
    const auto cut = *ForwardPass::start(changed, shorter)->finish();
    check_same(*cut, *run_of_text(model, shorter));
    check_same(**ForwardPass::start(cut, text)->finish(),
               *run_with(changed->interventions(), run_of_text(model, text)));
}

TEST_CASE("impossible interventions are refused in one sentence", "[model]") {
    const auto model = small_model(small_families[1]);
    const auto trace = run_of_text(model), shorter = run_of_text(model, {1, 2, 3});
    const auto other = run_of_text(small_model(small_families.front()));
    const auto refused = [&](Intervention each) {
        const auto forward = ForwardPass::start_with({std::move(each)}, trace);
        REQUIRE(!forward);
        return forward.error().message;
    };
    CHECK(refused({.attention = 2}) == "there is no attention 2 among the model's 2");
    CHECK(refused({.attention = 1, .site = Site::k, .edit = {.head = 1}}) ==
          "k in layer 1: there is no head 1 among 1");
    CHECK(refused({.site = Site::mlp_output, .edit = {.head = 0}}) ==
          "MLP output in layer 0: it belongs to all heads together; leave the head out");
    CHECK(refused({.site = Site::q, .edit = {.rows = {8}}}) == "q in layer 0: there is no token 8 among 8");
    CHECK(refused({.site = Site::weight, .edit = {.rows = {3, 3}}}) ==
          "weight in layer 0: query 3 comes after 3; name each once, in ascending order");
    CHECK(refused({.site = Site::score, .edit = {.columns = {-1}}}) ==
          "score in layer 0: there is no key -1 among 8");
    CHECK(refused({.site = Site::q, .edit = {.columns = {8}}}) ==
          "q in layer 0: there is no component 8 among 8");
    CHECK(
        refused({.site = Site::q, .edit = {.rows = {1}, .operation = Operation::set, .values = {1, 2, 3}}}) ==
        "q in layer 0: 3 values given; give one, or 8 for the components, or 8 for these in 1 token");
    CHECK(refused({.site = Site::q, .edit = {.operation = Operation::scale}}) ==
          "q in layer 0: 0 values given; a scale is one factor");
    CHECK_THAT(refused({.site = Site::q, .edit = {.operation = Operation::set, .values = {NAN}}}),
               ContainsSubstring("not finite"));
    CHECK_THAT(refused({.site = Site::mask, .edit = {.operation = Operation::set, .values = {0.5f}}}),
               ContainsSubstring("0 or 1"));
    CHECK_THAT(refused({.site = Site::mask, .edit = {.operation = Operation::mean}}),
               ContainsSubstring("zero or one"));
    CHECK_THAT(refused({.site = Site::q, .edit = {.operation = Operation::patch}}),
               ContainsSubstring("one other run"));
    CHECK_THAT(refused({.site = Site::q, .edit = {.operation = Operation::mean_of_texts}}),
               ContainsSubstring("no texts"));
    CHECK(refused({.site = Site::q, .edit = {.operation = Operation::patch}, .from = {shorter}}) ==
          "q in layer 0: the other run has 3 tokens and this one 8; say from which of them each is patched");
    CHECK_THAT(refused({.site = Site::weight, .edit = {.operation = Operation::patch}, .from = {shorter}}),
               ContainsSubstring("a text of as many"));
    CHECK_THAT(refused({.site = Site::k, .edit = {.operation = Operation::patch}, .from = {other}}),
               ContainsSubstring("the same model"));
    CHECK_THAT(refused({.site = Site::v,
                        .edit = {.rows = {1, 2}, .operation = Operation::patch, .from_rows = {0}},
                        .from = {shorter}}),
               ContainsSubstring("one for each"));
}

TEST_CASE("interventions are described in words", "[model]") {
    const auto told = [](const Intervention& each, const char* family) {
        return text_of(each, small_model(*std::ranges::find(small_families, std::string_view(family),
                                                            &SmallFamily::name))
                                 ->network());
    };
    const Edit some{
        .head = 1, .rows = {0, 4, 5, 6}, .columns = {2}, .operation = Operation::set, .values = {1}};
    CHECK(told({.attention = 1, .site = Site::q, .edit = some}, "gpt2") ==
          "q of head 1 in layer 1, tokens 0, 4 to 6, component 2: set to 1");
    CHECK(told({.site = Site::weight, .edit = {.operation = Operation::scale, .values = {0.5f}}}, "bert") ==
          "weight in layer 0: × 0.5");
    const auto t5 = small_model(small_encoder_decoders.front());
    CHECK(text_of({.attention = 5, .site = Site::mask, .edit = {.columns = {1, 2}}}, t5->network()) ==
          "mask in cross-attention 1, keys 1, 2: zero");
}
