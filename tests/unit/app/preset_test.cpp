// Checks that the worked examples show the exact numbers and say where a tutorial prints different ones.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "subjects/worked/axes.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked_run.hpp"
#include "support/files.hpp"

using namespace attn;
using namespace attn::app;
using enum Stage;

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// Checks the f32 run to 1e-6 and the f64 explanation to half a unit of the sixth decimal, relative above 1.
void check_matrix(const WorkedState& state, Stage id, const std::vector<double>& exact,
                  double f64_bound = 5e-7) {
    const auto run = run_worked(state);
    REQUIRE(run);
    const Matrix shown = run->matrix(state, id);
    REQUIRE(shown.values.size() == exact.size());
    for (Index r = 0; r < shown.rows; ++r)
        for (Index c = 0; c < shown.cols; ++c) {
            INFO(cell_name(state, {id, r, c}));
            const double expected = exact[static_cast<std::size_t>(r * shown.cols + c)];
            const WorkedExplanation why = explain_worked(state, *run, {id, r, c});
            if (std::isinf(expected)) {
                CHECK(shown.at(r, c) == expected);
                CHECK(why.cell.f64 == expected);
                continue;
            }
            const double size = std::max(1.0, std::abs(expected));
            CHECK(std::abs(shown.at(r, c) - expected) <= 1.5e-6 * size);
            CHECK(std::abs(why.cell.f64 - expected) <= f64_bound * size);
            CHECK(
                static_cast<double>(why.cell.f32) ==
                (state.input(id) ? static_cast<double>(static_cast<float>(shown.at(r, c))) : shown.at(r, c)));
        }
}

struct Print {
    Stage stage;
    Index rows;
    std::vector<std::string> texts;
};

// Lists every number that the tutorials print for the computed matrices of an example.
const std::map<PresetId, std::vector<Print>>& tutorials() {
    static const std::map<PresetId, std::vector<Print>> all{
        {PresetId::cat_sat_mat,
         {{raw, 3, {"1.93", "1.09", "1.08", "1.09", "1.07", "0.65", "1.08", "0.65", "0.98"}},
          {scaled, 3, {"0.965", "0.545", "0.540", "0.545", "0.535", "0.325", "0.540", "0.325", "0.490"}},
          {weight, 3, {"0.433", "0.284", "0.283", "0.384", "0.377", "0.239", "0.389", "0.269", "0.342"}},
          {output,
           3,
           {"0.688", "0.530", "0.313", "0.546", "0.644", "0.529", "0.279", "0.538", "0.666", "0.477", "0.330",
            "0.543"}}}},
        {PresetId::three_tokens,
         {{raw, 3, {"1", "0", "1", "0", "1", "1", "1", "1", "2"}},
          {scaled, 3, {"0.71", "0.00", "0.71", "0.00", "0.71", "0.71", "0.71", "0.71", "1.41"}},
          {weight, 3, {"0.38", "0.24", "0.38", "0.21", "0.39", "0.39", "0.26", "0.26", "0.48"}},
          {output, 3, {"4.3", "5.3", "6.3", "5.5", "6.5", "7.5", "5.7", "6.7", "7.7"}}}},
        {PresetId::hello_query,
         {{scaled, 1, {"-0.017", "-0.011"}},
          {weight, 1, {"0.499", "0.501"}},
          {output, 1, {"0.145", "0.110", "0.190"}}}},
        {PresetId::hello_scores,
         {{weight, 2, {"0.62", "0.38", "0.40", "0.60"}},
          {output, 2, {"0.146", "0.108", "0.192", "0.144", "0.112", "0.188"}}}},
        {PresetId::causal_row, {{weight, 1, {"0.28", "0.41", "0.31", "0.00"}}}},
        {PresetId::saturation, {{weight, 2, {"1.0", "0.0", "0.0", "0.0", "0.5", "0.17", "0.17", "0.17"}}}},
        {PresetId::information_flow,
         {{weight, 3, {"0.50", "0.30", "0.20", "0.20", "0.50", "0.30", "0.15", "0.45", "0.40"}}}},
        {PresetId::seeded_normal, {}},
    };
    return all;
}

}  // namespace

