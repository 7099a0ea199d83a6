#include "lenses/layers/layers.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/linalg/rank_correlation.hpp"
#include "app/copied.hpp"
#include "app/link.hpp"
#include "support/small_families.hpp"
#include "support/translator.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

layers::Model& layers_in(const Visit& visit) {
    return static_cast<ModelLens<layers::Model>&>(visit.lens()).model();
}

void open_layers(Screen& screen) {
    screen.page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
    screen.visit.perform(OpenLens{"layers"});
    screen.settle();
}

// All of the lens's own cells, a few of each kind.
std::vector<CellRef> cells_of(const Visit& visit) {
    const layers::Model& lens = layers_in(visit);
    const Index places = std::ssize(lens.reading()->places());
    std::vector<CellRef> cells;
    for (Index i = 0; i < places; ++i) {
        cells.push_back(layers::cells::likeliest(i, 1));
        for (const std::int32_t id : {lens.token(), 3}) {
            cells.push_back(layers::cells::probability(i, id));
            cells.push_back(layers::cells::rank(i, id));
            cells.push_back(layers::cells::logit(i, id));
        }
        cells.push_back(layers::cells::norm(i));
        cells.push_back(layers::cells::cosine(i));
    }
    for (Index i = 0; i < std::ssize(lens.parts()->shares()); ++i)
        cells.push_back(layers::cells::attribution(i));
    for (Index i = 0; i < token_measure_count; ++i) {
        cells.push_back(layers::cells::token(i, 0));
        if (lens.parts()->trace().encoder()) cells.push_back(layers::cells::encoder_token(i, 1));
    }
    return cells;
}

}  // namespace

TEST_CASE("Layers works for a sentence and for a network in training, and says what is missing elsewhere") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        open_layers(screen);
        for (const char* part :
             {"layers/said/0", "chart/layers-probability", "chart/layers-rank", "chart/layers-norm",
              "chart/layers-cosine", "layers/sum", "layers/part/0", "layers/heads/1/1", "layers/tokens/0/0",
              "layers/tokens/3/0", "layers/agreement"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK(screen.shows("layers/likeliest/0/5"));
        CHECK(spoken(screen.visit).find(" adds most to its logit (") != std::string::npos);
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.shows("missing/sentence"));
    CHECK(screen.shows("missing/training"));
    CHECK_FALSE(screen.shows("missing/tensors"));
}

TEST_CASE(
    "at the end the stream predicts what the model predicts, in any family, and the parts add up to the "
    "logit") {
    for (const char* name : {"gpt2", "llama", "gemma2", "olmo2", "gptj", "opt_350m", "mixtral", "bert"}) {
        CAPTURE(name);
        Screen screen;
        open_family(screen, name);
        open_layers(screen);
        const layers::Model& lens = layers_in(screen.visit);
        REQUIRE(lens.reading());
        REQUIRE(lens.parts());
        const TextRun& run = *sentence_in(screen.visit).run();
        CHECK(lens.reading()->row() == run.predicted());
        CHECK(std::ranges::equal(lens.reading()->logits(lens.place()), run.logits.values()));
        CHECK(lens.token() == sentence_in(screen.visit).next_tokens().candidates.front().id);
        double size = 1;
        for (const LogitShare& share : lens.parts()->shares()) size += std::abs(share.value);
        CHECK(std::abs(lens.parts()->capped() - lens.parts()->logit()) < 4e-6 * size);
        for (const TokenMeasure measure : {TokenMeasure::rollout, TokenMeasure::gradient})
            CHECK(lens.tokens.measured(measure)->total() == Catch::Approx(1).epsilon(1e-5));
        CHECK(screen.page.notices.empty());
    }
}

