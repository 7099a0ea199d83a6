// Tests properties of every family: refusals that name what is wrong, runs that can be continued and
// generated one token at a time, and numbers that are recomputed in double.
#include <cstring>

#include "model/explain.hpp"
#include "model/forward.hpp"
#include "model/generate.hpp"
#include "support/small_families.hpp"
#include "train/network.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::int32_t> family_ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

std::shared_ptr<const Trace> family_run(const std::shared_ptr<const Model>& model,
                                        const std::vector<std::int32_t>& of_ids = family_ids) {
    auto trace = run_text(model, of_ids);
    REQUIRE(trace);
    return *trace;
}

std::string refusal_of_files(ModelFiles files) {
    const auto model = Model::load(std::move(files));
    REQUIRE(!model);
    return model.error().message;
}

nlohmann::json family_config(const SmallFamily& family) { return nlohmann::json::parse(family.config); }

std::string refusal_of_keys(const nlohmann::json& config) {
    const std::string text = config.dump();
    const auto parsed = parse_model_config(as_bytes(text));
    INFO(text);
    REQUIRE(!parsed);
    CHECK(parsed.error().message.find('\n') == std::string::npos);
    return parsed.error().message;
}

bool bits_alike(const Tensor& a, const Tensor& b) {
    const Tensor x = a, y = b;  // copies are contiguous
    return x.shape() == y.shape() &&
           std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0;
}

void check_alike(const Trace& got, const Trace& expected) {
    const auto a = got.tensors(), b = expected.tensors();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO(a[i].name);
        CHECK(bits_alike(*a[i].tensor, *b[i].tensor));
    }
}

}  // namespace

TEST_CASE("a tensor that is missing or has another shape is named, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const ModelFiles files = files_of(family);
        const std::vector<TensorToWrite> whole = tensors_of(files.weights.begin()->second);
        for (std::size_t i = 0; i < whole.size(); ++i) {
            CAPTURE(whole[i].name);
            std::vector<TensorToWrite> lacking = whole, odd = whole;
            lacking.erase(lacking.begin() + static_cast<std::ptrdiff_t>(i));
            odd[i].shape.push_back(1);
            CHECK_THAT(refusal_of_files(with_tensors(files, lacking)),
                       ContainsSubstring("the weights lack tensor '" + whole[i].name + "'"));
            CHECK_THAT(refusal_of_files(with_tensors(files, odd)),
                       ContainsSubstring("tensor '" + whole[i].name + "' has shape") &&
                           ContainsSubstring("by config.json"));
        }
    }
}

TEST_CASE("features of a family that are not supported are refused by name", "[model]") {
    const auto with = [](const char* family, const char* key, const nlohmann::json& value) {
        const auto all = all_small_families();
        const auto found = std::ranges::find(all, std::string_view(family), [](const SmallFamily& each) {
            return std::string_view(each.name);
        });
        auto config = family_config(*found);
        config[key] = value;
        return refusal_of_keys(config);
    };
    for (const auto& [family, key, value, told] :
         std::vector<std::tuple<const char*, const char*, nlohmann::json, const char*>>{
             {"falcon", "alibi", true, "(alibi)"},
             {"falcon", "apply_residual_connection_post_layernorm", true,
              "(apply_residual_connection_post_layernorm)"},
             {"phi", "qk_layernorm", true, "(qk_layernorm)"},
             {"stablelm", "qk_layernorm", true, "(qk_layernorm)"},
             {"opt", "layer_norm_elementwise_affine", false, "(layer_norm_elementwise_affine)"},
             {"opt", "_remove_final_layer_norm", true, "(_remove_final_layer_norm)"},
             {"bert", "position_embedding_type", "relative_key", "(position_embedding_type)"},
             {"bert", "is_decoder", true, "(is_decoder)"},
             {"gptj", "rotary_dim", nullptr, "'rotary_dim'"},
             {"gptj", "rotary_dim", 9, "rotary_dim = 9"},
             {"mixtral", "num_experts_per_tok", 5, "num_experts_per_tok = 5"},
             {"phi3", "rope_scaling", {{"type", "longrope"}, {"short_factor", {1}}}, "'short_factor'"},
             {"phi3", "rope_scaling", {{"type", "yarn"}, {"factor", 2}}, "'short_factor'"},
             {"olmo2", "rope_scaling", {{"type", "yarn"}, {"factor", 2}}, "'yarn'"},
             {"gemma3_text",
              "rope_parameters",
              {{"sliding_attention", {{"rope_type", "linear"}, {"factor", 2}}}},
              "'sliding_attention'"},
             {"gemma2", "layer_types", {"full_attention", "chunked_attention"}, "'chunked_attention'"},
             {"llama", "is_encoder_decoder", true, "(is_encoder_decoder)"},
             {"t5", "is_encoder_decoder", false, "(is_encoder_decoder)"},
             {"t5", "feed_forward_proj", "gated-tanh", "the activation 'tanh' as 'feed_forward_proj'"},
             {"t5", "feed_forward_proj", "relu-gated", "the activation 'relu-gated' as 'feed_forward_proj'"},
             {"t5", "decoder_start_token_id", 20, "decoder_start_token_id = 20"},
             {"t5", "relative_attention_num_buckets", 3, "'relative_attention_num_buckets'"},
             {"t5", "relative_attention_max_distance", 4, "relative_attention_max_distance = 4"},
             {"t5", "model_type", "mt5", "'mt5'"},
             {"gpt_neox", "model_type", "bloom", "'bloom'"}})
        CHECK_THAT(with(family, key, value), ContainsSubstring(told));
}