TEST_CASE("A: cat, sat, mat") {
    const WorkedState s = preset_state(PresetId::cat_sat_mat);
    check_matrix(s, q, s.x.values, 0);
    check_matrix(s, k, s.x.values, 0);
    check_matrix(s, v, s.x.values, 0);
    check_matrix(s, raw, {1.93, 1.09, 1.08, 1.09, 1.07, .55, 1.08, .55, .98}, 5e-16);
    check_matrix(s, scaled, {.965, .545, .540, .545, .535, .275, .540, .275, .490}, 5e-16);
    check_matrix(s, weight,
                 {.432747, .284335, .282917, .363183, .359570, .277247, .367859, .282223, .349918});
    check_matrix(s, output,
                 {.687798, .528859, .313025, .544807, .637402, .560654, .302666, .517549, .662476, .507914,
                  .346737, .512152});
}

TEST_CASE("B: three tokens") {
    const WorkedState s = preset_state(PresetId::three_tokens);
    check_matrix(s, raw, {1, 0, 1, 0, 1, 1, 1, 1, 2}, 0);
    check_matrix(s, scaled, {.707107, 0, .707107, 0, .707107, .707107, .707107, .707107, 1.414214});
    check_matrix(s, weight,
                 {.401112, .197776, .401112, .197776, .401112, .401112, .248255, .248255, .503490});
    check_matrix(s, output, {4, 5, 6, 4.610009, 5.610009, 6.610009, 4.765704, 5.765704, 6.765704});
}

TEST_CASE("C: Hello World") {
    const WorkedState query = preset_state(PresetId::hello_query);
    check_matrix(query, raw, {-.03, -.019}, 5e-17);
    check_matrix(query, scaled, {-.017321, -.010970});
    check_matrix(query, weight, {.498412, .501588});
    check_matrix(query, output, {.144984, .110032, .189968});
    const WorkedState scores = preset_state(PresetId::hello_scores);
    check_matrix(scores, weight, {.549834, .450166, .450166, .549834});
    // The output is .549834 V[Hello] + .450166 V[World], and the same with the weights swapped.
    check_matrix(scores, output, {.145498, .109003, .190997, .144502, .110997, .189003});
}

TEST_CASE("D: one causal row") {
    const WorkedState s = preset_state(PresetId::causal_row);
    check_matrix(s, masked, {.5, .8, .3, minus_infinity});
    check_matrix(s, weight, {.315598, .426013, .258390, 0});
    const auto run = run_worked(s);
    REQUIRE(run);
    CHECK(run->value(s, {weight, 0, 3}) == 0);
}

TEST_CASE("E: saturation") {
    const WorkedState s = preset_state(PresetId::saturation);
    check_matrix(s, weight, {1, 0, 0, 0, .599021, .133660, .133660, .133660});
    const auto run = run_worked(s);
    REQUIRE(run);
    CHECK(explain_worked(s, *run, {weight, 0, 1}).cell.f64 == Catch::Approx(1.0112e-43).epsilon(1e-3));
}

TEST_CASE("F: information flow") {
    check_matrix(preset_state(PresetId::information_flow), weight,
                 {.463963, .281408, .254629, .266390, .439203, .294407, .241514, .398189, .360297});
}

TEST_CASE("J: the seeded demo matches NumPy") {
    const auto bytes = test::read_file(test::source_dir() / "tests/golden/app/seeded_normal.json");
    const auto golden = nlohmann::json::parse(bytes, nullptr, false);
    REQUIRE(golden.is_object());
    const auto values = [](const nlohmann::json& rows) {
        std::vector<double> flat;
        for (const auto& row : rows)
            for (const auto& value : row) flat.push_back(value.get<double>());
        return flat;
    };
    WorkedState s = preset_state(PresetId::seeded_normal);
    // Libraries differ in the last bit of a logarithm.
    check_matrix(s, q, values(golden["inputs"]["Q"]), 4e-16);
    check_matrix(s, k, values(golden["inputs"]["K"]), 4e-16);
    check_matrix(s, v, values(golden["inputs"]["V"]), 4e-16);
    for (const auto kind : {WorkedMask::Kind::none, WorkedMask::Kind::causal}) {
        s.mask.kind = kind;
        const auto& expected = golden[kind == WorkedMask::Kind::none ? "none" : "causal"];
        check_matrix(s, raw, values(expected["scores"]), 1e-14);
        check_matrix(s, scaled, values(expected["scaled"]), 1e-14);
        check_matrix(s, weight, values(expected["weight"]), 1e-14);
        check_matrix(s, output, values(expected["output"]), 1e-14);
    }
}

