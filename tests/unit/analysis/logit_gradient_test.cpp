// Compares with PyTorch's autograd in float64 (tests/golden/model/generate.py), and with the model itself,
// run again with a number changed.
#include "analysis/attribution/logit_gradient.hpp"

#include <array>

#include "../model/models.hpp"
#include "io/safetensors.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* names[] = {"gpt2-f32",          "gpt2-untied-f16",  "llama-sharded-bf16",
                                 "llama3-scaled-f32", "qwen2-linear-f32", "mistral-window-f16"};
const LogitLoss golden_loss{7, 3};  // RAISE and OVER of generate.py

std::shared_ptr<const Trace> trace_of(const std::shared_ptr<const Model>& model,
                                      std::vector<std::int32_t> ids) {
    auto trace = run_forward(model, std::move(ids));
    REQUIRE(trace);
    return *trace;
}

LogitGradient finished(const std::shared_ptr<const Trace>& trace, const LogitLoss& loss,
                       double slice_operations = 400e6) {
    auto gradient = LogitGradient::start(trace, loss, slice_operations);
    REQUIRE(gradient);
    while (gradient->step(0)) {
    }
    return *std::move(gradient);
}

double loss_in_whole_row(const Trace& trace, const LogitLoss& loss) {
    const Index row = loss.row.value_or(trace.tokens() - 1);
    return loss_of(trace.logits({row, row + 1}).values(), loss);
}

// Says whether the same experts are chosen, and the same ReLU units are 0.
bool same_pieces(const Trace& a, const Trace& b) {
    const auto is_off = [](float unit) { return unit == 0; };
    for (std::size_t l = 0; l < a.layers().size(); ++l) {
        const LayerTrace &x = a.layers()[l], &y = b.layers()[l];
        if (!(x.chosen_experts == y.chosen_experts)) return false;
        if (!std::ranges::equal(x.mlp_hidden.values(), y.mlp_hidden.values(), {}, is_off, is_off))
            return false;
    }
    return !a.encoder() || same_pieces(*a.encoder(), *b.encoder());
}

}  // namespace

TEST_CASE("the gradient of a logit with respect to every head's output matches PyTorch",
          "[analysis][golden]") {
    const std::string name = GENERATE(from_range(std::begin(names), std::end(names)));
    CAPTURE(name);
    const Bytes bytes = read_file(golden_folder(name) / "expect.safetensors");
    const auto file = parse_safetensors(bytes);
    REQUIRE(file);
    const auto stored_ids = file->tensor("ids");
    REQUIRE(stored_ids);
    std::vector<std::int32_t> ids;
    for (const float id : stored_ids->values()) ids.push_back(static_cast<std::int32_t>(id));
    const auto trace = trace_of(load(golden_folder(name)), ids);
    const LogitGradient gradient = finished(trace, golden_loss);
    for (Index l = 0; l < std::ssize(trace->layers()); ++l) {
        const std::string layer = "gradient.layers." + std::to_string(l);
        // The gradients are within ±5, and pass through about as many roundings as the activations, so their
        // bound applies.
        REQUIRE(gradient.heads(l));
        CHECK(deviation(gradient.heads(l)->values(), file->tensor(layer + ".attention.output")->values()) <
              2e-5);
        CHECK(deviation(gradient.attention_output(l)->values(),
                        file->tensor(layer + ".attention_output")->values()) < 2e-5);
    }
    CHECK(gradient.value() == loss_in_whole_row(*trace, golden_loss));
}

TEST_CASE("slices, and stopping at a layer, do not change a logit's gradient", "[analysis]") {
    const auto trace = trace_of(load(golden_folder("llama3-scaled-f32")), {3, 1, 4, 1, 5, 9, 2, 6});
    const LogitGradient whole = finished(trace, {5, std::nullopt});
    auto sliced = LogitGradient::start(trace, {5, std::nullopt}, 1);
    REQUIRE(sliced);
    CHECK(sliced->heads(1) == nullptr);
    while (sliced->step(1)) {
    }
    REQUIRE(sliced->heads(1));
    CHECK(*sliced->heads(1) == *whole.heads(1));
    CHECK(sliced->heads(0) == nullptr);
    CHECK_FALSE(sliced->step(1));
    while (sliced->step(0)) {
    }
    CHECK(*sliced->heads(0) == *whole.heads(0));
    CHECK(*sliced->attention_output(0) == *whole.attention_output(0));
}

