// Checks that every operand of an explanation equals the number that it leads to, back to the embeddings and
// the weights.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "app/link.hpp"
#include "model/block.hpp"
#include "support/numbers.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"
#include "support/translator.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Says whether two numbers are equal up to the f32 roundings within their explanations.
bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           std::abs(a - b) <= 2e-6 * (1 + std::max(std::abs(a), std::abs(b)));
}

// Follows every operand and step of a number to the end, and returns the stages on the way.
struct Walk {
    using Key = std::tuple<int, Index, Index, Index, Index, bool, int, int, int>;
    struct Told {
        double f64 = 0;
        bool masked = false;
    };

    Subject& subject;
    std::set<Stage> seen = {};
    std::set<Key> done = {};
    std::map<Key, std::optional<Told>> told = {};  // most numbers are operands of many others

    static Key key(const CellPlace& place) {
        const auto& [stage, row, col, second, unit, sink, mean] = *place.cell.run();
        return {static_cast<int>(stage), place.head.layer,       place.head.head,       row, col, second,
                static_cast<int>(unit),  static_cast<int>(mean), static_cast<int>(sink)};
    }

    std::optional<Told> at(const CellPlace& place) {
        const auto [known, missing] = told.try_emplace(key(place));
        if (missing)
            if (const auto why = subject.explain_at(place)) known->second = {why->f64, why->masked};
        return known->second;
    }

    void start_anew() {
        seen.clear();
        done.clear();
    }

    void from(const CellPlace& place, int most) {
        if (most == 0 || !done.insert(key(place)).second) return;
        const auto why = subject.explain_at(place);
        INFO(write_cell(place.cell) << " of " << place.head.layer << "." << place.head.head);
        REQUIRE(why);
        seen.insert(place.cell.run()->stage);
        CHECK((why->masked || same(why->f32, why->f64)));
        for (const auto& operand : why->operands) {
            for (const auto& [there, value] :
                 {std::pair(operand.left_at, operand.left), std::pair(operand.right_at, operand.right)}) {
                if (!there) continue;
                const auto number = at(*there);
                INFO("leads to " << write_cell(there->cell));
                REQUIRE(number);
                CHECK(same(number->f64, value));
            }
        }
        // Following all would take too long; the first and the last lead everywhere.
        for (const std::size_t i : {std::size_t{0}, why->operands.size() - 1}) {
            if (why->operands.empty()) break;
            const auto& operand = why->operands[i];
            for (const auto& there : {operand.left_at, operand.right_at, operand.product_at})
                if (there) from(*there, most - 1);
        }
        for (const auto& step : why->steps) {
            if (!step.at) continue;
            const auto number = at(*step.at);
            REQUIRE(number);
            // Steps are written with four decimals, or fewer digits if these say nothing.
            if (std::isfinite(number->f64) && !number->masked)
                CHECK(std::abs(number->f64 - std::strtod(step.value.c_str(), nullptr)) <=
                      6e-5 + 0.01 * std::abs(number->f64));
            from(*step.at, most - 1);
        }
    }
};

}  // namespace

