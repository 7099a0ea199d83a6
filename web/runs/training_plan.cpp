#include "runs/training_plan.hpp"

#include <algorithm>
#include <array>

#include "app/format.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

std::string number(Index value) { return std::to_string(value); }

Error beyond(std::string_view what, const std::string& value, Index least, Index most) {
    return {"A training run here has " + number(least) + " to " + number(most) + " " + std::string(what) +
            ", not " + value + "."};
}

Status check(const TrainingValues& v, const TrainingPlan& plan) {
    if (!(v.rate > 0 && v.rate <= training_rate_limit))
        return Error{"The learning rate " + shortest(v.rate) + " is not above 0 and at most 1e9."};
    if (v.window < 0 || v.window > plan.context)
        return Error{"A window of " + number(v.window) + " tokens is not 0 (none) to " +
                     number(plan.context) + ", the context."};
    for (const HeadIndex& head : v.ablated) {
        if (head.layer < 0 || head.layer >= plan.layers || head.head < 0 || head.head >= plan.heads)
            return Error{"There is no head " + number(head.head) + " in a layer " + number(head.layer) +
                         " to leave out: layers and heads count from 0, and there are " +
                         number(plan.layers) + " × " + number(plan.heads) + "."};
        if (std::ranges::count(v.ablated, head) > 1)
            return Error{"Head " + number(head.head) + " of layer " + number(head.layer) +
                         " is left out twice."};
    }
    return ok();
}

// Estimates the multiplications and additions of a slice, which is one sequence's forward and backward pass.
double sequence_operations(const TrainingPlan& plan) {
    const auto d = static_cast<double>(plan.d_model), n = static_cast<double>(plan.context);
    const double weights = static_cast<double>(plan.vocabulary) * d +
                           static_cast<double>(plan.layers) * d * d * (plan.mlp ? 12 : 4);
    return 6 * n * (weights + static_cast<double>(plan.layers) * n * d);
}
constexpr double sequence_operations_limit = 200e6, run_operations_limit = 10e12;

}  // namespace

bool is_symbolic(TrainingTask task) { return task < TrainingTask::pronouns; }

const TrainingValues& TrainingPlan::values_at(std::int64_t step) const {
    const TrainingValues* now = &values;
    for (const TrainingChange& change : changes)
        if (change.step <= step) now = &change.values;
    return *now;
}

Status check(const TrainingPlan& p) {
    struct Bound {
        std::string_view what;
        Index value, least, most;
    };
    const Index least_vocabulary = is_symbolic(p.task) ? 3 : 256;
    for (const auto& [what, value, least, most] :
         {Bound{"layers", p.layers, 1, training_layers_limit},
          Bound{"heads a layer", p.heads, 1, training_heads_limit},
          Bound{"components a token (d_model)", p.d_model, 8, training_width_limit},
          Bound{"tokens in its vocabulary", p.vocabulary, least_vocabulary, training_vocabulary_limit},
          Bound{"tokens a sequence", p.context, 8, training_context_limit},
          Bound{"sequences a step", p.batch, 1, training_batch_limit}})
        if (value < least || value > most) return beyond(what, number(value), least, most);
    if (p.steps < 1 || p.steps > training_steps_limit)
        return beyond("steps", std::to_string(p.steps), 1, static_cast<Index>(training_steps_limit));
    if (p.d_model % (2 * p.heads) != 0)
        return Error{"d_model " + number(p.d_model) + " does not divide into " + number(p.heads) +
                     " heads of an even size; choose a multiple of " + number(2 * p.heads) + "."};
    if (sequence_operations(p) > sequence_operations_limit)
        return Error{"Such a network needs " + number(static_cast<Index>(sequence_operations(p) / 1e6)) +
                     " million operations a sequence, more than the " +
                     number(static_cast<Index>(sequence_operations_limit / 1e6)) +
                     " million with which the page stays smooth; make it narrower, or the vocabulary or the "
                     "sequences shorter."};
    if (sequence_operations(p) * static_cast<double>(p.batch) * static_cast<double>(p.steps) >
        run_operations_limit)
        return Error{
            "So many steps of such batches would take many minutes; choose fewer steps, "
            "smaller batches or a smaller network."};
    if (Status status = check(p.values, p); !status) return status;
    if (p.changes.size() > training_changes_limit)
        return Error{"The settings of a training run can change at most " +
                     std::to_string(training_changes_limit) + " times."};
    std::int64_t after = 0;
    for (const TrainingChange& change : p.changes) {
        if (change.step <= after || change.step >= p.steps)
            return Error{"A change at step " + std::to_string(change.step) + " is not between step " +
                         std::to_string(after) + " and the last, " + std::to_string(p.steps) + "."};
        after = change.step;
        if (Status status = check(change.values, p); !status) return status;
    }
    if (p.text.size() > training_text_limit)
        return Error{"The text is longer than 100,000 bytes; paste a part of it."};
    if (!is_utf8(p.text)) return Error{"The text is not UTF-8."};
    return ok();
}

Status check(const TrainedHere& network) {
    if (Status status = check(network.plan); !status) return status;
    if (network.step < 0 || network.step > network.plan.steps)
        return Error{"There is no step " + std::to_string(network.step) + " in a run of " +
                     std::to_string(network.plan.steps) + "."};
    return ok();
}

TrainingPlan normalised(TrainingPlan plan) {
    const auto sort = [](TrainingValues& values) {
        std::ranges::sort(values.ablated, {}, [](const HeadIndex& h) { return std::pair(h.layer, h.head); });
    };
    sort(plan.values);
    for (TrainingChange& change : plan.changes) sort(change.values);
    if (plan.task != TrainingTask::own_text) plan.text.clear();
    return plan;
}

