// Tests an encoder with a decoder: how its attentions are counted, what a run shares with the previous one,
// the biases of distances, and how the decoder continues.
#include <cmath>
#include <cstring>

#include "analysis/heads/head_overview.hpp"
#include "analysis/heads/repeated_tokens.hpp"
#include "model/explain.hpp"
#include "model/generate.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::int32_t> decoded_ids{0, 3, 1, 4, 1, 5, 9};

std::shared_ptr<const Model> small_t5(std::size_t which = 0) {
    return small_model(small_encoder_decoders[which]);
}

std::shared_ptr<const Trace> t5_run(const std::shared_ptr<const Model>& model,
                                    const std::vector<std::int32_t>& ids = decoded_ids) {
    const auto trace = run_text(model, ids);
    REQUIRE(trace);
    return *trace;
}

}  // namespace

TEST_CASE("null and missing keys of a T5 have their defaults", "[model]") {
    const std::string sizes =
        R"({"model_type": "t5", "vocab_size": 20, "d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 20,
        "num_layers": 3)";
    for (const std::string& more :
         {std::string(), std::string(R"(, "num_decoder_layers": null, "relative_attention_num_buckets": null,
        "relative_attention_max_distance": null, "feed_forward_proj": null, "layer_norm_epsilon": null,
        "tie_word_embeddings": null, "decoder_start_token_id": null)")}) {
        const std::string text = sizes + more + "}";
        const auto config = parse_model_config(as_bytes(text));
        REQUIRE(config);
        CHECK(config->decoder_layers == 3);
        CHECK(config->buckets == 32);
        CHECK(config->most_distance == 128);
        CHECK(config->activation == Activation::relu);
        CHECK(!config->gated_mlp);
        CHECK(config->norm_epsilon == 1e-6);
        CHECK(config->tie_word_embeddings);
        CHECK(config->head_scale == 0.25);
        CHECK(config->start_id == 0);
        CHECK(config->eos_ids == std::vector<std::int64_t>{1});
    }
    // The text that transformers 5 writes for v1.1.
    const std::string text = sizes + R"(, "feed_forward_proj": "gated-gelu", "is_gated_act": true,
        "dense_act_fn": "gelu_new", "tie_word_embeddings": true, "scale_decoder_outputs": false,
        "decoder_start_token_id": 3})";
    const auto config = parse_model_config(as_bytes(text));
    REQUIRE(config);
    CHECK(config->activation == Activation::gelu_tanh);
    CHECK(config->gated_mlp);
    CHECK(!config->tie_word_embeddings);
    CHECK(config->head_scale == 1);
    CHECK(config->start_id == 3);
}

TEST_CASE("the attentions of an encoder and a decoder are counted one after the other", "[model]") {
    const auto trace = t5_run(small_t5(1));
    const Network& network = trace->network();
    REQUIRE(&network == &trace->model()->network());
    REQUIRE(&trace->encoder()->network() == network.encoder.get());
    using enum AttentionKind;
    const std::vector<AttentionPlace> places{{encoder, 0}, {encoder, 1}, {encoder, 2}, {decoder, 0},
                                             {decoder, 1}, {cross, 0},   {cross, 1}};
    REQUIRE(network.attentions() == std::ssize(places));
    REQUIRE(trace->model()->config().attentions() == std::ssize(places));
    CHECK(trace->encoder()->attentions() == 3);
    for (Index number = 0; number < std::ssize(places); ++number) {
        const LayerAttention of = trace->attention(number);
        CHECK(of.place == places[static_cast<std::size_t>(number)]);
        CHECK(&of.half == &network.attention(number));
        CHECK(of.record().queries() == of.queries.tokens());
        CHECK(of.record().keys() == of.keys.tokens());
        CHECK((&of.queries == &of.keys) == (of.place.kind != cross));
        CHECK(of.record().spec().bias.empty() == (of.place.kind == cross));
        CHECK(of.record().spec().mask == (of.place.kind == decoder ? Mask::causal() : Mask::everything()));
        CHECK(record_of(trace, number).get() == &of.record());
    }
}