TEST_CASE("the operands of a model's numbers lead back to its embeddings and weights") {
    for (const char* model : {"gpt2-f32", "llama3-scaled-f32", "qwen2-linear-f32"}) {
        INFO(model);
        FakePage page;
        Visit visit(page);
        open_golden(visit, model);
        REQUIRE(sentence_in(visit).run());
        Walk walk{sentence_in(visit)};
        walk.from({{1, 1}, RunCell{Stage::output, 3, 2}}, 40);
        walk.from({{1, 0}, RunCell{Stage::projected, 3, 1}}, 40);
        walk.from({{1, 0}, RunCell{Stage::contribution, 3, 1}}, 40);
        walk.from({{0, 0}, RunCell{.stage = Stage::logit, .row = 4, .col = 3}}, 40);
        for (const Stage stage : {Stage::output,
                                  Stage::weight,
                                  Stage::scaled,
                                  Stage::raw,
                                  Stage::q,
                                  Stage::k,
                                  Stage::v,
                                  Stage::w_q,
                                  Stage::w_k,
                                  Stage::w_v,
                                  Stage::attention_input,
                                  Stage::resid_pre,
                                  Stage::embedding,
                                  Stage::resid_mid,
                                  Stage::attention_output,
                                  Stage::mlp_output,
                                  Stage::mlp_hidden,
                                  Stage::mlp_input,
                                  Stage::final_norm,
                                  Stage::final_residual,
                                  Stage::w_o,
                                  Stage::w_up,
                                  Stage::w_down,
                                  Stage::w_head,
                                  Stage::value_out,
                                  Stage::row_max,
                                  Stage::row_sum,
                                  Stage::exponential,
                                  Stage::norm_gain,
                                  Stage::w_token}) {
            INFO(symbol(stage));
            CHECK(walk.seen.contains(stage));
        }
        const std::string_view name = model;
        const bool gpt2 = name == "gpt2-f32", turned = !gpt2;
        const auto only_if = [&](bool expected, std::initializer_list<Stage> stages) {
            for (const Stage stage : stages) {
                INFO(symbol(stage));
                CHECK(walk.seen.contains(stage) == expected);
            }
        };
        only_if(true, {Stage::b_q, Stage::b_k, Stage::b_v});
        only_if(name != "qwen2-linear-f32", {Stage::b_o});
        only_if(gpt2, {Stage::position, Stage::w_position, Stage::norm_bias, Stage::b_up, Stage::b_down});
        only_if(turned, {Stage::q_pre_rope, Stage::k_pre_rope, Stage::gate, Stage::active_gate, Stage::up,
                         Stage::w_gate});
    }
}

TEST_CASE("the operands of a number of any family lead back to its embeddings and weights") {
    Index number = 0;
    for (const SmallFamily& family : small_families) {
        if (number++ % 3 != 0 && test::sanitized) continue;  // the others take the same paths
        CAPTURE(family.name);
        FakePage page;
        Visit visit(page);
        const ModelFiles files = files_of(family);
        open_files(visit, as_opened(files));
        REQUIRE(sentence_in(visit).run());
        Walk walk{sentence_in(visit)};
        for (const Stage stage :
             {Stage::output, Stage::q, Stage::k, Stage::v, Stage::resid_mid, Stage::mlp_output})
            walk.from({{1, 1}, RunCell{stage, 3, 3}}, 40);
        walk.from({{0, 0}, RunCell{.stage = Stage::logit, .row = 4, .col = 3}}, 40);
        // The walk leaves out the middle one of three embeddings.
        if (sentence_in(visit).run()->run->position_embedding().size() > 0)
            walk.from({{0, 0}, RunCell{Stage::position, 3, 0}}, 40);
        for (const Stage stage :
             {Stage::output, Stage::q, Stage::k, Stage::v, Stage::w_q, Stage::w_k, Stage::w_v, Stage::w_o,
              Stage::resid_mid, Stage::resid_pre, Stage::embedding, Stage::w_token, Stage::mlp_output,
              Stage::norm_gain, Stage::w_head, Stage::logit}) {
            INFO(symbol(stage));
            CHECK(walk.seen.contains(stage));
        }
        const Network& network = sentence_in(visit).run()->run->model()->network();
        const Block& block = network.blocks[1];
        const auto only_if = [&](bool expected, std::initializer_list<Stage> stages) {
            for (const Stage stage : stages) {
                INFO(symbol(stage));
                CHECK(walk.seen.contains(stage) == expected);
            }
        };
        only_if(block.rotary.has_value(), {Stage::q_pre_rope, Stage::k_pre_rope});
        only_if(network.position_embedding.has_value(), {Stage::position, Stage::w_position});
        only_if(network.segment_embedding.has_value(), {Stage::segment, Stage::w_segment});
        only_if(network.embedding_norm.has_value(), {Stage::embedding_sum});
        only_if(has_head_input(network), {Stage::head_input});
        only_if(block.experts.has_value(), {Stage::router_score, Stage::expert_weight});
        only_if(block.attention_post_sublayer_norm || block.attention_post_residual_norm,
                {Stage::attention_between});
        only_if(block.mlp_post_sublayer_norm || block.mlp_post_residual_norm, {Stage::mlp_between});
        only_if(block.softcap > 0, {Stage::capped});
    }
}

