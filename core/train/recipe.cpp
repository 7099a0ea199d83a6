#include "train/recipe.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <string>
#include <utility>

#include "io/json.hpp"

namespace attn {

namespace {

using nlohmann::json;

bool take(const json& value, double& to) {
    if (!value.is_number()) return false;
    to = value.get<double>();
    return true;
}
bool take(const json& value, bool& to) {
    if (!value.is_boolean()) return false;
    to = value.get<bool>();
    return true;
}
template <std::integral Integer>
bool take(const json& value, Integer& to) {
    if (!value.is_number_integer()) return false;
    const bool negative = !value.is_number_unsigned();
    if (negative ? !std::in_range<Integer>(value.get<std::int64_t>())
                 : !std::in_range<Integer>(value.get<std::uint64_t>()))
        return false;
    to = value.get<Integer>();
    return true;
}

// A key, and a function that stores its value; it returns false if the value is of the wrong kind.
struct Field {
    std::string_view key;
    std::function<bool(const json&)> take;
};

template <class T>
Field field(std::string_view key, T& to) {
    return {key, [&to](const json& value) { return take(value, to); }};
}

Status read(const json& file, std::string_view part, std::span<const Field> fields) {
    const auto found = file.find(part);
    if (found == file.end()) return ok();
    const auto bad = [&](const std::string& what) {
        return Error{"the recipe's \"" + std::string(part) + "\" " + what};
    };
    if (!found->is_object()) return bad("has to be an object");
    for (const auto& [key, value] : found->items()) {
        const auto field = std::ranges::find(fields, key, &Field::key);
        if (field == fields.end()) return bad("knows no \"" + key + "\"");
        if (!field->take(value)) return bad("has \"" + key + "\" of a wrong kind: " + value.dump());
    }
    return ok();
}

}  // namespace

Result<Recipe> parse_recipe(std::span<const std::byte> text) {
    const Result<json> file = parse_json(text, "the recipe");
    if (!file) return file.error();
    if (!file->is_object()) return Error{"the recipe has to be a JSON object"};
    for (const auto& [key, value] : file->items())
        if (key != "model" && key != "vocabulary" && key != "training" && key != "mixture" && key != "puzzle")
            return Error{"the recipe knows no \"" + key + "\""};
    const auto model = file->find("model");
    if (model == file->end() || !model->is_object())
        return Error{"the recipe has to say what \"model\" is: an object as in a config.json"};
    const auto vocabulary = file->find("vocabulary");
    if (vocabulary == file->end() || !vocabulary->is_number_unsigned() ||
        vocabulary->get<std::uint64_t>() > 1'000'000)
        return Error{"the recipe has to give \"vocabulary\", a number of tokens up to 1,000,000"};

    Recipe recipe;
    recipe.vocabulary = vocabulary->get<int>();
    recipe.translation = model->value("model_type", json()) == "t5";
    if (recipe.translation && file->contains("mixture"))
        return Error{
            "the recipe has a \"mixture\", but a T5 learns from generated pairs alone: leave it out"};
    if (const auto named = file->find("puzzle"); named != file->end()) {
        if (named->is_string()) recipe.puzzle = puzzle_named(named->get<std::string>());
        if (!recipe.puzzle)
            return Error{"the recipe's \"puzzle\" has to be \"largest\" or \"different\", not " +
                         named->dump()};
        if (recipe.translation || file->contains("mixture"))
            return Error{"the recipe has a \"puzzle\", from whose lists alone a model learns: leave out " +
                         std::string(recipe.translation ? "the T5" : "the \"mixture\"")};
        const std::size_t words = puzzle_words(*recipe.puzzle).size();
        if (static_cast<std::size_t>(recipe.vocabulary) != words)
            return Error{"the puzzle \"" + std::string(name_of(*recipe.puzzle)) + "\" has " +
                         std::to_string(words) + " words, and the recipe's \"vocabulary\" has to say so"};
    }
    json config = *model;
    config["vocab_size"] = recipe.vocabulary;
    const std::string written = config.dump(2) + "\n";
    const auto bytes = std::as_bytes(std::span(written));
    recipe.config_json.assign(bytes.begin(), bytes.end());

    TrainingSettings& t = recipe.training;
    Mixture& m = recipe.mixture;
    const Field training[] = {field("batch", t.batch),
                              field("context", t.context),
                              field("steps", t.schedule.steps),
                              field("warmup", t.schedule.warmup),
                              field("rate", t.schedule.rate),
                              field("final_rate", t.schedule.final_rate),
                              field("beta1", t.beta1),
                              field("beta2", t.beta2),
                              field("weight_decay", t.weight_decay),
                              field("clip", t.clip),
                              field("dropout", t.dropout),
                              field("seed", t.seed),
                              field("initial_deviation", t.initial_deviation),
                              field("position_waves", t.position_waves),
                              field("attention_only", t.attention_only)};
    const Field mixture[] = {
        field("text", m.text), field("sentences", m.sentences), field("repeated_text", m.repeated_text),
        field("repeated_random", m.repeated_random), field("repeated_pairs", m.repeated_pairs)};
    if (const Status status = read(*file, "training", training); !status) return status.error();
    if (const Status status = read(*file, "mixture", mixture); !status) return status.error();
    return recipe;
}

}  // namespace attn