TEST_CASE("a click decodes the stream there, another follows a token, and both are in the link and in undo") {
    Screen screen;
    screen.open_sentence();
    open_layers(screen);
    screen.click("layers/likeliest/2/3");
    screen.settle();
    CHECK(screen.visit.state().of<layers::State>().place == 2);
    CHECK(screen.visit.state().selection.query == 3);
    CHECK(screen.visit.state().pin == layers::cells::likeliest(2, 3));
    CHECK(layers_in(screen.visit).reading()->row() == 3);
    reveal(screen, "layers/said/3");
    const std::int32_t wanted = layers_in(screen.visit).reading()->states()[2].likeliest[3].id;
    screen.click("layers/said/3");
    screen.settle();
    CHECK(layers_in(screen.visit).token() == wanted);
    CHECK(screen.visit.state().pin == layers::cells::probability(2, wanted));
    const std::string link = to_fragment(screen.visit.state());
    CHECK(link.find("layers.token=" + std::to_string(wanted) + "&layers.at=2") != std::string::npos);
    CHECK(parse_fragment(link).state == screen.visit.state());
    screen.visit.undo();
    CHECK_FALSE(screen.visit.state().of<layers::State>().token);
    screen.visit.redo();
    CHECK(screen.visit.state().of<layers::State>().token == wanted);
    screen.settle();
    screen.click("layers/preset/likeliest");
    CHECK_FALSE(screen.visit.state().of<layers::State>().token);
    screen.settle();
    screen.click("layers/preset/text");
    screen.settle();
    CHECK(layers_in(screen.visit).token() == sentence_in(screen.visit).run()->ids()[4]);
    CHECK(spoken(screen.visit).starts_with("After “word3”"));
    screen.click("layers/at/more");
    CHECK(screen.visit.state().of<layers::State>().place == 3);
    screen.click("layers/position/more");
    screen.settle();
    CHECK(screen.visit.state().selection.query == 4);
    screen.click("layers/position/more");
    CHECK(screen.visit.state().selection.query == 5);
    screen.settle();
    CHECK(layers_in(screen.visit).reading()->row() == 5);
    CHECK_FALSE(apply(default_state(), Set<layers::State>{{.token = -1, .place = {}}}));
    CHECK_FALSE(apply(default_state(), Set<layers::State>{{.token = {}, .place = -1}}));
    for (const char* bad :
         {"v=1&layers.token=-1", "v=1&layers.token=x", "v=1&layers.at=-1", "v=1&layers.at="})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("a token is typed by its name, and one that the model lacks is refused in a sentence") {
    Screen screen;
    screen.open_sentence();
    open_layers(screen);
    screen.click("layers/token");
    screen.type("w17");
    screen.settle();
    CHECK(screen.visit.state().of<layers::State>().token == 17);
    CHECK_FALSE(screen.shows("layers/fault"));
    screen.type("99");
    screen.settle();
    CHECK(screen.visit.state().of<layers::State>().token == 17);
    CHECK(screen.shows("layers/fault"));
    // A link may name a token of another model.
    screen.visit.perform(Set<layers::State>{{.token = 5000, .place = {}}});
    screen.settle();
    CHECK(screen.shows("layers/refused"));
    CHECK(layers_in(screen.visit).token() ==
          layers_in(screen.visit).reading()->states().back().likeliest[0].id);
}

TEST_CASE("every number of Layers explains itself, and its calculation ends in its f64") {
    for (const char* name : {"gpt2", "gemma2", "bert", "opt_350m"}) {
        Screen screen;
        open_family(screen, name);
        open_layers(screen);
        for (const CellRef& cell : cells_of(screen.visit)) {
            INFO(name << ", " << write_cell(cell));
            const auto found = why(screen.visit, cell);
            REQUIRE(found);
            CHECK_FALSE(found->title.empty());
            CHECK_FALSE(found->formula.empty());
            // The run's numbers are sums in f32 of a few dozen products, up to about 30.
            CHECK(found->f32 == Catch::Approx(found->f64).epsilon(3e-5).margin(3e-5));
            REQUIRE_FALSE(found->calculation.empty());
            check_calculated(*found);
            for (const auto& operand : found->operands)
                CHECK(operand.product == Catch::Approx(operand.left * operand.right).margin(1e-15));
            CHECK_FALSE(copied(*found, Dialect::numpy).empty());
        }
        for (const CellRef& cell :
             {layers::cells::likeliest(900, 0), layers::cells::norm(900), layers::cells::probability(0, 20),
              layers::cells::attribution(500), layers::cells::token(0, 50), layers::cells::token(4, 0)})
            CHECK_FALSE(why(screen.visit, cell));
    }
}

TEST_CASE("a decoder's stream is decoded, whichever attention is chosen, and the encoder's part is shown") {
    for (const SmallFamily& family : small_encoder_decoders) {
        Screen screen;
        open_encoder_decoder(screen.visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8});
        open_layers(screen);
        const ModelConfig& config = sentence_in(screen.visit).model()->config();
        for (Index layer = 0; layer < config.attentions(); ++layer) {
            CAPTURE(family.name, layer);
            screen.visit.perform(Select{{layer, 1, {}, {}, {}}});
            screen.settle();
            const layers::Model& lens = layers_in(screen.visit);
            REQUIRE(lens.parts());
            CHECK(lens.reading()->row() == sentence_in(screen.visit).run()->predicted());
            CHECK(lens.tokens.measured(TokenMeasure::rollout)->encoded.size() == 5);
            CHECK(screen.shows("layers/tokens/encoded/1/4"));
            for (const CellRef& cell : cells_of(screen.visit)) {
                CAPTURE(write_cell(cell));
                const auto found = why(screen.visit, cell);
                REQUIRE(found);
                CHECK(found->f32 == Catch::Approx(found->f64).epsilon(3e-5).margin(3e-5));
            }
        }
        // A position in the decoder's text is not one in the encoder's.
        screen.visit.perform(Select{{0, 1, {}, {}, {}}});
        screen.settle();
        screen.click("layers/position/less");
        screen.settle();
        CHECK(screen.visit.state().selection.layer == config.layers);
        CHECK(layers_in(screen.visit).reading()->row() == sentence_in(screen.visit).run()->tokens() - 2);
    }
}

