#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "runs/training_plan.hpp"

namespace attn::app {

namespace {

template <class Integer>
bool take(std::string_view text, Integer& to) {
    const auto value = read_integer<Integer>(text);
    if (value) to = *value;
    return value.has_value();
}

// The numbers of a plan that stay the same for the whole run.
struct Field {
    std::string_view key;
    bool (*read)(TrainingPlan&, std::string_view);
    std::string (*write)(const TrainingPlan&);
};

template <auto member>
constexpr Field field(std::string_view key) {
    return {key, [](TrainingPlan& plan, std::string_view text) { return take(text, plan.*member); },
            [](const TrainingPlan& plan) { return std::to_string(plan.*member); }};
}

constexpr std::array fields{
    field<&TrainingPlan::layers>("layers"),
    field<&TrainingPlan::heads>("heads"),
    field<&TrainingPlan::d_model>("d"),
    Field{"mlp",
          [](TrainingPlan& plan, std::string_view text) {
              plan.mlp = text == "1";
              return text == "0" || text == "1";
          },
          [](const TrainingPlan& plan) { return std::string(plan.mlp ? "1" : "0"); }},
    field<&TrainingPlan::vocabulary>("vocabulary"),
    field<&TrainingPlan::context>("context"),
    field<&TrainingPlan::batch>("batch"),
    field<&TrainingPlan::steps>("steps"),
    field<&TrainingPlan::seed>("seed"),
};

constexpr std::string_view batch_order = "order";  // the seed for drawing batches

std::optional<HeadIndex> read_head(std::string_view text) {
    const auto parts = split(text, '.');
    HeadIndex head;
    if (parts.size() != 2 || !take(parts[0], head.layer) || !take(parts[1], head.head)) return std::nullopt;
    return head;
}

bool read_value(TrainingValues& values, std::string_view key, std::string_view text) {
    if (key == batch_order) return take(text, values.seed);
    if (key == "window") return take(text, values.window);
    if (key == "rate") {
        const auto rate = read_number(text);
        if (rate) values.rate = *rate;
        return rate.has_value();
    }
    const auto head = read_head(text);
    if (!head) return false;
    if (key == "off") values.ablated.push_back(*head);
    return key == "off" || (key == "on" && std::erase(values.ablated, *head) > 0);
}

std::string name(const HeadIndex& head) {
    return std::to_string(head.layer) + "." + std::to_string(head.head);
}

bool leaves_out(const TrainingValues& values, const HeadIndex& head) {
    return std::ranges::find(values.ablated, head) != values.ablated.end();
}

// Writes the difference between two sets of values: ",rate:0.01,off:1.0".
std::string changed(const TrainingValues& from, const TrainingValues& to) {
    std::string text;
    const auto add = [&](std::string_view key, const std::string& value) {
        text.append(",").append(key).append(":").append(value);
    };
    if (to.rate != from.rate) add("rate", shortest(to.rate));
    if (to.seed != from.seed) add(batch_order, std::to_string(to.seed));
    if (to.window != from.window) add("window", std::to_string(to.window));
    for (const HeadIndex& head : from.ablated)
        if (!leaves_out(to, head)) add("on", name(head));
    for (const HeadIndex& head : to.ablated)
        if (!leaves_out(from, head)) add("off", name(head));
    return text;
}

// Writes the same for people: ", rate 0.01, without head 1.0".
std::string change_told(const TrainingValues& from, const TrainingValues& to) {
    std::string text;
    const auto add = [&](const std::string& what) { text += ", " + what; };
    if (to.rate != from.rate) {
        std::array<char, 32> rate{};
        std::snprintf(rate.data(), rate.size(), "%.3g", to.rate);
        add(std::string("rate ") + rate.data());
    }
    if (to.seed != from.seed) add("other sequences");
    if (to.window != from.window)
        add(to.window ? "a window of " + std::to_string(to.window) : std::string("no window"));
    for (const HeadIndex& head : from.ablated)
        if (!leaves_out(to, head)) add("with head " + name(head) + " again");
    for (const HeadIndex& head : to.ablated)
        if (!leaves_out(from, head)) add("without head " + name(head));
    return text.empty() ? ", as before" : text;
}

}  // namespace

std::string name_of(const TrainedHere& network) {
    return "trained here: " + std::string(nearest_preset(network.plan).key) + ", step " +
           std::to_string(network.step);
}

std::string to_text(const TrainingPlan& plan) {
    const TrainingPreset& preset = nearest_preset(plan);
    std::string text(preset.key);
    for (const Field& field : fields)
        if (const std::string value = field.write(plan); value != field.write(preset.plan))
            text.append(",").append(field.key).append(":").append(value);
    text += changed(preset.plan.values, plan.values);
    const TrainingValues* before = &plan.values;
    for (const TrainingChange& change : plan.changes) {
        text += ",at:" + std::to_string(change.step) + changed(*before, change.values);
        before = &change.values;
    }
    if (!plan.text.empty() && fits_into_a_link(plan.text)) text += ",text:" + plan.text;
    return text;
}

std::string changes_told(const TrainingPlan& plan) {
    std::string text;
    const TrainingValues* before = &plan.values;
    for (const TrainingChange& change : plan.changes) {
        text += (text.empty() ? "from step " : "; from step ") + std::to_string(change.step) +
                change_told(*before, change.values);
        before = &change.values;
    }
    return text;
}

void complete_text(TrainingPlan& plan, const TrainingPlan& other) {
    if (plan.text.empty() && to_text(plan) == to_text(other)) plan.text = other.text;
}

std::optional<TrainingPlan> parse_training_plan(std::string_view text) {
    std::string_view own_text;
    if (const auto at = text.find(",text:"); at != std::string_view::npos) {
        own_text = text.substr(at + 6);
        if (!fits_into_a_link(own_text)) return std::nullopt;
        text = text.substr(0, at);
    }
    const auto parts = split(text, ',');
    const TrainingPreset* preset = training_preset(parts[0]);
    if (!preset) return std::nullopt;
    TrainingPlan plan = preset->plan;
    plan.text = own_text;
    for (const std::string_view part : std::span(parts).subspan(1)) {
        const auto colon = part.find(':');
        if (colon == std::string_view::npos) return std::nullopt;
        const std::string_view key = part.substr(0, colon), value = part.substr(colon + 1);
        TrainingValues& values = plan.changes.empty() ? plan.values : plan.changes.back().values;
        if (key == "at") {
            TrainingChange change{0, values};
            if (!take(value, change.step)) return std::nullopt;
            plan.changes.push_back(std::move(change));
        } else if (const auto field = std::ranges::find(fields, key, &Field::key); field != fields.end()) {
            if (!field->read(plan, value)) return std::nullopt;
        } else if (!read_value(values, key, value)) {
            return std::nullopt;
        }
    }
    plan = normalised(std::move(plan));
    if (!check(plan)) return std::nullopt;
    return plan;
}

}  // namespace attn::app