TEST_CASE("a logit's gradient predicts the effect of moving a head's output", "[analysis]") {
    std::vector<std::pair<std::string, std::shared_ptr<const Model>>> models;
    for (const char* name : {"gpt2-f32", "llama3-scaled-f32", "mistral-window-f16"})
        models.emplace_back(name, load(golden_folder(name)));
    for (const SmallFamily& family : all_small_families())
        models.emplace_back(family.name, small_model(family));
    const auto& [name, model] = GENERATE_COPY(from_range(models));
    CAPTURE(name);
    const auto trace = *run_text(model, {3, 1, 4, 1, 5, 9, 2, 6});
    // Masked language models predict a token within the text.
    LogitLoss loss_here = golden_loss;
    if (!model->network().causal) loss_here.row = 3;
    const LogitGradient gradient = finished(trace, loss_here);
    CHECK(gradient.value() == loss_in_whole_row(*trace, loss_here));
    const ModelConfig& config = trace->model()->config();
    Random random(7);
    // Logits are within ±20, so f32 logits are off by about 1e-6 after all layers; divided by 2h that is
    // 1e-4. The fourth-order difference leaves no visible curvature term.
    const float h = 1.0f / 128;
    int compared = 0;
    for (int i = 0; i < 40; ++i) {
        const HeadIndex head{
            static_cast<Index>(random.below(static_cast<std::uint64_t>(config.attentions()))),
            static_cast<Index>(random.below(static_cast<std::uint64_t>(config.heads)))};
        const auto token = static_cast<Index>(random.below(8));
        const auto component = static_cast<Index>(random.below(static_cast<std::uint64_t>(config.head_dim)));
        const ConstMatrix given = trace->attention(head.layer).record().output().heads().head(head.head);
        const auto moved = [&](float by) {
            std::vector<float> values(given.row(token), given.row(token) + given.cols);
            values[static_cast<std::size_t>(component)] += by;
            auto forward = ForwardPass::start_with({head_output(head, token, std::move(values))}, trace);
            REQUIRE(forward);
            return *forward->finish();
        };
        const std::array runs{moved(-2 * h), moved(-h), moved(h), moved(2 * h)};
        // Where a token goes to another expert, the logits jump; at the kink of ReLU their derivative does.
        if (!std::ranges::all_of(runs, [&](const auto& run) { return same_pieces(*run, *trace); })) continue;
        std::array<double, 4> loss{};
        std::ranges::transform(runs, loss.begin(),
                               [&](const auto& run) { return loss_in_whole_row(*run, loss_here); });
        const double difference =
            (loss[0] - 8 * loss[1] + 8 * loss[2] - loss[3]) / (12 * static_cast<double>(h));
        ++compared;
        CAPTURE(head.layer, head.head, token, component, difference);
        // A large gradient, of up to 20, goes with larger intermediate numbers.
        CHECK(std::abs(difference -
                       static_cast<double>(
                           gradient.heads(head.layer)->heads().head(head.head)(token, component))) <
              2e-3 * std::max(1.0, std::abs(difference)));
    }
    CHECK(compared > 20);
}

namespace {

// An example of an operation at a site, on some numbers of two rows; null: a mask has no such operation.
std::optional<Intervention> example(Index attention, Site site, Operation operation,
                                    const std::shared_ptr<const Trace>& other) {
    Intervention each{.attention = attention,
                      .site = site,
                      .edit = {.rows = {3, 7}, .columns = {1, 3}, .operation = operation}};
    if (is_of_heads(site)) each.edit.head = 0;
    if (operation == Operation::scale) each.edit.values = {-0.5f};
    if (operation == Operation::add) each.edit.values = {0.25f, -1.5f};
    if (operation == Operation::set) each.edit.values = {0.5f, -0.25f, 2, 1};
    if (operation == Operation::mean_of_texts || operation == Operation::patch) each.from = {other};
    if (site != Site::mask) return each;
    if (operation == Operation::set) each.edit.values = {1, 0};
    const bool possible =
        operation == Operation::zero || operation == Operation::set || operation == Operation::patch;
    return possible ? std::optional(each) : std::nullopt;
}

}  // namespace

