// Checks that links people already have still open as they did before subjects and lenses were separated.
//
// links_v1.json holds the links, with the State and the note that commit aed214f gave for them, field by
// field; fields equal to the default are left out. Numbers are the shortest decimals that read back as the
// same double, or float.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "app/link.hpp"
#include "app/link_text.hpp"
#include "app/looks.hpp"
#include "lenses/compare/compare.hpp"
#include "lenses/curves/curves.hpp"
#include "runs/training_state.hpp"
#include "subjects/sentence/state.hpp"
#include "subjects/tensors/state.hpp"
#include "subjects/worked/presets.hpp"
#include "support/files.hpp"

using namespace attn;
using namespace attn::app;
using nlohmann::json;

namespace {

// Returns a value's name from a list.
template <class Value>
std::string_view name_of_value(std::initializer_list<std::string_view> names, Value value) {
    return names.begin()[static_cast<std::size_t>(value)];
}

json number(double value) { return std::isinf(value) ? json(value < 0 ? "-inf" : "inf") : json(value); }
// Returns the shortest decimal that reads back as the same float.
json number(float value) { return *read_number(shortest(value)); }

template <class T>
json or_null(const std::optional<T>& value, auto dump) {
    return value ? json(dump(*value)) : json();
}
json index(const std::optional<Index>& value) {
    return or_null(value, [](Index i) { return i; });
}

json dump(const CellRef& pin) {
    const RunCell& cell = *pin.run();  // the links of this version name no other sort
    return {{"matrix", cell.stage == Stage::raw ? "scores" : info(cell.stage).key},
            {"row", cell.row},
            {"col", cell.col},
            {"second", cell.second},
            {"words", cell.unit == Unit::words}};
}

json dump(const Matrix& m) {
    json values = json::array();
    for (const double value : m.values) values.push_back(number(value));
    return {{"rows", m.rows}, {"cols", m.cols}, {"values", values}};
}

json dump(const WorkedState& w) {
    json matrices;
    for (const Stage stage : {Stage::x, Stage::w_q, Stage::w_k, Stage::w_v, Stage::q, Stage::k, Stage::v})
        matrices[std::string(info(stage).key)] = dump(*w.stored(stage));
    matrices["scores"] = dump(w.scores);
    std::string painted;
    for (const auto allowed : w.mask.painted) painted += allowed ? '1' : '0';
    return {{"preset", info(w.preset).key},
            {"source", name_of_value({"projections", "qkv", "scores"}, w.source)},
            {"origin",
             {{"kind", name_of_value({"preset", "generated", "entered", "taken"}, w.origin.kind)},
              {"seed", w.origin.seed},
              {"queries", w.origin.queries},
              {"keys", w.origin.keys},
              {"d_k", w.origin.d_k},
              {"d_v", w.origin.d_v}}},
            {"matrices", matrices},
            {"query_labels", w.query_labels},
            {"key_labels", w.key_labels},
            {"scale_by_sqrt_d", w.scale_by_sqrt_d},
            {"temperature", number(w.temperature)},
            {"softcap", number(w.softcap)},
            {"mask",
             {{"kind", name_of_value({"none", "causal", "window", "painted"}, w.mask.kind)},
              {"offset", w.mask.offset},
              {"before", w.mask.before},
              {"after", w.mask.after},
              {"painted", painted}}}};
}

json dump(const TrainingPlan& plan) { return {{"plan", to_text(plan)}, {"text", plan.text}}; }

// Returns a subject's fields map, bookmarks, heads and flow.
json dump(const Looks& looks) {
    const auto score = [](HeadScore s) {
        return name_of_value({"entropy", "first", "previous", "duplicate", "induction", "distance"}, s);
    };
    json bookmarks = json::array(), flow_heads = json::array();
    for (const Bookmark& b : looks.bookmarks)
        bookmarks.push_back({{"layer", b.layer},
                             {"head", b.head},
                             {"queries", {b.queries.begin, b.queries.end}},
                             {"keys", {b.keys.begin, b.keys.end}}});
    for (const HeadIndex& head : looks.flow.heads) flow_heads.push_back(json::array({head.layer, head.head}));
    const MapChoice& map = looks.map;
    return {
        {"map",
         {{"stage", info(map.stage).key},
          {"pooling", name_of_value({"strongest", "mean"}, map.pooling)},
          {"scaling", name_of_value({"linear", "log", "rank"}, map.scaling)},
          {"sink", name_of_value({"sink", "nosink", "renormalised"}, map.sink)},
          {"least", number(map.least)},
          {"unit", name_of_value({"tokens", "words"}, map.unit)}}},
        {"bookmarks", bookmarks},
        {"heads", {{"by", or_null(looks.heads.by, score)}, {"against", or_null(looks.heads.against, score)}}},
        {"flow",
         {{"mass", number(looks.flow.mass)},
          {"form", name_of_value({"arcs", "columns"}, looks.flow.form)},
          {"heads", flow_heads}}}};
}

json dump(const State& state) {
    const SentenceState& s = sentence_of(state);
    const auto view = name_of_value({"sides", "blink", "difference"}, state.of<compare::State>().view);
    json sentence = dump(looks_of(state, sentence_subject));
    sentence.update({{"text", s.text},
                     {"model", s.model},
                     {"trained", or_null(s.trained,
                                         [](const TrainedHere& network) {
                                             json all = dump(network.plan);
                                             all["step"] = network.step;
                                             return all;
                                         })},
                     {"sampling",
                      {{"temperature", number(s.sampling.temperature)},
                       {"top_k", s.sampling.top_k},
                       {"top_p", number(s.sampling.top_p)},
                       {"seed", std::to_string(s.sampling.seed)}}},
                     {"compared", or_null(s.compared, [&](const Comparison& with) {
                          return json{{"text", with.text}, {"view", view}};
                      })}});
    const TrainingState& t = training_of(state);
    const TensorsState& own = tensors_of(state);
    json tensors = dump(looks_of(state, tensors_subject));
    tensors.update({{"files", own.files},
                    {"rule",
                     {{"causal", causal_names[static_cast<std::size_t>(own.rule.causal)]},
                      {"scale_by_sqrt_d", own.rule.scale_by_sqrt_d}}}});
    const Selection& chosen = state.selection;
    return {{"lens", state.subject},  // the former key of a subject
            {"worked", dump(worked_of(state))},
            {"sentence", sentence},
            {"training",
             {{"plan", dump(t.plan)},
              {"compared", or_null(t.compared, [](const TrainingPlan& plan) { return dump(plan); })},
              {"step", or_null(t.step, [](std::int64_t step) { return step; })},
              {"running", t.running},
              {"maps", name_of_value({"weights", "gradient"}, state.of<curves::State>().maps)}}},
            {"tensors", tensors},
            {"selection",
             {{"layer", chosen.layer},
              {"head", chosen.head},
              {"query", index(chosen.query)},
              {"key", index(chosen.key)},
              {"counterpart", index(chosen.counterpart)}}},
            {"pin", or_null(state.pin, [](const CellRef& cell) { return dump(cell); })}};
}

// Fields left out of `from` keep their defaults. A matrix is always replaced as a whole.
void merge(json& into, const json& from) {
    if (!into.is_object() || !from.is_object() || from.contains("rows")) {
        into = from;
        return;
    }
    for (const auto& [key, value] : from.items()) merge(into[key], value);
}

bool same_number(double a, double b, double tolerance) {
    if (tolerance > 0) return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(a));
    return a == b && std::signbit(a) == std::signbit(b);
}

