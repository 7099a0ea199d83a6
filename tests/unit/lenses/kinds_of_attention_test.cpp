// Tests the lenses that show one head, on the three kinds of attention of an encoder–decoder, and the effect
// of norms of q and k and of a model's own biases.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>

#include "app/link.hpp"
#include "io/safetensors.hpp"
#include "lenses/compare/compare.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/gradient/gradient.hpp"
#include "lenses/inverse/inverse.hpp"
#include "lenses/masks/masks.hpp"
#include "lenses/order/order.hpp"
#include "support/translator.hpp"
#include "unit/app/calculated.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/slope_errors.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> written_ids{3, 1, 4, 1, 5};

struct SmallScreen : Screen {
    explicit SmallScreen(std::size_t which = 0) {
        open_encoder_decoder(visit, small_encoder_decoders[which], encoded_ids, written_ids);
        settle();
    }
    void open(std::string_view lens, HeadIndex head) {
        visit.perform(OpenLens{lens});
        visit.perform(Select{{.layer = head.layer, .head = head.head, .query = {}, .key = {}}});
        settle();
    }
    TextRun& run() { return *sentence_in(visit).run(); }
    template <class L>
    L& lens() {
        return static_cast<L&>(visit.lens());
    }
    Subject& subject() { return subject_in(visit); }
    std::optional<Explained> why(const CellRef& cell) {
        const Selection s = subject().chosen();
        return lens_in(visit).explain(subject(), {{s.layer, s.head}, cell});
    }
};

// The small models' attentions: two of the encoder, two of the decoder, two cross-attentions.
constexpr std::array<Index, 3> one_of_each{1, 2, 5};

}  // namespace

TEST_CASE("Compare shows an encoder–decoder on two texts and their written texts") {
    Screen screen;
    open_translator(screen.visit, screen.page);
    const auto offer = sentence_in(screen.visit).offer_second();
    REQUIRE(offer);
    screen.visit.perform(offer->command);
    screen.settle();
    CHECK(lens_of(screen.visit.state()).compares);
    const auto text_of = [&](Box box) { return screen.page.lower.at(box).text; };
    CHECK(text_of(Box::third) == screen.page.box);
    CHECK(text_of(Box::fourth) == *screen.page.second);
    CHECK_FALSE(screen.page.lower.at(Box::third).continued);
    CHECK(screen.page.lower.at(Box::fourth).continued);
    const std::string read = "The dog sat on the mat.", written = "Le chien s'est";
    screen.visit.text_typed(Box::third, read);
    split(screen.visit, Box::third, read);
    screen.visit.text_typed(Box::fourth, written);
    split(screen.visit, Box::fourth, written);
    screen.settle();
    CHECK(sentence_of(screen.visit.state()).compared == Comparison{read, written});
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());

    SentenceSubject& sentence = sentence_in(screen.visit);
    REQUIRE(sentence.compared_run());
    std::vector<std::int32_t> decoder_ids = translator_ids(written);
    decoder_ids.insert(decoder_ids.begin(), sentence.model()->config().start_id);
    std::vector<std::int32_t> ids = translator_ids(read);
    ids.push_back(PieceVocabulary::end);
    const auto expected = run_forward(sentence.model(), ids, default_kernels(), {}, decoder_ids);
    REQUIRE(expected);
    CHECK(sentence.compared_run()->run->final_norm() == (*expected)->final_norm());

    // Encoder, decoder, cross-attention: weights, rows' cosines, residuals' cosines and differences.
    for (const Index layer : {Index{1}, Index{3}, Index{5}}) {
        CAPTURE(layer);
        screen.visit.perform(Select{{.layer = layer, .head = 1, .query = 1, .key = {}}});
        screen.settle();
        CHECK(screen.shows("compare/map/first"));
        CHECK(screen.shows("compare/map/second"));
        CHECK_FALSE(lens_in(screen.visit).spoken(subject_in(screen.visit)).empty());
        const Attention &first = *subject_in(screen.visit).attention(),
                        &second = *second_of(subject_in(screen.visit));
        CHECK(first.one_line() == (layer != 5));
        CHECK(second.queries() == std::ssize(layer == 1 ? ids : decoder_ids));
        CHECK(second.keys() == std::ssize(layer == 3 ? decoder_ids : ids));
        const auto why = [&](const CellRef& cell) {
            return lens_in(screen.visit).explain(subject_in(screen.visit), {{layer, 1}, cell});
        };
        const auto row = why(compare::cells::row_cosine(layer, 1));
        REQUIRE(row);
        // The kernels' weights are f32, the row's are double; a cosine has some ten terms.
        CHECK(row->f64 == Catch::Approx(row->f32).margin(1e-5));
        for (Index at = 0; at < 3; ++at) {
            const auto residual = why(compare::cells::cosine(at));
            REQUIRE(residual);
            CHECK(residual->f64 == Catch::Approx(residual->f32).margin(1e-5));
            const auto there = subject_in(screen.visit).explain_at(*residual->operands[3].left_at);
            REQUIRE(there);
            CHECK(there->f32 == Catch::Approx(residual->operands[3].left).margin(1e-6));
        }
        const auto difference = why(compare::cells::difference(1, 1));
        REQUIRE(difference);
        CHECK(difference->f64 == Catch::Approx(difference->f32).margin(1e-5));
        CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).size() == 4);
    }
    CHECK(screen.shows("compare/first-reads/0"));
    screen.visit.perform(Compare{});
    screen.settle();
    CHECK_FALSE(screen.page.lower.contains(Box::third));
    CHECK_FALSE(screen.page.lower.contains(Box::fourth));
}