TEST_CASE("a run continues where another ended, also token by token, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto whole = family_run(model),
                   part = family_run(model, {family_ids.begin(), family_ids.begin() + 5});
        auto forward = continue_text(part, family_ids, 1);
        REQUIRE(forward);
        const auto continued = forward->finish();
        REQUIRE(continued);
        check_alike(**continued, *whole);

        auto generator = Generator::start(part, {.temperature = 1, .seed = 3});
        REQUIRE(static_cast<bool>(generator) == family.causal);
        if (!family.causal) {
            CHECK_THAT(generator.error().message, ContainsSubstring("both directions"));
            continue;
        }
        for (int i = 0; i < 8; ++i) {
            REQUIRE(generator->next());
            const auto again = family_run(model, {generator->ids().begin(), generator->ids().end()});
            while (generator->step()) {
            }
            // For a single row, products are added in another order, like in generate_test.cpp.
            CHECK(deviation(generator->logits(),
                            again->logits({again->tokens() - 1, again->tokens()}).values()) < 1e-5);
        }
    }
}

TEST_CASE("a head's output in its own place changes nothing, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = family_run(small_model(family));
        for (Index layer = 1; layer < trace->attentions(); ++layer) {
            CAPTURE(layer);
            const ConstMatrix head = trace->attention(layer).record().output().heads().head(1);
            auto forward = ForwardPass::start_with(
                {head_output({layer, 1}, 4, {head.row(4), head.row(4) + head.cols})}, trace);
            REQUIRE(forward);
            const auto same = forward->finish();
            REQUIRE(same);
            check_alike(**same, *trace);
        }
    }
}

TEST_CASE("components of q, k and v are recomputed in double, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = family_run(small_model(family));
        const Network& network = trace->model()->network();
        for (Index layer = 0; layer < trace->attentions(); ++layer)
            for (const Stage stage : {Stage::q, Stage::k, Stage::v}) {
                const Record& record = trace->attention(layer).record();
                const Tensor& run = stage == Stage::q   ? record.q()
                                    : stage == Stage::k ? record.k()
                                                        : record.v();
                Index turned = 0;
                for (Index head = 0; head < run.dim(0); ++head)
                    for (Index token = 0; token < run.dim(1); token += 3)
                        for (Index a = 0; a < run.dim(2); ++a) {
                            const VectorComponent why =
                                explain_component(*trace, stage, layer, head, token, a);
                            // Numbers are within ±10; a projection adds up 16 products.
                            CHECK(std::abs(why.value() -
                                           static_cast<double>(run.heads().head(head)(token, a))) < 2e-5);
                            turned += why.partner_component >= 0;
                        }
                const Rotary* rotary = network.rotary_of(layer);
                CHECK((turned > 0) == (rotary && stage != Stage::v));
            }
    }
}