TEST_CASE("the operands of an encoder–decoder's numbers lead back to the embeddings of both texts") {
    for (const SmallFamily& family : small_encoder_decoders) {
        if (test::sanitized && &family != &small_encoder_decoders.front()) break;
        CAPTURE(family.name);
        FakePage page;
        Visit visit(page);
        open_encoder_decoder(visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8, 2, 10});
        REQUIRE(sentence_in(visit).run());
        const ModelConfig& config = sentence_in(visit).model()->config();
        Walk walk{sentence_in(visit)};
        for (Index layer = 0; layer < config.attentions(); ++layer) {
            CAPTURE(layer);
            walk.start_anew();
            for (const Stage stage :
                 {Stage::output, Stage::q, Stage::k, Stage::v, Stage::resid_mid, Stage::mlp_output,
                  Stage::resid_pre, Stage::attention_output, Stage::final_residual, Stage::projected})
                walk.from({{layer, 1}, RunCell{stage, 3, 3}}, test::sanitized ? 30 : 60);
            for (const Stage stage :
                 {Stage::w_q, Stage::w_k, Stage::w_v, Stage::w_o, Stage::embedding, Stage::w_token,
                  Stage::norm_gain, Stage::final_residual, Stage::masked}) {
                INFO(symbol(stage));
                CHECK((walk.seen.contains(stage) ||
                       (stage == Stage::masked && layer >= config.layers + config.decoder_layers)));
            }
            const bool cross = layer >= config.layers + config.decoder_layers;
            CHECK((!cross || walk.seen.contains(Stage::final_norm)));
        }
        walk.start_anew();
        for (const Index layer : {Index{0}, config.attentions() - 1})
            walk.from({{layer, 0}, RunCell{.stage = Stage::logit, .row = 6, .col = 3}}, 60);
        const bool scaled = sentence_in(visit).model()->network().head_scale != 1;
        CHECK(walk.seen.contains(Stage::head_input) == scaled);
        CHECK(walk.seen.contains(Stage::w_head));
    }
}

TEST_CASE("the softmax of a row is recomputed from the row's scores") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "llama3-scaled-f32");
    const auto f64 = [&](Stage stage, Index row, Index col) {
        const auto why = explained(visit, RunCell{stage, row, col});
        REQUIRE(why);
        // A few roundings of f32 for each of at most five scores.
        CHECK(same(why->f32, why->f64));
        return why->f64;
    };
    for (Index query = 0; query < 5; ++query) {
        double most = -infinity, sum = 0;
        for (Index key = 0; key <= query; ++key) most = std::max(most, f64(Stage::masked, query, key));
        for (Index key = 0; key <= query; ++key) {
            const double exponential = std::exp(f64(Stage::masked, query, key) - most);
            CHECK(f64(Stage::exponential, query, key) == Catch::Approx(exponential).epsilon(1e-15));
            sum += exponential;
        }
        CHECK(f64(Stage::row_max, query, 0) == most);
        CHECK(f64(Stage::row_sum, query, 0) == Catch::Approx(sum).epsilon(1e-15));
        const auto why = explained(visit, RunCell{Stage::row_sum, query, 0});
        CHECK(std::ssize(why->operands) == query + 1);
        for (const auto& operand : why->operands) {
            CHECK(operand.left_at->cell.is(Stage::masked));
            CHECK(operand.product_at->cell.is(Stage::exponential));
        }
    }
    CHECK_FALSE(explained(visit, RunCell{Stage::row_sum, 2, 1}));
    CHECK_FALSE(explained(visit, RunCell{Stage::row_max, 5, 0}));
    CHECK_FALSE(explained(visit, RunCell{Stage::exponential, 0, 5}));
}