TEST_CASE("Masks runs an encoder–decoder under a mask of the kind of attention in view") {
    SmallScreen screen;
    const auto trace = screen.run().trace();
    for (const Index layer : one_of_each) {
        CAPTURE(layer);
        screen.open("masks", {layer, 0});
        screen.visit.perform(Set<masks::State>{{.mask = Mask::window(1, 0), .runs = true}});
        screen.settle();
        const MaskedRun& run = screen.lens<masks::Lens>().model().masked_run;
        REQUIRE(run.done());
        CHECK(screen.shows("masks/moved"));
        auto forward = ForwardPass::start_under(
            Mask::window(1, 0), trace->model(), encoded_ids, default_kernels(), 400e6, {},
            {trace->ids().begin(), trace->ids().end()}, trace->model()->network().place_of(layer).kind);
        REQUIRE(forward);
        const auto under = forward->finish();
        REQUIRE(under);
        const Index last = trace->tokens() - 1;
        CHECK(run.predicted() == last);
        const Tensor expected = (*under)->logits({last, last + 1});
        CHECK(std::ranges::equal(run.after(), expected.values()));
        const auto why = screen.why(masks::cells::probability(7));
        REQUIRE(why);
        CHECK(why->f64 == Catch::Approx(run.chances_after()[7]).epsilon(1e-12));
    }
}

TEST_CASE("Masks starts the four conventions from scores with T5's biases") {
    SmallScreen screen;
    for (const Index layer : one_of_each) {
        CAPTURE(layer);
        screen.open("masks", {layer, 1});
        const Record& record = screen.run().record_at(layer);
        screen.visit.perform(Set<masks::State>{{.mask = record.spec().mask}});
        const Index query = record.queries() - 1;
        screen.visit.perform(Select{{.layer = layer, .head = 1, .query = query, .key = {}}});
        screen.settle();
        const auto& example = screen.lens<masks::Lens>().model().empty_example();
        REQUIRE(example.query == query);
        const std::vector<float> expected = record.weights(1, query);
        // The kernels' weights have a relative error of about 2^-20.
        for (Index key = 0; key < record.keys(); ++key)
            CHECK(example.rows[0].weights[static_cast<std::size_t>(key)] ==
                  Catch::Approx(expected[static_cast<std::size_t>(key)]).margin(2e-6));
    }
}