TEST_CASE("a trace says how much memory it takes, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = family_run(small_model(family));
        std::int64_t bytes = 0;
        for (const NamedTensor& named : trace->tensors())
            bytes += std::int64_t{sizeof(float)} * named.tensor->size();
        CHECK(trace->memory_bytes() == bytes);
        const Index encoded = trace->encoder() ? trace->encoder()->tokens() : 0;
        CHECK(trace_bytes(trace->model()->config(), encoded > 0 ? encoded : trace->tokens(),
                          trace->tokens()) == bytes);
    }
}

TEST_CASE("only models that train like GPT-2 and Llama are trained", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        const std::string_view name = family.name;
        const bool plain =
            name == "gpt2" || name == "llama" || name == "mistral" || name == "qwen2" || name == "stablelm";
        CAPTURE(name);
        const Status can = TrainedNetwork::check(*small_model(family));
        CHECK(static_cast<bool>(can) == plain);
    }
}

TEST_CASE("segments belong to tokens, and to BERT", "[model]") {
    const auto found = [](const char* name) {
        return *std::ranges::find(small_families, std::string_view(name),
                                  [](const SmallFamily& each) { return std::string_view(each.name); });
    };
    const auto bert = small_model(found("bert"));
    const std::vector<std::int32_t> three{1, 2, 3};
    const auto told = [&](const std::shared_ptr<const Model>& model, std::vector<std::int32_t> segments) {
        const auto trace = run_forward(model, three, default_kernels(), std::move(segments));
        return trace ? std::string() : trace.error().message;
    };
    CHECK(told(bert, {0, 1, 1}).empty());
    CHECK(told(bert, {0, 1}) == "2 token types are not one for each of 3 tokens");
    CHECK(told(bert, {0, 1, 2}) == "token type 2 at position 2 is none of the model's 2");
    CHECK_THAT(told(small_model(found("opt")), {0, 0, 0}), ContainsSubstring("has no segments"));
    // The same text with other segments is a different text, also where it continues a run.
    const auto second = run_forward(bert, three, default_kernels(), {0, 1, 1}),
               first = run_forward(bert, three);
    REQUIRE((first && second));
    CHECK((*first)->final_residual() != (*second)->final_residual());
}

// transformers' create_position_ids_from_input_ids: (cumsum(mask) · mask) + padding_idx, mask = ids ≠
// padding_idx.
TEST_CASE("RoBERTa's positions do not count padding, whose row is its id's", "[model]") {
    const auto family = std::ranges::find(small_families, std::string_view("roberta"), &SmallFamily::name);
    auto with_other = family_config(*family);
    with_other["pad_token_id"] = 6;
    const std::string other = with_other.dump();
    for (const SmallFamily& each : {*family, SmallFamily{"roberta", other.c_str(), false}}) {
        const auto model = small_model(each);
        const std::int32_t padding = model->config().padding_id;
        CHECK(padding == (each.config == other.c_str() ? 6 : 1));
        const std::vector<std::int32_t> ids{padding, 0, 7, padding, padding, 4, 9, padding, 2};
        const auto trace = run_forward(model, ids);
        REQUIRE(trace);
        const WeightView& table = *model->network().position_embedding;
        Index counted = 0;
        for (std::size_t token = 0; token < ids.size(); ++token) {
            const Index mask = ids[token] != padding;
            counted += mask;
            for (Index b = 0; b < table.in; ++b)
                CHECK(static_cast<double>((*trace)->position_embedding().matrix()(
                          static_cast<Index>(token), b)) == element(table, b, counted * mask + padding));
        }
    }
    // OPT's and BERT's come from the tokens' places alone.
    for (const char* name : {"opt", "bert"})
        CHECK(small_model(*std::ranges::find(small_families, std::string_view(name), &SmallFamily::name))
                  ->config()
                  .padding_id == -1);
}