// Adds a line such as "worked.T: 1 was 2" for each field that differs.
void differences(const json& expected, const json& found, const std::string& path, double tolerance,
                 std::vector<std::string>& out) {
    if (expected.is_number() && found.is_number()) {
        if (same_number(expected.get<double>(), found.get<double>(), tolerance)) return;
    } else if (expected.is_object() && found.is_object() && expected.size() == found.size()) {
        for (const auto& [key, value] : expected.items())
            differences(value, found.contains(key) ? found[key] : json("missing"), path + "." + key,
                        tolerance, out);
        return;
    } else if (expected.is_array() && found.is_array() && expected.size() == found.size()) {
        for (std::size_t i = 0; i < expected.size(); ++i)
            differences(expected[i], found[i], path + "[" + std::to_string(i) + "]", tolerance, out);
        return;
    } else if (expected == found) {
        return;
    }
    out.push_back(path + ": " + found.dump() + " was " + expected.dump());
}

void check_same(const json& expected, const json& found, double tolerance = 0) {
    std::vector<std::string> all;
    differences(expected, found, "", tolerance, all);
    for (const std::string& difference : all) UNSCOPED_INFO(difference);
    CHECK(all.empty());
}

// The list of lenses, what a map can be and the length limit of texts have changed since, and a note about
// the tensors' map now lists all allowed values, as it does for other maps.
std::string without_expected(std::string note) {
    for (const std::string begins : {" for 'lens' is not ", " for 'map' is not ", " for 'shown' is not ",
                                     " for 'text' is not ", " for 'with' is not "}) {
        const std::string ends = "; the default is used";
        const auto at = note.find(begins);
        if (at == std::string::npos) continue;
        const auto from = at + begins.size();
        note.replace(from, note.find(ends, from) - from, "…");
    }
    return note;
}