TEST_CASE("printed numbers are noted exactly where rounding the exact ones gives others") {
    for (const auto& [preset, prints] : tutorials()) {
        const WorkedState s = preset_state(preset);
        const auto run = run_worked(s);
        REQUIRE(run);
        std::size_t noted = 0;
        for (const Print& print : prints) {
            const Index cols = std::ssize(print.texts) / print.rows;
            REQUIRE(shape_of(s, print.stage) == MatrixShape{print.rows, cols});
            for (Index r = 0; r < print.rows; ++r)
                for (Index c = 0; c < cols; ++c) {
                    INFO("example " << info(preset).letter << " " << cell_name(s, {print.stage, r, c}));
                    const std::string& text = print.texts[static_cast<std::size_t>(r * cols + c)];
                    const auto point = text.find('.');
                    const std::size_t digits = point == std::string::npos ? 0 : text.size() - point - 1;
                    const double unit = std::pow(10.0, -static_cast<double>(digits));
                    const double exact = explain_worked(s, *run, {print.stage, r, c}).cell.f64;
                    const bool differs = std::abs(exact - std::stod(text)) > unit / 2 + 1e-12;
                    const Printed* note = printed_value(misprints(s), {print.stage, r, c});
                    REQUIRE((note != nullptr) == differs);
                    if (!note) continue;
                    ++noted;
                    CHECK(note->text == text);
                    CHECK(note->value == std::stod(text));
                }
        }
        CHECK(noted == printed_values(preset).size());
    }
}

TEST_CASE("misprints are gone as soon as an input or a rule differs from the tutorial's") {
    for (const PresetInfo& p : presets()) {
        WorkedState renamed = preset_state(p.id);
        renamed.query_labels[0] = "dog";
        CHECK(misprints(renamed).size() == printed_values(p.id).size());
        WorkedState warmer = preset_state(p.id);
        warmer.temperature = 2;
        CHECK(misprints(warmer).empty());
    }
    WorkedState edited = preset_state(PresetId::cat_sat_mat);
    REQUIRE(printed_value(misprints(edited), {raw, 1, 2}));
    edited.x.at(1, 1) = 0.25;
    CHECK_FALSE(printed_value(misprints(edited), {raw, 1, 2}));
}

TEST_CASE("the introduction is the example's only while its numbers and rules are") {
    for (const PresetInfo& p : presets()) {
        INFO(p.key);
        WorkedState s = preset_state(p.id);
        CHECK(introduction(s).question == p.question);
        CHECK(introduction(s).story == p.story);
        s.temperature = 2;
        CHECK(introduction(s).story != p.story);
    }
    WorkedState s = preset_state(PresetId::cat_sat_mat);
    s.x.at(0, 0) = 2;
    CHECK(introduction(s).story.starts_with("Example A, changed by you."));
    generate_qkv(s, {Origin::Kind::generated, 7, 2, 2, 2, 2});
    CHECK(introduction(s).story == "Standard normal numbers, those of numpy.random.seed(7).");
    s.q.at(0, 0) = 0;
    CHECK(introduction(s).story == "Standard normal numbers, those of numpy.random.seed(7), changed by you.");
    s.origin = {.kind = Origin::Kind::taken, .from = "layer 3, head 0"};
    CHECK(introduction(s).story.starts_with("Taken from layer 3, head 0;"));
}

TEST_CASE("every preset has its own key and letter, fits together and names the source of its numbers") {
    CHECK(presets().size() == tutorials().size());
    for (const PresetInfo& p : presets()) {
        CHECK(preset_by_key(p.key) == p.id);
        CHECK(&info(p.id) == &p);
        CHECK(p.letter[0] - 'A' <= std::ssize(presets()) - 2);  // without gaps: C1 and C2 share a letter
        const WorkedState s = preset_state(p.id);
        CHECK(check_inputs(s));
        CHECK(std::ssize(s.query_labels) == s.queries());
        CHECK(std::ssize(s.key_labels) == s.keys());
        CHECK(origin_state(s) == s);
    }
    CHECK_FALSE(preset_by_key("nothing"));
}