TEST_CASE("Geometry's form gives cross-attention's scores from the decoder's and the encoder's vectors") {
    SmallScreen screen;
    screen.open("geometry", {5, 1});
    auto& lens = screen.lens<ModelLens<geometry::Model>>();
    REQUIRE_FALSE(lens.missing(screen.subject()));
    const HeadForm& form = lens.model().form();
    const HeadWeights& w = *lens.model().weights;
    CHECK(w.crosses);
    CHECK_FALSE(form.squares().square);  // its sides belong to two spaces
    const Record& record = screen.run().record_at(5);
    std::vector<float> raw(1);
    for (Index i = 0; i < record.queries(); ++i)
        for (Index j = 0; j < record.keys(); ++j) {
            double score = 0;
            for (Index b = 0; b < w.width(); ++b)
                for (Index c = 0; c < w.width(); ++c)
                    score += w.input(i, b) * form_cell<double>(form.factors(), b, c) * w.input(j, c, true);
            record.stage(Stage::raw, 1, {i, i + 1}, {j, j + 1}, raw);
            // T5 has no biases there; q and k are sums of 16 products in f32.
            CHECK(score == Catch::Approx(raw[0]).epsilon(1e-4).margin(1e-4));
        }
    for (const bool right : {false, true}) {
        const Index token = right ? record.keys() - 1 : record.queries() - 1;
        const auto why =
            screen.why((right ? geometry::cells::right_token : geometry::cells::left_token)(token, 0));
        REQUIRE(why);
        CHECK(why->f64 == Catch::Approx(why->f32).margin(1e-4));
        for (const std::size_t b : {std::size_t{0}, std::size_t{9}}) {
            REQUIRE(why->operands[b].left_at);
            const auto there = screen.subject().explain_at(*why->operands[b].left_at);
            REQUIRE(there);
            CHECK(there->f32 == Catch::Approx(why->operands[b].left).margin(1e-6));
        }
    }
    CHECK_FALSE(screen.why(geometry::cells::symmetric_part(0, 0)));
    CHECK_FALSE(screen.why(geometry::cells::right_token(record.keys(), 0)));
    CHECK_FALSE(lens.spoken(screen.subject()).empty());
    for (const FormOf of : {FormOf::values, FormOf::tokens}) {
        geometry::State next;
        next.form = of;
        screen.visit.perform(Set<geometry::State>{next});
        screen.settle();
        CHECK(lens.model().form().of() == of);
    }
}

namespace {

// Adds the change to the rows of a head in the file.
void change_weights(ModelFiles& files, std::string_view tensor, Index head, Index d,
                    const HeadChange& change) {
    auto& bytes = files.weights.begin()->second;
    const auto read = parse_safetensors(bytes);
    REQUIRE(read);
    const auto entry = std::ranges::find_if(
        read->header.tensors, [&](const TensorEntry& each) { return each.name.ends_with(tensor); });
    REQUIRE(entry != read->header.tensors.end());
    REQUIRE(entry->dtype == DType::f32);
    for (Index a = 0; a < d; ++a)
        for (Index b = 0; b < change.changed_rows(); ++b) {
            const auto at = static_cast<std::size_t>((head * d + a) * entry->shape[1] + b);
            std::byte* number = bytes.data() + read->header.data_offset + entry->begin + 4 * at;
            float w = 0;
            std::memcpy(&w, number, sizeof w);
            w = static_cast<float>(static_cast<double>(w) + change.change(b, a));
            std::memcpy(number, &w, sizeof w);
        }
}

}  // namespace