TEST_CASE("Layers' tables match what it shows, and a click on a picture pins the number it names") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    open_layers(screen);
    check_pictures(screen);
    const layers::Model& lens = layers_in(screen.visit);
    const Table read = lens_in(screen.visit).tables(subject_in(screen.visit)).front();
    CHECK(read.row_labels ==
          std::vector<std::string>{"embedding", "attention 0", "MLP 0", "attention 1", "MLP 1"});
    CHECK(read.values.at(4, 1) == 1);
    CHECK(read.values.at(4, 4) == Catch::Approx(1).epsilon(1e-12));
    CHECK(table_shown(screen, "layers-rank").values.at(4, 0) == 1);
    CHECK(table_shown(screen, "layers/likeliest").values.at(4, lens.reading()->row()) ==
          read.values.at(4, 0));
    const Table parts = table_shown(screen, "layers/part");
    CHECK(parts.values.at(parts.values.rows - 2, 0) ==
          Catch::Approx(parts.values.at(parts.values.rows - 1, 0)).margin(1e-4));
    CHECK(parts.row_labels[2] == "layer 0 · head 0");
    CHECK(table_shown(screen, "layers/heads").values.at(0, 0) == parts.values.at(2, 0));
    CHECK(table_shown(screen, "layers/tokens").values.at(3, 3) ==
          lens.tokens.measured(TokenMeasure::exact)->own[3]);
    const auto most = std::ranges::max_element(lens.parts()->shares(), {},
                                               [](const LogitShare& each) { return std::abs(each.value); });
    screen.click("layers/part/0");
    CHECK(screen.visit.state().pin == layers::cells::attribution(most - lens.parts()->shares().begin()));
    screen.click("layers/tokens/1/2");
    CHECK(screen.visit.state().pin == layers::cells::token(TokenMeasure::rollout, 2));
    screen.click("layers/heads/1/1");
    CHECK(screen.visit.state().selection.head == 1);
    CHECK(screen.visit.state().pin->is(layers::cells::attribution));
}