TEST_CASE("a row without a visible key has no exponentials, and infinite scores share the weight") {
    FakePage page;
    Visit visit(page);
    visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    const auto sum = explained(visit, RunCell{Stage::row_sum, 0, 0}),
               most = explained(visit, RunCell{Stage::row_max, 0, 0});
    REQUIRE((sum && most));
    CHECK(sum->f64 == 0);
    CHECK(sum->f32 == 0);
    CHECK(sum->operands.empty());
    CHECK(sum->note == "The mask leaves this row nothing to look at.");
    CHECK(most->f64 == -infinity);
    visit.perform(OpenPreset{PresetId::information_flow});
    visit.perform(SetCell{{Stage::raw, 1, 0}, infinity});
    visit.perform(SetCell{{Stage::raw, 1, 2}, infinity});
    CHECK(explained(visit, RunCell{Stage::row_max, 1, 0})->f64 == infinity);
    CHECK(explained(visit, RunCell{Stage::row_sum, 1, 0})->f64 == 2);
    CHECK(explained(visit, RunCell{Stage::exponential, 1, 1})->f64 == 0);
    CHECK(explained(visit, RunCell{Stage::exponential, 1, 2})->f32 == 1);
    Walk{worked_in(visit)}.from({{}, RunCell{Stage::row_sum, 0, 0}}, 20);
}