TEST_CASE("W_Q and W_K are changed where RoPE rotates q and k, and in cross-attention") {
    struct Of {
        const char *family, *w_q, *w_k;
        Index layer;
    };
    const auto files_for = [](const char* name) {
        const auto all = all_small_families();
        return files_of(*std::ranges::find(all, std::string_view(name), &SmallFamily::name));
    };
    const auto opened = [](SmallScreen& screen, const ModelFiles& files, Index layer) {
        load_files(screen.visit, "other", as_opened(files));
        for (const Box box : {Box::first, Box::second})
            screen.visit.tokens({box, box == Box::first ? "what is read" : "what is written", written_ids,
                                 std::vector<std::string>(5, "·w"), 5});
        screen.settle();
        screen.open("inverse", {layer, 1});
    };
    constexpr double wished = 0.6;
    for (const Of& each :
         {Of{"llama", "layers.1.self_attn.q_proj.weight", "layers.1.self_attn.k_proj.weight", 1},
          // It rotates neighbouring components, and not all of them.
          Of{"gptj", "h.1.attn.q_proj.weight", "h.1.attn.k_proj.weight", 1},
          Of{"t5", "decoder.block.1.layer.1.EncDecAttention.q.weight",
             "decoder.block.1.layer.1.EncDecAttention.k.weight", 5}})
        for (const ChangeOf of : {ChangeOf::w_q, ChangeOf::w_k}) {
            CAPTURE(each.family, inverse::change_name(of));
            ModelFiles files = files_for(each.family);
            SmallScreen screen;
            opened(screen, files, each.layer);
            inverse::State asked;
            asked.of = of;
            asked.wishes = {{3, 1, wished}, {4, 0, wished}};
            screen.visit.perform(Set<inverse::State>{asked});
            screen.settle();
            const HeadChange* change = screen.lens<inverse::Lens>().model().change.kept();
            REQUIRE(change);
            REQUIRE(change->found());
            CHECK(change->of() == of);
            CHECK(change->search()->least());
            const Record& record = screen.run().record_at(each.layer);
            // Each number of the change is the sum of its explanation's terms.
            const auto why = screen.why(inverse::cells::change(2, 1));
            REQUIRE(why);
            CHECK(why->f64 == Catch::Approx(change->change(2, 1)).margin(1e-7));
            // The reference: the model with these weights in its file, run again.
            change_weights(files, of == ChangeOf::w_q ? each.w_q : each.w_k,
                           of == ChangeOf::w_q ? 1 : record.kv_head(1), record.d_k(), *change);
            SmallScreen again;
            opened(again, files, each.layer);
            const Record& moved = again.run().record_at(each.layer);
            // q and k are sums of 16 products in f32.
            CHECK(moved.cell(Stage::weight, 1, 3, 1) == Catch::Approx(wished).margin(1e-5));
            CHECK(moved.cell(Stage::weight, 1, 4, 0) == Catch::Approx(wished).margin(1e-5));
            for (Index key = 0; key < moved.keys(); ++key)
                CHECK(change->after(4)->at(static_cast<std::size_t>(key)) ==
                      Catch::Approx(moved.cell(Stage::weight, 1, 4, key)).margin(1e-5));
        }
    // A norm of q and k is not a linear map.
    SmallScreen normed;
    opened(normed, files_for("qwen3"), 1);
    inverse::State of_norms;
    of_norms.of = ChangeOf::w_q;
    of_norms.wishes = {{4, 0, wished}};
    normed.visit.perform(Set<inverse::State>{of_norms});
    normed.settle();
    CHECK(normed.lens<inverse::Lens>().model().change.kept()->of() == ChangeOf::q);
    CHECK(normed.shows("inverse/normalised"));
}

TEST_CASE(
    "gradients of X and the projections pass through norms of q and k and into both texts of "
    "cross-attention") {
    // Families with norms of single heads, of heads with 1 + gain, and of all heads together.
    for (const char* name : {"qwen3", "gemma3_text", "olmo2", "t5"}) {
        CAPTURE(name);
        SmallScreen screen;
        const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9};
        if (std::string_view(name) != "t5") {
            const auto family = std::ranges::find(small_families, std::string_view(name), &SmallFamily::name);
            REQUIRE(family != small_families.end());
            const ModelFiles files = files_of(*family);
            load_files(screen.visit, "normed", as_opened(files));
            screen.visit.tokens({Box::first, "what is read", ids, std::vector<std::string>(6, "·w"), 6});
            screen.settle();
        }
        const bool crosses = std::string_view(name) == "t5";
        screen.open("gradient", {crosses ? Index{4} : Index{1}, 1});
        screen.visit.perform(Set<gradient::State>{{.component = 2}});
        screen.settle();
        const Slopes* slopes = screen.lens<gradient::Lens>().model().slopes();
        REQUIRE(slopes);
        REQUIRE(slopes->projections());
        CHECK(slopes->projections()->crosses == crosses);
        CHECK(slopes->projections()->q_norm.has_value() == !crosses);
        // With steps of 1e-5 and losses near 1, central differences in double are accurate to about 1e-10.
        CHECK(largest_error(*slopes) < 1e-8);
        const Index rows = slopes->rows(Slope::x).end;
        CHECK(rows == slopes->record().keys() + crosses);
        for (const Slope slope : {Slope::x, Slope::w_q, Slope::w_k, Slope::w_v})
            for (const Index row : {Index{0}, slope == Slope::x ? rows - 1 : Index{3}}) {
                const auto why = screen.why(gradient::cells::derivative(slope, row, 2));
                REQUIRE(why);
                check_calculated(*why);
                CHECK(why->f32 == Catch::Approx(why->f64).epsilon(1e-4).margin(1e-5));
                for (const auto& operand : why->operands)
                    for (const auto& [place, value] : {std::pair(operand.left_at, operand.left),
                                                       std::pair(operand.right_at, operand.right)}) {
                        if (!place) continue;
                        const auto there = lens_in(screen.visit).explain(screen.subject(), *place);
                        REQUIRE(there);
                        CHECK(std::abs(there->f64 - value) < 1e-5);
                    }
            }
    }
}