// Cells that could not be pinned before: of a network in training, of a model's weights, and of what an
// example is compared with.
const std::map<std::string, RunCell> pins_since{
    {"v=1&lens=training&pin=weight.9.1", {Stage::weight, 9, 1}},
    {"v=1&lens=sentence&pin=W_Q.7.5", {Stage::w_q, 7, 5}},
    {"v=1&lens=sentence&pin=W_K.7.5", {Stage::w_k, 7, 5}},
    {"v=1&lens=sentence&pin=W_V.7.5", {Stage::w_v, 7, 5}},
    {"v=1&with=abc&pin=weight.0.1.second", {Stage::weight, 0, 1, true}}};

const json& golden() {
    static const json all = [] {
        const auto bytes = test::read_file(test::source_dir() / "tests/golden/app/links_v1.json");
        return json::parse(bytes, nullptr, false);
    }();
    REQUIRE(all.is_object());
    return all;
}

void check_link(const std::string& link, const json& entry) {
    const ParsedFragment parsed = parse_fragment(link);
    // A text or a list of files that was too long for a link before.
    const std::string note = entry["note"];
    if (link.size() > 2000 && (note.find("2,000") != note.npos || note.find("'files' is not") != note.npos ||
                               note.find("'train' is not") != note.npos)) {
        CHECK(parsed.note == "");
        return;
    }
    const auto pins = pins_since.find(link);
    CHECK(without_expected(parsed.note) == (pins != pins_since.end() ? "" : without_expected(entry["note"])));
    json expected = golden()["default"], found = dump(parsed.state);
    merge(expected, entry["state"]);
    if (pins != pins_since.end()) expected["pin"] = dump(pins->second);
    json& worked = expected["worked"];
    // Normal numbers come from a logarithm, whose last bit differs between libraries.
    const bool normal = worked["origin"]["kind"] == "generated" || worked["preset"] == "seeded-normal";
    check_same(std::exchange(worked["matrices"], {}), std::exchange(found["worked"]["matrices"], {}),
               normal ? 4e-16 : 0);
    check_same(expected, found);
    CHECK(parsed.state.lens == usual_lens(parsed.state));
    const ParsedFragment again = parse_fragment(to_fragment(parsed.state));
    CHECK(again.note == "");
    CHECK(again.state == parsed.state);
}

}  // namespace

TEST_CASE("older links give the same State as before") {
    REQUIRE(golden()["links"].size() == 751);
    for (const json& entry : golden()["links"]) {
        const std::string link = entry["link"];
        INFO(link);
        check_link(link, entry);
    }
}

TEST_CASE("too long ones") {
    for (const json& entry : golden()["special"]) {
        std::string link;
        if (entry.contains("hex")) {
            const std::string hex = entry["hex"];
            for (std::size_t i = 0; i < hex.size(); i += 2)
                link += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
        } else {
            link = entry["before"];
            for (int i = 0; i < entry["times"].get<int>(); ++i) link += entry["repeat"].get<std::string>();
        }
        INFO(link.substr(0, 200));
        check_link(link, entry);
    }
}

TEST_CASE("the default has not changed") { check_same(golden()["default"], dump(default_state())); }