TEST_CASE("a decoder that continues shares its encoder's run, and only the same text's", "[model]") {
    const auto model = small_t5();
    const auto part = t5_run(model, {0, 3, 1});
    auto same = ForwardPass::start(part, encoded_ids, 1, decoded_ids);
    REQUIRE(same);
    const auto longer = *same->finish();
    CHECK(longer->encoder() == part->encoder());
    CHECK(longer->layers()[0].cross->attention.k().data() == part->layers()[0].cross->attention.k().data());
    CHECK(same_beginning(*part, longer->ids(), longer->encoder().get()) == 3);

    const std::vector<std::int32_t> others{5, 1};
    auto other = ForwardPass::start(part, others, 1, decoded_ids);
    REQUIRE(other);
    const auto anew = *other->finish();
    const auto expected = run_forward(model, others, default_kernels(), {}, decoded_ids);
    REQUIRE(expected);
    CHECK(anew->final_norm() == (*expected)->final_norm());
    CHECK(same_beginning(*part, anew->ids(), anew->encoder().get()) == 0);

    const auto first = run_forward(model, encoded_ids);
    REQUIRE(first);
    CHECK(std::ranges::equal((*first)->ids(), std::vector<std::int32_t>{0}));
}

// Relative positions set no limit of their own.
TEST_CASE("a T5 without a maximum length takes 4,096 tokens on either side", "[model]") {
    SmallFamily family = small_encoder_decoders.front();
    std::string config = family.config;
    const std::string limit = R"("n_positions": 16, )";
    REQUIRE(config.find(limit) != std::string::npos);
    config.erase(config.find(limit), limit.size());
    family.config = config.c_str();
    const auto model = small_model(family);
    CHECK(model->config().context == 4096);
    const auto told = [&](std::size_t tokens, std::size_t decoder_tokens) {
        const auto begun =
            ForwardPass::start(model, std::vector<std::int32_t>(tokens, 1), default_kernels(),
                               operations_of_a_frame, {}, std::vector<std::int32_t>(decoder_tokens, 1));
        return begun ? std::string() : begun.error().message;
    };
    CHECK(told(4096, 4096).empty());
    CHECK(told(4097, 1) == "4097 tokens are more than the context of 4096 that this model was made for");
    CHECK(told(1, 4097) ==
          "4097 decoder tokens are more than the context of 4096 that this model was made for");
}

TEST_CASE("texts that an encoder or a decoder cannot read are reported in one sentence", "[model]") {
    const auto told = [](const std::shared_ptr<const Model>& model, std::vector<std::int32_t> ids,
                         std::vector<std::int32_t> decoder_ids) {
        const auto trace = run_forward(model, std::move(ids), default_kernels(), {}, std::move(decoder_ids));
        return trace ? std::string() : trace.error().message;
    };
    const auto t5 = small_t5();
    CHECK(told(t5, {}, {0}) == "there are no token ids to run");
    CHECK(told(t5, {1}, {0, 20}) == "decoder token id 20 at position 1 is outside the vocabulary of 20");
    CHECK(told(t5, {1}, std::vector<std::int32_t>(17)) ==
          "17 decoder tokens are more than the context of 16 that this model was made for");
    CHECK_THAT(told(small_model(small_families.front()), {1}, {0}), ContainsSubstring("has no decoder"));
    const auto under = ForwardPass::start_under(Mask::causal(), t5, {1, 2});
    REQUIRE(!under);
    CHECK_THAT(under.error().message, ContainsSubstring("one of its three kinds of attention"));
    const auto other = ForwardPass::start_under(Mask(), small_model(small_families.front()), {1},
                                                default_kernels(), 400e6, {}, {}, AttentionKind::cross);
    REQUIRE(!other);
    CHECK_THAT(other.error().message, ContainsSubstring("has one kind of attention"));
}

TEST_CASE("an encoder–decoder runs under another mask of one of its kinds of attention", "[model]") {
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
        const auto model = small_t5(which);
        const auto own = t5_run(model);
        const auto under = [&](Mask mask, AttentionKind kind) {
            auto forward = ForwardPass::start_under(std::move(mask), model, encoded_ids, default_kernels(),
                                                    400e6, {}, decoded_ids, kind);
            REQUIRE(forward);
            auto trace = forward->finish();
            REQUIRE(trace);
            return *trace;
        };
        using enum AttentionKind;
        // Under its own masks the run is unchanged.
        for (const auto& [mask, kind] :
             {std::pair{Mask(), encoder}, {Mask::causal(), decoder}, {Mask(), cross}})
            CHECK(under(mask, kind)->final_norm() == own->final_norm());
        // If all queries see only the first key, every output is its value: padding(1) allows one key.
        for (const AttentionKind kind : {encoder, decoder, cross}) {
            const auto trace = under(Mask::padding(1), kind);
            CHECK_FALSE(trace->final_norm() == own->final_norm());
            for (Index number = 0; number < trace->attentions(); ++number) {
                const LayerAttention of = trace->attention(number);
                const Record& record = of.record();
                const bool masked = of.place.kind == kind;
                CHECK((record.spec().mask == Mask::padding(1)) == masked);
                for (Index head = 0; masked && head < record.heads(); ++head)
                    for (Index query = 0; query < record.queries(); ++query)
                        for (Index b = 0; b < record.d_v(); ++b)
                            CHECK(record.output().heads().head(head)(query, b) ==
                                  record.v().heads().head(record.kv_head(head))(0, b));
            }
        }
        // A mask of the decoder does not change the encoder.
        CHECK(under(Mask::padding(1), cross)->encoder()->final_norm() == own->encoder()->final_norm());
    }
}