TEST_CASE("a T5's own biases are a scheme, under which its tokens in their original order give its run") {
    for (const Index layer : {Index{0}, Index{3}}) {
        CAPTURE(layer);
        SmallScreen screen;
        screen.open("order", {layer, 1});
        order::Model& model = screen.lens<ModelLens<order::Model>>().model();
        order::State state{.scheme = PositionScheme::own_buckets, .masked = layer == 3};
        screen.visit.perform(Set<order::State>{state});
        screen.settle();
        const auto* runs = model.run(PositionScheme::own_buckets);
        REQUIRE(runs);
        CHECK(model.offered().size() == position_schemes);
        const Record& record = screen.run().record_at(layer);
        for (Index token = 0; token < record.queries(); ++token)
            for (Index b = 0; b < record.d_v(); ++b)
                CHECK(runs->after.record.output().heads().head(0)(token, b) ==
                      Catch::Approx(record.output().heads().head(1)(token, b)).margin(2e-6));
        const auto output = screen.why(order::cells::output(order::TokenOrder::original, 1, 0));
        REQUIRE(output);
        REQUIRE(output->operands[0].left_at);  // the weights are the head's own
        for (const CellRef& cell :
             {order::cells::score(0, 1), order::cells::score_at_distance(PositionScheme::own_buckets, 4)}) {
            const auto why = screen.why(cell);
            REQUIRE(why);
            CHECK(why->f32 == Catch::Approx(why->f64).margin(1e-5));
            check_calculated(*why);
        }
        CHECK(to_fragment(screen.visit.state()).find("order.positions=own") != std::string::npos);
    }
    // The example has no such biases, and a link that requests them says so.
    Screen screen;
    screen.visit.perform(OpenLens{"order"});
    screen.visit.perform(Set<order::State>{{.scheme = PositionScheme::own_buckets}});
    screen.settle();
    CHECK(lens_in(screen.visit).spoken(subject_in(screen.visit)) ==
          "This head has no biases of its own; choose another scheme.");
    CHECK_FALSE(
        static_cast<ModelLens<order::Model>&>(screen.visit.lens()).model().run(PositionScheme::own_buckets));
}

TEST_CASE(
    "in cross-attention queries and keys are reordered separately, and without positions outputs stay") {
    SmallScreen screen;
    screen.open("order", {5, 1});
    CHECK_FALSE(lens_in(screen.visit).missing(screen.subject()));
    order::Model& model = screen.lens<ModelLens<order::Model>>().model();
    REQUIRE(model.content);
    CHECK(model.content->from() == UnplacedRows::From::crossed);
    const Record& record = screen.run().record_at(5);
    const Index n_q = record.queries(), n_k = record.keys();
    REQUIRE(n_q != n_k);
    CHECK(model.queries.size() == n_q);
    CHECK(model.keys.size() == n_k);
    std::vector<Index> keys = order::order_of({}, n_k), queries = order::order_of({}, n_q);
    std::ranges::reverse(keys);
    screen.visit.perform(Set<order::State>{{.key_order = keys}});
    screen.settle();
    const auto* runs = model.run(PositionScheme::none);
    REQUIRE(runs);
    CHECK(runs->along());
    // The outputs are the head's own, with its weights in the other order.
    for (Index query = 0; query < n_q; ++query) {
        for (Index b = 0; b < record.d_v(); ++b)
            CHECK(runs->after.record.output().heads().head(0)(query, b) ==
                  Catch::Approx(record.output().heads().head(1)(query, b)).margin(2e-6));
        for (Index place = 0; place < n_k; ++place)
            CHECK(runs->after.weights[static_cast<std::size_t>(query * n_k + place)] ==
                  Catch::Approx(static_cast<double>(record.cell(Stage::weight, 1, query, n_k - 1 - place)))
                      .margin(2e-6));
    }
    CHECK_FALSE(model.run(PositionScheme::rotary)->along());
    std::ranges::reverse(queries);
    screen.visit.perform(Set<order::State>{{.order = queries, .key_order = keys}});
    screen.settle();
    CHECK(model.run(PositionScheme::none)->along());
    const auto why = screen.why(order::cells::output(order::TokenOrder::original, 1, 0));
    REQUIRE(why);
    REQUIRE(why->operands[0].left_at);
    const auto weight = screen.subject().explain_at(*why->operands[0].left_at);
    REQUIRE(weight);
    CHECK(weight->f64 == Catch::Approx(why->operands[0].left).margin(1e-6));
    CHECK(why->operands[0].name == in_quotes(model.keys.name(0)));
}
