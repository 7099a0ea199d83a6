#include "model/forward.hpp"

#include <algorithm>

#include "models.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> some_ids{3, 1, 4, 1, 5, 9, 2};

std::shared_ptr<const Trace> trace_of(const std::string& name) {
    auto trace = run_forward(load(golden_folder(name)), some_ids);
    REQUIRE(trace);
    return *trace;
}

std::string refusal(std::vector<std::int32_t> ids) {
    const auto forward = ForwardPass::start(load(golden_folder("gpt2-f32")), std::move(ids));
    REQUIRE(!forward);
    return forward.error().message;
}

}  // namespace

TEST_CASE("a run in steps equals the run at once, bit for bit", "[model]") {
    const auto model = wide_model();
    std::vector<std::int32_t> ids(200);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 8);

    auto forward = ForwardPass::start(model, ids, default_kernels(), 40e6);
    REQUIRE(forward);
    CHECK(forward->progress() == 0);
    int steps = 0;
    float progress = 0;
    while (forward->step()) {
        ++steps;
        CHECK(forward->progress() >= progress);
        progress = forward->progress();
    }
    CHECK(steps > 20);
    CHECK(forward->progress() == 1);
    const auto stepped = forward->finish();
    const auto at_once = run_forward(model, ids);
    REQUIRE(stepped);
    REQUIRE(at_once);

    const auto a = (*stepped)->tensors(), b = (*at_once)->tensors();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO(a[i].name);
        CHECK(a[i].name == b[i].name);
        CHECK(a[i].axes.size() == static_cast<std::size_t>(a[i].tensor->rank()));
        CHECK(*a[i].tensor == *b[i].tensor);
    }
    // Attention in parts must equal that of one call.
    const LayerTrace& layer = (*stepped)->layers().front();
    const auto whole =
        Record::run(layer.attention.q(), layer.attention.k(), layer.attention.v(), layer.attention.spec());
    REQUIRE(whole);
    CHECK(layer.attention.output() == whole->output());
    CHECK(layer.attention.row_max() == whole->row_max());
    CHECK(layer.attention.row_log_sum() == whole->row_log_sum());
}

TEST_CASE("the heads' contributions and the bias make the attention output", "[model]") {
    const std::string name = GENERATE("gpt2-untied-f16", "llama3-scaled-f32");
    const auto trace = trace_of(name);
    const Range rows{2, 6};
    for (Index l = 0; l < std::ssize(trace->layers()); ++l) {
        const LayerTrace& layer = trace->layers()[static_cast<std::size_t>(l)];
        const std::string bias_name = name.starts_with("gpt2")
                                          ? "h." + std::to_string(l) + ".attn.c_proj.bias"
                                          : "layers." + std::to_string(l) + ".self_attn.o_proj.bias";
        const Weight* bias = trace->model()->weight(bias_name);
        REQUIRE(bias);
        const Tensor bias_values = to_tensor(*bias);
        const Index d = trace->model()->config().d_model;
        Tensor sum({rows.size(), d});
        for (Index row = 0; row < rows.size(); ++row)
            std::ranges::copy(bias_values.values(), sum.matrix().row(row));
        for (Index head = 0; head < layer.attention.heads(); ++head) {
            const Tensor part = trace->head_contribution(l, head, rows);
            for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += part.data()[i];
        }
        CHECK(deviation(sum.values(), {layer.attention_output.matrix().row(rows.begin),
                                       static_cast<std::size_t>(sum.size())}) < 1e-5);
    }
}

TEST_CASE("the residual stream is the sum of what was written to it", "[model]") {
    const auto trace = trace_of("gpt2-f32");
    Tensor sum = trace->token_embedding();
    const auto add = [&](const Tensor& t) {
        for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += t.data()[i];
    };
    add(trace->position_embedding());
    for (const LayerTrace& layer : trace->layers()) {
        CHECK(layer.resid_pre == sum);
        add(layer.attention_output);
        CHECK(layer.resid_mid == sum);
        add(layer.mlp_output);
    }
    CHECK(trace->final_residual() == sum);
}

TEST_CASE("logits of some rows equal those of all rows", "[model]") {
    const auto trace = trace_of("qwen2-linear-f32");
    const Tensor all = trace->logits({0, trace->tokens()}), last = trace->logits({5, 7});
    CHECK(last.shape() == Shape{2, trace->model()->config().vocab_size});
    CHECK(deviation(last.values(), all.values().subspan(static_cast<std::size_t>(5 * all.dim(1)))) < 1e-5);
}

TEST_CASE("a trace takes the predicted memory", "[model]") {
    const auto trace = trace_of(GENERATE("gpt2-f32", "llama-sharded-bf16"));
    std::int64_t bytes = 0;
    for (const NamedTensor& named : trace->tensors())
        bytes += 4 * static_cast<std::int64_t>(named.tensor->size());
    CHECK(trace->memory_bytes() == bytes);
}