TEST_CASE("on a phone every part of Layers is available, one below the other") {
    Screen screen({390, 760});
    screen.open_sentence();
    open_layers(screen);
    for (const char* part : {"layers/likeliest/4/3", "layers/said/0", "chart/layers-cosine", "layers/part/0",
                             "layers/heads/0/0", "layers/tokens/2/4"})
        CHECK(screen.shows(part));
    CHECK(rect("chart/layers-probability").top > rect("layers/said/0").bottom);
}

TEST_CASE(
    "a token's total effect is the drop of the logit without its key, and the other measures are compared "
    "with it") {
    for (const char* name : {"gpt2", "llama", "bert"}) {
        CAPTURE(name);
        Screen screen;
        open_family(screen, name);
        open_layers(screen);
        const layers::Model& lens = layers_in(screen.visit);
        const Trace& trace = lens.parts()->trace();
        const Index row = lens.parts()->row();
        const std::int32_t token = lens.token();
        const auto logit = [&](const Trace& run) {
            return static_cast<double>(run.logits({row, row + 1}).values()[static_cast<std::size_t>(token)]);
        };
        REQUIRE(lens.tokens.measured(TokenMeasure::exact));
        std::vector<double> falls, gradient;
        for (Index at = 0; at < trace.tokens(); ++at) {
            std::vector<Intervention> hidden;
            for (Index attention = 0; attention < trace.attentions(); ++attention)
                hidden.push_back({.attention = attention, .site = Site::mask, .edit = {.columns = {at}}});
            auto forward = ForwardPass::start_with(hidden, sentence_in(screen.visit).run()->run);
            REQUIRE(forward);
            const double fall = logit(trace) - logit(**forward->finish());
            const double measured =
                lens.tokens.measured(TokenMeasure::exact)->own[static_cast<std::size_t>(at)];
            CHECK(std::abs(measured - fall) < 1e-6);
            if (trace.network().causal && at > row) continue;
            falls.push_back(fall);
            gradient.push_back(
                lens.tokens.measured(TokenMeasure::gradient)->own[static_cast<std::size_t>(at)]);
            const auto told = why(screen.visit, layers::cells::token(3, at));
            REQUIRE(told);
            CHECK(told->f64 == measured);
        }
        CHECK(*lens.tokens.agreement(TokenMeasure::gradient) ==
              Catch::Approx(rank_correlation(gradient, falls)).margin(1e-9));
    }
}

TEST_CASE("in a long text, visible tokens are ablated, the most important first, with the progress") {
    Screen screen;
    constexpr Index words = 300;
    open_family(screen, "falcon", words);
    open_layers(screen);
    const layers::Model& lens = layers_in(screen.visit);
    REQUIRE(rect("layers/tokens/3/0").top > rect("panel/lens").bottom);
    CHECK(lens.tokens.measured(TokenMeasure::gradient));
    CHECK_FALSE(lens.tokens.ablation());
    CHECK_FALSE(screen.visit.busy());
    const Rect panel = rect("panel/lens");
    ImGui::GetIO().AddMousePosEvent(panel.right - 4, (panel.top + panel.bottom) / 2);
    for (int i = 0; i < 60 && rect("layers/tokens/3/0").bottom > panel.bottom; ++i) {
        ImGui::GetIO().AddMouseWheelEvent(0, -3);
        screen.draw(3);
    }
    for (int i = 0; i < 400 && !lens.tokens.ablation(); ++i) screen.visit.work(1), screen.draw();
    REQUIRE(lens.tokens.ablation());
    REQUIRE_FALSE(lens.tokens.measured(TokenMeasure::exact));
    const auto says = [](const char* part) {
        return std::ranges::any_of(
            ui::semantics(), [&](const ui::Node& node) { return node.name.find(part) != std::string::npos; });
    };
    CHECK(says(" of 300 tokens so far"));
    const auto known = [&](Index token) {
        return !std::isnan(lens.tokens.ablation()->falls().own[static_cast<std::size_t>(token)]);
    };
    Index done = 0, last = -1;
    for (int i = 0; i < 4000 && done < 3; ++i) {
        screen.visit.work(1);
        done = 0;
        for (Index token = 0; token < words; ++token) done += known(token);
    }
    screen.draw(2);
    for (Index token = 0; token < words; ++token)
        if (known(token)) last = token;
    // The tokens ablated first are in the row. Screen readers get a grid sixteen columns at a time, around
    // the focus.
    REQUIRE(last >= 0);
    Index in_row = 0;
    for (const Index column : {0, 16}) {
        ui::focus_node("layers/tokens", 3, column);
        screen.draw();
        const auto grid = std::ranges::find(ui::semantics(), "layers/tokens", &ui::Node::key);
        REQUIRE(grid != ui::semantics().end());
        if (grid->grid->first_col != column) continue;
        const auto last_row = std::span(grid->grid->values).last(grid->grid->column_names.size());
        in_row += std::ranges::count_if(last_row, [](double each) { return !std::isinf(each); });
    }
    ui::focus_node("", -1, -1);
    CHECK(in_row >= std::min<Index>(done, 3));
    screen.settle();
    CHECK(lens.tokens.measured(TokenMeasure::exact));
}