TrainingPlan forked(TrainingPlan plan, std::int64_t step, TrainingValues values) {
    std::erase_if(plan.changes, [&](const TrainingChange& change) { return change.step >= step; });
    if (step <= 0)
        plan.values = std::move(values);
    else if (plan.values_at(step) != values)
        plan.changes.push_back({step, std::move(values)});
    return normalised(std::move(plan));
}

Status check_fork(const TrainingPlan& plan, std::int64_t step, const TrainingValues& values) {
    if (step < 0 || step >= plan.steps)
        return Error{"A run of " + std::to_string(plan.steps) + " steps cannot be forked at step " +
                     std::to_string(step) + ": go back to an earlier step, or add more steps."};
    return check(forked(plan, step, values));
}

std::int64_t common_steps(const TrainingPlan& a, const TrainingPlan& b) {
    const auto first = [](TrainingPlan plan) {
        plan.changes.clear();
        plan.steps = 0;  // a longer run begins like a shorter one
        return plan;
    };
    if (first(a) != first(b)) return 0;
    const auto [in_a, in_b] = std::ranges::mismatch(a.changes, b.changes);
    std::int64_t common = std::min(a.steps, b.steps);
    if (in_a != a.changes.end()) common = std::min(common, in_a->step);
    if (in_b != b.changes.end()) common = std::min(common, in_b->step);
    return common;
}

// The network is of the Mistral family: its rotary positions make a previous-token head easy to learn, and
// config.json can specify a window of keys.
std::vector<std::byte> config_json_of(const TrainingPlan& plan, Index vocabulary, std::int64_t step) {
    const Index window = plan.values_at(step).window;
    std::string json = R"({
  "architectures": ["MistralForCausalLM"],
  "model_type": "mistral",
  "hidden_act": "silu",
  "rms_norm_eps": 1e-05,
  "rope_theta": 10000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "float32")";
    const auto add = [&](std::string_view key, const std::string& value) {
        json.append(",\n  \"").append(key).append("\": ").append(value);
    };
    add("vocab_size", number(vocabulary));
    add("max_position_embeddings", number(plan.context));
    add("hidden_size", number(plan.d_model));
    add("num_hidden_layers", number(plan.layers));
    add("num_attention_heads", number(plan.heads));
    add("num_key_value_heads", number(plan.heads));
    add("intermediate_size", number(plan.mlp ? plan.d_model * 8 / 3 : 1));
    add("sliding_window", window ? number(window) : "null");
    json += "\n}\n";
    const auto bytes = std::as_bytes(std::span(json));
    return {bytes.begin(), bytes.end()};
}

// With weights as small as GPT-2's, nothing happens for hundreds of steps in networks this narrow. The rate
// stays constant, so that a run can be extended.
TrainingSettings settings_of(const TrainingPlan& plan, std::int64_t step) {
    const TrainingValues& values = plan.values_at(step);
    return {.batch = plan.batch,
            .context = plan.context,
            .schedule = {.steps = plan.steps, .warmup = 20, .rate = values.rate, .final_rate = values.rate},
            .beta2 = 0.98,
            .weight_decay = 0,
            .seed = plan.seed,
            .initial_deviation = 0.1,
            .attention_only = !plan.mlp,
            .ablated = values.ablated};
}

namespace {

TrainingPlan symbols(TrainingTask task, Index layers) {
    TrainingPlan plan;
    plan.task = task;
    plan.layers = layers;
    return plan;
}

TrainingPlan text(TrainingTask task) {
    TrainingPlan plan;
    plan.task = task;
    plan.mlp = true;
    plan.vocabulary = 512;
    return plan;
}

}  // namespace

std::span<const TrainingPreset> training_presets() {
    static const std::array presets{
        TrainingPreset{
            "induction", "Induction head",
            "Random symbols repeat. One head learns to look at the token before, one in the "
            "next layer to find the last copy and what followed it; then the loss falls off a cliff.",
            symbols(TrainingTask::repeated, 2)},
        TrainingPreset{
            "one-layer", "One layer only",
            "The same symbols with one layer of attention: no head can ask for what followed a copy, so "
            "the induction score stays at the floor.",
            symbols(TrainingTask::repeated, 1)},
        TrainingPreset{"pronouns", "Pronouns",
                       "Generated sentences in which an adjective says what a pronoun means.",
                       text(TrainingTask::pronouns)},
        TrainingPreset{"reversal", "Reversal", "Symbols, a bar, and the same symbols backwards.",
                       symbols(TrainingTask::reversal, 2)},
        TrainingPreset{"copying", "Copying", "Symbols, a bar, and the same symbols once more.",
                       symbols(TrainingTask::copying, 2)},
        TrainingPreset{"own-text", "Own text", "A text that you paste in, token by token.",
                       text(TrainingTask::own_text)},
    };
    return presets;
}

const TrainingPreset* training_preset(std::string_view key) {
    const auto presets = training_presets();
    const auto found = std::ranges::find(presets, key, &TrainingPreset::key);
    return found == presets.end() ? nullptr : &*found;
}

const TrainingPreset& nearest_preset(const TrainingPlan& plan) {
    const auto presets = training_presets();
    const auto of_task = [&](const TrainingPreset& preset) { return preset.plan.task == plan.task; };
    const auto alike = std::ranges::find_if(presets, [&](const TrainingPreset& preset) {
        return of_task(preset) && preset.plan.layers == plan.layers;
    });
    return alike != presets.end() ? *alike : *std::ranges::find_if(presets, of_task);
}

}  // namespace attn::app
