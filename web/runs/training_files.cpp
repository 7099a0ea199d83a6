#include "runs/training_files.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "app/format.hpp"
#include "io/safetensors.hpp"
#include "io/zip_writer.hpp"
#include "model/families.hpp"
#include "text/word_list.hpp"

namespace attn::app {

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string symbol_tokenizer(Index vocabulary) {
    std::vector<std::string> symbols;
    for (Index id = 0; id < vocabulary; ++id) symbols.push_back(symbol_name(static_cast<std::int32_t>(id)));
    return word_list_tokenizer(symbols);
}

std::string heads_left_out(const TrainingValues& values) {
    std::string names;
    for (const HeadIndex& head : values.ablated)
        names += (names.empty() ? "" : ", ") + std::to_string(head.layer) + "." + std::to_string(head.head);
    return names.empty() ? "none" : names;
}

}  // namespace

Files hub_files(const TrainingRun& run, const TrainingView& view) {
    const std::string prefix(family_rules(view.model->config().family).prefixes.front());
    std::vector<TensorToWrite> tensors;
    std::vector<Bytes> bytes;
    bytes.reserve(view.model->weights().size());
    for (const Weight& weight : view.model->weights())
        tensors.push_back({weight.name == "lm_head.weight" ? weight.name : prefix + weight.name, weight.dtype,
                           weight.shape, bytes.emplace_back(bytes_in_rows(weight))});
    const TrainingData& data = run.data();
    return {{"config.json", config_json_of(run.plan(), data.vocabulary, view.step)},
            {"model.safetensors", write_safetensors(tensors, {{"format", "pt"}})},
            {"tokenizer.json",
             bytes_of(data.tokenizer ? data.tokenizer->to_json() : symbol_tokenizer(data.vocabulary))}};
}

std::string model_card(const TrainingRun& run, const TrainingView& view, const std::string& address) {
    const TrainingPlan& plan = run.plan();
    const TrainingPreset& preset = nearest_preset(plan);
    const TrainingValues& values = plan.values_at(view.step);
    const auto number = [](auto value) { return std::to_string(value); };
    std::string card =
        "# " + std::string(preset.key) + ", step " + number(view.step) +
        "\n\nA small transformer, trained from random weights in the page Attention Explorer.\n"
        "\n| | |\n|---|---|\n";
    const auto row = [&](std::string_view what, const std::string& is) {
        card.append("| ").append(what).append(" | ").append(is).append(" |\n");
    };
    row("Task", std::string(preset.title) + ". " + std::string(preset.story));
    row("Network", many(plan.layers, "layer") + " of " + many(plan.heads, "head") + ", d_model " +
                       number(plan.d_model) +
                       (plan.mlp ? ", with MLPs" : ", attention only: the weights of its MLPs are 0"));
    row("Vocabulary", many(run.data().vocabulary, run.data().tokenizer ? "token" : "symbol"));
    row("Steps", number(view.step) + " of " + number(plan.steps) + ", each of " +
                     many(plan.batch, "sequence") + " of " + number(plan.context) + " tokens");
    row("Seeds", number(plan.seed) + " of the first weights, " + number(values.seed) + " of the sequences");
    row("Learning rate", shortest(values.rate));
    row("Mask", values.window ? "causal, a window of " + number(values.window) + " tokens" : "causal");
    row("Heads left out", heads_left_out(values));
    if (view.step > 0)
        row("Loss", fixed(static_cast<double>(run.losses()[static_cast<std::size_t>(view.step - 1)]), 4) +
                        " nats, the mean over the " + many(run.targets(), "target") +
                        " of the last step's sequences");
    if (!plan.changes.empty())
        card +=
            "\nLearning rate, sequences, mask and heads left out are those at the end; what was changed "
            "on the way is in the address.\n";
    card += "\nThe page trains it again from this address:\n\n    " + address + "\n";
    const bool text_missing = parse_training_plan(to_text(plan)) != plan;
    if (text_missing)
        card += "\nThe text that it learned, of " + number(plan.text.size()) +
                " bytes, is too long for an address and has to be pasted in first.\n";
    return card +
           "\nThe files are laid out as on a model hub. `config.json` names Mistral's architecture: rotary "
           "positions, RMSNorm, and a\nwindow of keys where there is one. The weights are in f32.\n";
}

Archive hub_archive(const TrainingRun& run, const TrainingView& view, const std::string& address) {
    Files files = hub_files(run, view);
    files["README.md"] = bytes_of(model_card(run, view, address));
    Archive archive;
    archive.name = std::string(nearest_preset(run.plan()).key) + "-step-" + std::to_string(view.step);
    std::vector<ZipFile> entries;
    for (const auto& [name, bytes] : files) entries.push_back({archive.name + "/" + name, bytes});
    archive.bytes = write_zip(entries);
    return archive;
}

HeadIndex strongest_head(const TrainingRun& run, std::int64_t step) {
    const auto points = run.points();
    const auto after = std::ranges::upper_bound(points, step, {}, &TrainingPoint::step);
    if (after == points.begin()) return {};
    const auto& heads = std::prev(after)->heads;
    const Index strongest = std::ranges::max_element(heads, {}, &HeadPoint::induction) - heads.begin();
    return {strongest / run.plan().heads, strongest % run.plan().heads};
}

Handover handover_of(const TrainingRun& run, const TrainingView& view) {
    return {{run.plan(), view.step}, probe_text(run.data()), strongest_head(run, view.step)};
}

}  // namespace attn::app