TEST_CASE("ids that no run accepts are refused in one sentence", "[model]") {
    CHECK(refusal({}) == "there are no token ids to run");
    CHECK(refusal({0, 1, 2, 31}) == "token id 31 at position 3 is outside the vocabulary of 31");
    CHECK(refusal({-1}) == "token id -1 at position 0 is outside the vocabulary of 31");
    CHECK(refusal(std::vector<std::int32_t>(19)) ==
          "19 tokens are more than the context of 18 that this model was made for");
}

TEST_CASE("under its own mask a run is unchanged, and under the narrowest each output is the own value",
          "[model]") {
    const auto model = load(golden_folder("gpt2-f32"));
    const auto under = [&](Mask mask) {
        auto forward = ForwardPass::start_under(std::move(mask), model, some_ids);
        REQUIRE(forward);
        auto trace = forward->finish();
        REQUIRE(trace);
        return *trace;
    };
    const auto as_it_is = run_forward(model, some_ids);
    REQUIRE(as_it_is);
    CHECK(under(Mask::causal())->final_residual() == (*as_it_is)->final_residual());
    const auto narrow = under(Mask::window(0, 0));
    for (const LayerTrace& layer : narrow->layers()) {
        CHECK(layer.attention.spec().mask == Mask::window(0, 0));
        // A weight of 1 on the query's own key.
        CHECK(layer.attention.output() == layer.attention.v());
    }
    CHECK_FALSE(narrow->final_residual() == (*as_it_is)->final_residual());
    CHECK_FALSE(ForwardPass::start_under(Mask(), model, {}));
}

TEST_CASE("a run under another mask has the given segments", "[model]") {
    const auto bert =
        small_model(*std::ranges::find(small_families, std::string_view("bert"), &SmallFamily::name));
    const std::vector<std::int32_t> ids{2, 7, 3, 8, 3}, segments{0, 0, 0, 1, 1};
    const auto as_it_is = run_forward(bert, ids, default_kernels(), segments);
    REQUIRE(as_it_is);
    auto under = ForwardPass::start_under(Mask(), bert, ids, default_kernels(), 400e6, segments);
    REQUIRE(under);
    const auto run = under->finish();
    REQUIRE(run);
    CHECK((*run)->final_residual() == (*as_it_is)->final_residual());
    CHECK_FALSE(ForwardPass::start_under(Mask(), bert, ids, default_kernels(), 400e6, {0}));
}

TEST_CASE("a run continues from a head whose output is replaced", "[model]") {
    const std::string name = GENERATE("gpt2-f32", "llama3-scaled-f32", "mistral-window-f16");
    const auto trace = trace_of(name);
    const ModelConfig& config = trace->model()->config();
    const auto run = [&](const Intervention& set, double slice = 400e6) {
        auto forward = ForwardPass::start_with({set}, trace, slice);
        REQUIRE(forward);
        auto changed = forward->finish();
        REQUIRE(changed);
        return *changed;
    };
    const std::vector<NamedTensor> before = trace->tensors();
    std::vector<Tensor> kept;
    for (const NamedTensor& named : before) kept.push_back(*named.tensor);
    for (const HeadIndex head : {HeadIndex{0, 1}, HeadIndex{1, 2}})
        for (const Index token : {Index{0}, Index{3}, Index{6}}) {
            CAPTURE(name, head.layer, token);
            const std::size_t l = static_cast<std::size_t>(head.layer);
            const float* given = trace->layers()[l].attention.output().heads().head(head.head).row(token);
            Intervention set = head_output(head, token, {given, given + config.head_dim});
            // Setting an output to its own value changes nothing, in slices of a token as well.
            const auto same = run(set, 1);
            for (std::size_t i = 0; i < before.size(); ++i) {
                INFO(before[i].name);
                CHECK(*same->tensors()[i].tensor == *before[i].tensor);
            }
            // Without the head, the layer's output lacks the head's part for this token, and for no other.
            std::ranges::fill(set.edit.values, 0.0f);
            const auto without = run(set);
            const Tensor wrote = trace->head_contribution(head.layer, head.head, {token, token + 1});
            Tensor sum = without->layers()[l].attention_output;
            for (Index c = 0; c < config.d_model; ++c) sum.matrix()(token, c) += wrote.data()[c];
            CHECK(deviation(sum.values(), trace->layers()[l].attention_output.values()) < 1e-5);
            Tensor output = without->layers()[l].attention.output();
            std::copy_n(given, config.head_dim, output.heads().head(head.head).row(token));
            CHECK(output == trace->layers()[l].attention.output());
            CHECK(deviation(without->final_norm().values(), trace->final_norm().values()) > 1e-4);
        }
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(*before[i].tensor == kept[i]);
}