TEST_CASE("biases, gains and tables are at their stated places in the file, and in links") {
    for (const char* model : {"gpt2-f32", "qwen2-linear-f32"}) {
        INFO(model);
        FakePage page;
        Visit visit(page);
        open_golden(visit, model);
        const auto file = read_file(source_dir() / "tests/golden/model" / model / "model.safetensors");
        int found = 0;
        for (const Stage stage : {Stage::b_q, Stage::b_k, Stage::b_v, Stage::b_o, Stage::b_up, Stage::b_down,
                                  Stage::norm_gain, Stage::norm_bias, Stage::w_token, Stage::w_position}) {
            INFO(symbol(stage));
            const RunCell cell{.stage = stage, .col = 3};
            visit.perform(Select{{1, 1, {}, {}, {}}});
            const auto why = explained(visit, cell);
            if (!why) continue;
            ++found;
            const std::string told = "at byte ";
            std::string digits = why->note.substr(why->note.find(told) + told.size());
            digits = digits.substr(0, digits.find(' '));
            std::erase(digits, ',');
            float value = 0;
            std::memcpy(&value, file.data() + std::stoul(digits), sizeof value);
            CHECK(why->f64 == static_cast<double>(value));
            visit.perform(Pin{cell});
            CHECK(visit.state().pin == cell);
            const State linked = parse_fragment(to_fragment(visit.state())).state;
            CHECK(linked.pin == cell);
            CHECK_FALSE(explained(visit, RunCell{.stage = stage, .row = 1'000, .col = 0}));
            CHECK_FALSE(explained(visit, RunCell{.stage = stage, .row = 0, .col = 1'000}));
        }
        CHECK(found == (std::string_view(model) == "gpt2-f32" ? 10 : 5));
    }
    // The rows of a weight matrix are not tokens, so a short text does not unpin them.
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    visit.perform(Pin{RunCell{Stage::w_up, 12, 3}});
    visit.perform(Select{{1, 1, {}, {}, {}}});
    CHECK(visit.state().pin == RunCell{Stage::w_up, 12, 3});
}

TEST_CASE("a q component has an f64 of its own") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    int apart = 0;
    for (Index a = 0; a < 4; ++a) {
        const auto why = explained(visit, RunCell{Stage::q, 2, a});
        REQUIRE(why);
        CHECK(std::abs(why->f64 - why->f32) < 1e-5);
        apart += why->f64 != why->f32;
        const auto embedding = explained(visit, RunCell{Stage::embedding, 2, a});
        REQUIRE(embedding);
        CHECK(embedding->note.find("wte.weight, at byte ") != std::string::npos);
    }
    CHECK(apart > 0);
    CHECK_FALSE(explained(visit, RunCell{Stage::w_q, 1000, 0}));
    CHECK_FALSE(explained(visit, RunCell{Stage::embedding, 0, 1000}));
    CHECK_FALSE(explained(visit, RunCell{Stage::w_gate, 0, 0}));
}

TEST_CASE("the operands of the worked example lead to its inputs") {
    FakePage page;
    Visit visit(page);
    Walk walk{worked_in(visit)};
    walk.from({{}, RunCell{Stage::output, 1, 0}}, 20);
    walk.from({{}, RunCell{Stage::contribution, 1, 0}}, 20);
    for (const Stage stage : {Stage::output, Stage::contribution, Stage::weight, Stage::raw, Stage::q,
                              Stage::k, Stage::v, Stage::x, Stage::w_q, Stage::w_k, Stage::w_v})
        CHECK(walk.seen.contains(stage));
}

TEST_CASE("a component is shown after its rotation where there is one, and nowhere else") {
    int partly = 0;
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        FakePage page;
        Visit visit(page);
        const ModelFiles files = files_of(family);
        open_files(visit, as_opened(files));
        REQUIRE(sentence_in(visit).run());
        const ModelConfig& config = sentence_in(visit).model()->config();
        partly += config.rotary_dim > 0 && config.rotary_dim < config.head_dim;
        for (const Stage stage : {Stage::q, Stage::k})
            for (Index component = 0; component < config.head_dim; ++component) {
                const auto why = explained(visit, RunCell{.stage = stage, .row = 3, .col = component});
                REQUIRE(why);
                CHECK((why->note.find("after its rotary position") != std::string::npos) ==
                      (component < config.rotary_dim));
                CHECK((why->note.find("not this one") != std::string::npos) ==
                      (config.rotary_dim > 0 && component >= config.rotary_dim));
            }
    }
    CHECK(partly >= 3);
}

TEST_CASE("a next token's probability is computed from its logit") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    // Sampling settings belong to Play; the probability is the model's own.
    visit.perform(SetSampling{{.temperature = 0.7f, .top_k = 3, .top_p = 1, .seed = 1}});
    visit.work(10);
    const TextRun& run = *sentence_in(visit).run();
    double total = 0;
    const auto logits = run.logits.values();
    const auto likelihood = [&](std::size_t id) { return std::exp(static_cast<double>(logits[id])); };
    for (std::size_t id = 0; id < logits.size(); ++id) total += likelihood(id);
    const auto id = static_cast<std::size_t>(sentence_in(visit).next_tokens().candidates.at(1).id);
    const RunCell cell{.stage = Stage::probability, .col = static_cast<Index>(id)};
    const auto why = explained(visit, cell);
    REQUIRE(why);
    CHECK(why->f64 == Catch::Approx(likelihood(id) / total).epsilon(1e-13));
    CHECK(why->title.ends_with(at_temperature));
    const auto& next = sentence_in(visit).next_tokens();
    CHECK(next.candidates.at(1).probability == Catch::Approx(why->f64).epsilon(1e-13));
    CHECK(next.kept == 3);
    CHECK(next.drawn.at(1) ==
          Catch::Approx(
              next_token_distribution(logits, {.temperature = 0.7f, .top_k = 3}, 3).at(1).probability));
    CHECK(next.drawn.at(3) == 0);
    visit.perform(Pin{cell});
    CHECK(visit.state().pin == cell);
    const auto logit = explained(visit, why->steps.front().at->cell);
    REQUIRE(logit);
    CHECK(logit->f32 == static_cast<double>(logits[id]));
}