// Covers every site of every attention, except those before the first heads, where no head's output precedes
// the change. A gradient that ignored the change would be off by about its own size.
TEST_CASE("a logit's gradient passes through every intervention at every site, in every family",
          "[analysis]") {
    constexpr std::array operations{Operation::zero, Operation::scale, Operation::add,
                                    Operation::set,  Operation::mean,  Operation::mean_of_texts,
                                    Operation::patch};
    const SmallFamily& family = GENERATE(from_range(all_small_families()));
    CAPTURE(family.name);
    const auto model = small_model(family);
    const auto trace = *run_text(model, {3, 1, 4, 1, 5, 9, 2, 6}),
               other = *run_text(model, {8, 1, 7, 1, 2, 9, 4, 11});
    LogitLoss loss{7, 3};
    if (!model->network().causal) loss.row = 3;
    Random random(11);
    // Logits in f32 are off by about 1e-6; divided by 2h that is 1e-4, just as without changes.
    const float h = 1.0f / 128;
    int compared = 0;
    std::size_t number = 0;
    for (Index attention = 0; attention < trace->attentions(); ++attention)
        for (int which = 0; which < site_count; ++which)
            for (const Operation operation : operations) {
                const Site site = static_cast<Site>(which);
                const auto change = example(attention, site, operation, other);
                if (!change || (test::sanitized && number++ % 8 != 0)) continue;
                CAPTURE(attention, info(site).key, static_cast<int>(operation));
                auto changing = ForwardPass::start_with({*change}, trace);
                INFO((changing ? "" : changing.error().message));
                REQUIRE(changing);
                const auto changed = *changing->finish();
                const LogitGradient gradient = finished(changed, loss);
                CHECK(gradient.value() == loss_in_whole_row(*changed, loss));
                for (int i = 0; i < 3; ++i) {
                    // In the first attention of a stack, or in the changed one.
                    const bool in_encoder = trace->encoder() && i == 0;
                    const Index at = i == 2                            ? attention
                                     : in_encoder || !trace->encoder() ? 0
                                                                       : trace->encoder()->attentions();
                    const Record& record = changed->attention(at).record();
                    const auto below = [&](Index count) {
                        return static_cast<Index>(random.below(static_cast<std::uint64_t>(count)));
                    };
                    const HeadIndex head{at, below(record.heads())};
                    // The changed rows see their own token, and the row of the loss sees everything before
                    // it.
                    const Index token = i == 1 ? std::array<Index, 2>{3, 7}[below(2)] : below(4),
                                component = below(record.d_v());
                    const auto moved = [&](float by) {
                        std::vector<Intervention> all = changed->interventions();
                        all.push_back({.attention = at,
                                       .site = Site::head_output,
                                       .edit = {.head = head.head,
                                                .rows = {token},
                                                .columns = {component},
                                                .operation = Operation::add,
                                                .values = {by}}});
                        auto forward = ForwardPass::start_with(all, changed);
                        REQUIRE(forward);
                        return *forward->finish();
                    };
                    const std::array runs{moved(-2 * h), moved(-h), moved(h), moved(2 * h)};
                    if (!std::ranges::all_of(runs,
                                             [&](const auto& run) { return same_pieces(*run, *changed); }))
                        continue;
                    std::array<double, 4> at_steps{};
                    std::ranges::transform(runs, at_steps.begin(),
                                           [&](const auto& run) { return loss_in_whole_row(*run, loss); });
                    const double difference =
                        (at_steps[0] - 8 * at_steps[1] + 8 * at_steps[2] - at_steps[3]) /
                        (12 * static_cast<double>(h));
                    ++compared;
                    const auto slope =
                        static_cast<double>(gradient.heads(at)->heads().head(head.head)(token, component));
                    CAPTURE(head.layer, head.head, token, component, difference, slope);
                    CHECK(std::abs(difference - slope) < 2e-3 * std::max(1.0, std::abs(difference)));
                }
            }
    CHECK(compared > (test::sanitized ? 20 : 200));
}

TEST_CASE("in a causal model, later tokens do not affect a logit", "[analysis]") {
    const auto trace = trace_of(load(golden_folder("gpt2-f32")), {3, 1, 4, 1, 5});
    const LogitGradient gradient = finished(trace, {.raise = 7, .over = 3, .row = 2});
    const auto alone = finished(trace_of(trace->model(), {3, 1, 4}), golden_loss);
    for (Index layer = 0; layer < 2; ++layer)
        for (Index head = 0; head < 3; ++head)
            for (Index token = 0; token < 5; ++token)
                for (Index c = 0; c < gradient.heads(layer)->dim(2); ++c) {
                    const float slope = gradient.heads(layer)->heads().head(head)(token, c);
                    // Sums over five tokens and over three are added in different orders in f32.
                    const float there = token > 2 ? 0 : alone.heads(layer)->heads().head(head)(token, c);
                    CHECK(std::abs(slope - there) < 1e-5f);
                }
}

TEST_CASE("a token outside the vocabulary or the text has no gradient", "[analysis]") {
    const auto trace = trace_of(load(golden_folder("gpt2-f32")), {3, 1});
    CHECK_FALSE(LogitGradient::start(trace, {-1, std::nullopt}));
    const auto outside = LogitGradient::start(trace, {3, 31});
    REQUIRE_FALSE(outside);
    CHECK(outside.error().message == "Token 31 is outside the vocabulary of 31.");
    const auto beyond = LogitGradient::start(trace, {.raise = 3, .over = {}, .row = 2});
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().message == "There is no token 2 in a text of 2.");
}