TEST_CASE("a score's bias is the number of its distance's bucket in the file", "[model]") {
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
        const auto trace = t5_run(small_t5(which));
        const Model& model = *trace->model();
        for (Index number = 0; number < trace->attentions(); ++number) {
            const LayerAttention of = trace->attention(number);
            const Record& record = of.record();
            for (Index head = 0; head < record.heads(); ++head)
                for (Index query = 0; query < record.queries(); ++query) {
                    const std::vector<float> weights = record.weights(head, query);
                    for (Index key = 0; key < record.keys(); ++key) {
                        const auto bucket = bias_bucket(*trace, number, query, key);
                        REQUIRE(bucket.has_value() == (of.place.kind != AttentionKind::cross));
                        const CellExplanation cell = explain(record, Stage::weight, head, query, key);
                        // Scores are within ±10, and a weight within 1; both were rounded some ten times.
                        CHECK(std::abs(cell.f64 -
                                       static_cast<double>(weights[static_cast<std::size_t>(key)])) < 1e-5);
                        if (!bucket) {
                            CHECK(cell.bias == 0);
                            continue;
                        }
                        const RelativeBias& bias = *of.queries.network().relative_bias;
                        CHECK(cell.bias == element(bias.table, head, *bucket));
                        CHECK(stored_at(model, bias.table, head, *bucket).weight ==
                              model.weight(bias.name + ".weight"));
                        if (cell.allowed)
                            CHECK(std::abs(cell.scaled + cell.bias -
                                           static_cast<double>(
                                               record.cell(Stage::masked, head, query, key))) < 1e-4);
                    }
                }
        }
    }
}

TEST_CASE("a decoder continues, one token at a time, as whole runs predict", "[model]") {
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
        const auto model = small_t5(which);
        auto generator = Generator::start(model, encoded_ids, {});
        REQUIRE(generator);
        for (int i = 0; i < 12; ++i) {
            const auto whole = t5_run(model, {generator->ids().begin(), generator->ids().end()});
            const Tensor last = whole->logits({whole->tokens() - 1, whole->tokens()});
            const auto likeliest = std::ranges::max_element(last.values()) - last.values().begin();
            const auto next = generator->next();
            REQUIRE(next);
            CHECK(*next == likeliest);
        }
        CHECK(generator->ids().front() == model->config().start_id);
    }
}

TEST_CASE("heads of an encoder and a decoder are measured, and cross-attention where that is meaningful",
          "[model][analysis]") {
    const auto model = small_t5(1);
    const auto table = score_repeated_tokens(model, 5, 2, 2, 1);
    REQUIRE(table);
    REQUIRE(std::ssize(*table) == 7);
    for (std::size_t number = 0; number < table->size(); ++number)
        for (const RepeatedTokenScores& head : (*table)[number]) {
            CHECK(std::isfinite(head.head.entropy));
            CHECK(std::isfinite(head.head.first_token));
            CHECK(std::isnan(head.head.previous_token) == (number >= 5));
            CHECK(std::isnan(head.induction_stripe) == (number >= 5));
        }

    // The texts have equal lengths, but cross-attention still relates two different texts.
    const auto trace = t5_run(model, {0, 18, 2, 8, 1, 8, 2, 19, 4});
    auto heads = HeadOverview::start(trace);
    REQUIRE(heads);
    while (heads->step_maps()) {
    }
    while (heads->step_scores()) {
    }
    REQUIRE(heads->layers() == 7);
    CHECK(heads->measures(HeadScore::induction));
    for (Index layer = 0; layer < 7; ++layer)
        for (Index head = 0; head < 2; ++head)
            CHECK(number_of(heads->scores({layer, head}), HeadScore::distance).has_value() == (layer < 5));
}