TEST_CASE("in a changed run, the change is a part, and the sum is the logit") {
    for (const Site site : {Site::resid_pre, Site::attention_output, Site::resid_mid, Site::resid_post,
                            Site::head_output, Site::mlp_output}) {
        CAPTURE(info(site).key);
        Screen screen;
        open_family(screen, "gpt2");
        open_layers(screen);
        screen.visit.perform(
            ChangeRun{{.at = {.site = site, .attention = 1}, .operation = Operation::add, .value = 0.75}});
        screen.settle();
        screen.settle();  // the lens starts once the changed run is complete
        const layers::Model& lens = layers_in(screen.visit);
        REQUIRE(lens.parts());
        REQUIRE(lens.parts()->trace().interventions().size() == 1);
        CHECK(std::abs(lens.parts()->sum() - lens.parts()->logit()) < 2e-5);
        const auto changed = std::ranges::find_if(
            lens.parts()->shares(), [](const LogitShare& each) { return is_change(each.part); });
        const bool of_part = site == Site::head_output || site == Site::mlp_output;
        REQUIRE((changed == lens.parts()->shares().end()) == of_part);
        REQUIRE(lens.tokens.measured(TokenMeasure::gradient));
        CHECK(screen.shows("layers/tokens/2/0"));
        REQUIRE(lens.tokens.measured(TokenMeasure::exact));
        if (of_part) continue;
        const auto told =
            why(screen.visit, layers::cells::attribution(changed - lens.parts()->shares().begin()));
        REQUIRE(told);
        CHECK(std::abs(told->f64 - changed->value) < 1e-6);
    }
}

TEST_CASE("by larger units Layers shows the sums of their tokens' shares") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    open_layers(screen);
    const layers::Model& lens = layers_in(screen.visit);
    const Index tokens = sentence_in(screen.visit).run()->tokens();
    REQUIRE(tokens > 3);
    screen.visit.perform(SetSpans{{{{1, 3}, "pair"}}});
    screen.visit.perform(SetMap{{.unit = Unit::spans}});
    screen.settle();
    CHECK_FALSE(screen.shows("tokens-alone"));
    const Table shown = table_shown(screen, "layers/tokens");
    REQUIRE(shown.values.rows == tokens - 1);
    CHECK(shown.row_labels[1] == "pair");
    CHECK(shown.values.cols == 3);  // what is taken out has no sum
    for (Index i = 0; i < 3; ++i) {
        const auto& own = lens.tokens.measured(static_cast<TokenMeasure>(i))->own;
        CHECK(shown.values.at(1, i) == own[1] + own[2]);
        const auto told = why(screen.visit, layers::cells::unit(i, 1));
        REQUIRE(told);
        CHECK(told->f64 == own[1] + own[2]);
        CHECK(told->operands.size() == 2);
        check_calculated(*told);
    }
    CHECK_FALSE(explained(screen.visit, layers::cells::unit(3, 1)));
    screen.click("layers/tokens/1/1");
    CHECK(screen.visit.state().pin == layers::cells::unit(1, 1));
}
