// Tests opening a user's own tensors, asking about them, refusing them and keeping them in a visit.
#include "subjects/tensors/own_tensors.hpp"

#include <array>
#include <cmath>

#include "app/explained.hpp"
#include "app/format.hpp"
#include "app/link.hpp"
#include "app/table.hpp"
#include "io/zip_writer.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

// Returns the numbers as a float64 array.
Bytes as_f64(const Shape& shape, std::span<const float> values) {
    Bytes bytes = write_npy(shape, values);
    const auto header = parse_npy_header(bytes, bytes.size());
    bytes.resize(static_cast<std::size_t>(header->data_offset));
    bytes[static_cast<std::size_t>(std::ranges::search(bytes, as_bytes("<f4")).begin() - bytes.begin()) + 2] =
        std::byte{'8'};
    for (const float value : values) {
        const auto wide = static_cast<double>(value) / 3;  // more digits than a float has
        const auto raw = std::as_bytes(std::span(&wide, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    return bytes;
}

// Computes the weights of one head in double: softmax(q kᵀ · scale + bias) over the keys that `allows`
// permits.
std::vector<double> reference(std::span<const float> q, std::span<const float> k, Index d, double scale,
                              auto allows) {
    const Index queries = std::ssize(q) / d, keys = std::ssize(k) / d;
    std::vector<double> out;
    for (Index i = 0; i < queries; ++i) {
        double sum = 0;
        std::vector<double> row;
        for (Index j = 0; j < keys; ++j) {
            double score = 0;
            for (Index a = 0; a < d; ++a)
                score += static_cast<double>(q[static_cast<std::size_t>(i * d + a)]) *
                         static_cast<double>(k[static_cast<std::size_t>(j * d + a)]);
            row.push_back(allows(i, j) ? std::exp(score * scale) : 0);
            sum += row.back();
        }
        for (const double e : row) out.push_back(e / sum);
    }
    return out;
}

}  // namespace

TEST_CASE("a number of float64 is explained to its last digit", "[tensors]") {
    TensorsVisit v;
    const std::vector<float> values = random_weights(3, 3, 2);
    v.drop({{"attention.npy", as_f64({3, 3}, values)}});
    REQUIRE(v.open());
    const auto why = explained(v.visit, RunCell{Stage::weight, 1, 2});
    REQUIRE(why);
    CHECK(why->f64 == static_cast<double>(values[5]) / 3);
    CHECK(why->f32 == static_cast<double>(static_cast<float>(why->f64)));
    CHECK(v.open()->remarks().size() == 1);  // the rows sum to 1/3
    CHECK_THAT(v.open()->remarks()[0].sentence, ContainsSubstring("3 of 3 rows do not sum to 1"));
}

TEST_CASE("an archive's tensors keep their names", "[tensors]") {
    const Bytes q = normal_npy({4, 2}, 1), k = normal_npy({5, 2}, 2);
    const std::vector<ZipFile> entries{{"q.npy", q}, {"k.npy", k}};
    TensorsVisit v;
    v.drop({{"run.npz", write_zip(entries)}});
    REQUIRE(v.open());
    CHECK(v.open()->title() == "Q and K of run.npz");
    CHECK(v.open()->summary() == "1 head · 4 queries × 5 keys · d_k 2 · float32");
    const auto why = explained(v.visit, RunCell{Stage::weight, 0, 0});
    REQUIRE(why);
    CHECK_THAT(why->note, ContainsSubstring("of run.npz"));
    CHECK(why->operands.size() == 2);
}

TEST_CASE("Q and K become weights under the chosen rule", "[tensors]") {
    constexpr Index d = 8, queries = 6, keys = 9;
    const Tensor q = random_tensor({2, queries, d}, 3), k = random_tensor({2, keys, d}, 4);
    TensorsVisit v;
    v.drop({{"q.npy", write_npy(q.shape(), q.values())}, {"k.npy", write_npy(k.shape(), k.values())}});
    REQUIRE(v.open());
    CHECK(v.open()->title() == "Q and K of q.npy, k.npy");
    const auto compare = [&](double scale, auto allows) {
        const auto head_q = q.values().subspan(queries * d), head_k = k.values().subspan(keys * d);
        const std::vector<double> expected = reference(head_q, head_k, d, scale, allows);
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) {
                const float found = v.cell(0, 1, i, j);
                if (!allows(i, j))
                    CHECK(found == masked_cell);
                else  // a weight is at most 1, so this is a few roundings of 6e-8
                    CHECK_THAT(static_cast<double>(found),
                               WithinAbs(expected[static_cast<std::size_t>(i * keys + j)], 1e-6));
            }
    };
    using Causal = TensorRule::Causal;
    compare(1 / std::sqrt(8.0), [](Index, Index) { return true; });
    v.visit.perform(SetTensorRule{{Causal::aligned, true}});
    v.work();
    compare(1 / std::sqrt(8.0), [](Index i, Index j) { return j <= i; });
    v.visit.perform(SetTensorRule{{Causal::with_past, false}});
    v.work();
    compare(1, [](Index i, Index j) { return j <= i + keys - queries; });
    CHECK(v.page.url.ends_with("&rule=past,unscaled"));
    v.visit.undo();
    v.visit.undo();
    v.work();
    compare(1 / std::sqrt(8.0), [](Index, Index) { return true; });

    v.visit.perform(SetMap{{.stage = Stage::raw}, tensors_subject});
    v.visit.perform(Select{{0, 1, {}, {}}});
    const auto why = explained(v.visit, RunCell{Stage::raw, 2, 3});
    REQUIRE(why);
    CHECK_THAT(static_cast<double>(v.cell(0, 1, 2, 3)), WithinAbs(why->f64, 1e-5));
    CHECK(why->provenance == "head 1 · computed here from Q and K");
    CHECK(why->operands.size() == 8);
    // Without V there are no contributions.
    CHECK(v.open()->stage_for(Stage::contribution) == Stage::weight);
    CHECK(v.open()->stage_for(Stage::masked) == Stage::scaled);
}

TEST_CASE("the tiles of a large map are made while its rows are measured", "[tensors]") {
    TensorsVisit v;
    v.drop({{"q.npy", normal_npy({4200, 4}, 1)}, {"k.npy", normal_npy({4200, 4}, 2)}});
    REQUIRE(v.open());
    TensorSet& set = *v.open();
    set.follow({TensorRule::Causal::aligned, true});
    REQUIRE(set.being_measured(Stage::weight));
    while (!set.map(0, 0, v.choice())) REQUIRE(set.step());
    const auto pyramid = std::make_shared<Pyramid>(set.map(0, 0, v.choice()));
    while (set.being_measured(Stage::weight)) {
        set.make_while_measuring(pyramid);
        set.step();
    }
    CHECK(pyramid->progress() == 1);
    CHECK_FALSE(pyramid->done());  // the rows sampled first are left
}

TEST_CASE("all layers of Q and K are computed, each with its own mask", "[tensors]") {
    constexpr Index layers = 3, heads = 4, kv_heads = 2, n = 7, d = 6;
    const Tensor q = random_tensor({layers, heads, n, d}, 5), k = random_tensor({layers, kv_heads, n, d}, 6),
                 v = random_tensor({layers, kv_heads, n, 2}, 7);
    std::vector<float> mask;  // layer l hides the key l
    for (Index layer = 0; layer < layers; ++layer)
        for (Index i = 0; i < n * n; ++i) mask.push_back(i % n == layer ? 0 : 1);
    TensorsVisit t;
    t.drop({{"q.npy", write_npy(q.shape(), q.values())},
            {"k.npy", write_npy(k.shape(), k.values())},
            {"v.npy", write_npy(v.shape(), v.values())},
            {"mask.npy", write_npy({layers, 1, n, n}, mask)}});
    t.answer("mask meaning", "allowed");
    REQUIRE(t.open());
    CHECK(t.open()->summary() ==
          "3 layers × 4 heads · 7 queries × 7 keys · d_k 6 · 2 heads of keys · float32");
    REQUIRE(t.open()->overview());
    for (Index layer = 0; layer < layers; ++layer)
        for (Index head = 0; head < heads; ++head) {
            const auto of_head = [&](const Tensor& all, Index count, Index h) {
                return all.values().subspan(static_cast<std::size_t>((layer * count + h) * n * d),
                                            static_cast<std::size_t>(n * d));
            };
            const std::vector<double> expected =
                reference(of_head(q, heads, head), of_head(k, kv_heads, head / 2), d, 1 / std::sqrt(6.0),
                          [&](Index, Index j) { return j != layer; });
            for (Index i = 0; i < n; ++i)
                for (Index j = 0; j < n; ++j) {
                    INFO(layer << " " << head << " " << i << " " << j);
                    if (j == layer)
                        CHECK(t.cell(layer, head, i, j) == masked_cell);
                    else  // a weight is at most 1, so this is a few roundings of 6e-8
                        CHECK_THAT(static_cast<double>(t.cell(layer, head, i, j)),
                                   WithinAbs(expected[static_cast<std::size_t>(i * n + j)], 1e-6));
                }
        }
    t.visit.perform(Select{{2, 3, {}, {}}});
    const auto why = explained(t.visit, RunCell{Stage::raw, 1, 0});
    REQUIRE(why);
    CHECK(why->provenance == "layer 2, head 3 · computed here from Q and K");
    // Q[2, 3, 1, 0] is the 79th row of 6 floats behind a header of 128 bytes.
    CHECK_THAT(why->note,
               ContainsSubstring("begins at byte " + with_commas(128 + ((2 * 4 + 3) * 7 + 1) * 24)));
}

TEST_CASE("V gives contributions, and a mask says what its numbers mean", "[tensors]") {
    const Bytes q = normal_npy({3, 2}, 1), k = normal_npy({3, 2}, 2), values = normal_npy({3, 4}, 3);
    const Bytes mask = write_npy({3, 3}, std::vector<float>{1, 0, 0, 1, 1, 0, 1, 1, 1});
    TensorsVisit v;
    v.drop({{"q.npy", q}, {"k.npy", k}, {"v.npy", values}, {"mask.npy", mask}});
    REQUIRE(v.own().opening());
    CHECK(v.state().subject == tensors_subject);
    const auto questions = v.own().opening()->questions();
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].id == "mask meaning");
    v.answer("mask meaning", "allowed");
    REQUIRE(v.open());
    CHECK(v.open()->has_values());
    CHECK(v.open()->title() == "Q, K, V and mask of q.npy, k.npy, v.npy, mask.npy");
    CHECK(v.cell(0, 0, 0, 0) == 1);
    CHECK(v.cell(0, 0, 0, 1) == masked_cell);
    const float weight = v.cell(0, 0, 2, 1);
    v.visit.perform(SetMap{{.stage = Stage::contribution}, tensors_subject});
    const auto row = to_tensor(*parse_npy(values));
    CHECK(v.cell(0, 0, 2, 1) == Catch::Approx(weight * row_norms(row->matrix())[1]));
    // The ladder goes on to V and the output.
    const auto rungs = subject_in(v.visit).ladder()->rungs({0, 3}, {0, 3});
    REQUIRE(rungs.size() == 2);
    CHECK(rungs.back().back().stage == Stage::output);
    CHECK(rungs.back().back().values.at(0, 3) == Catch::Approx(row->matrix()(0, 3)));  // it sees itself alone

    // With the other answer, exactly the hidden cells are shown.
    v.own().ask_again();
    v.work();
    v.answer("mask meaning", "added");
    REQUIRE(v.open()->has_bias());
    CHECK(v.open()->stage_for(Stage::masked) == Stage::masked);
    CHECK(v.cell(0, 0, 0, 1) != masked_cell);
}

TEST_CASE("the user is asked what names and shapes leave open", "[tensors]") {
    // The shape may mean four queries by four keys by nine heads, or four heads of four queries by nine keys.
    const std::vector<float> values = random_weights(16, 9, 5);
    TensorsVisit v;
    v.drop({{"attention.npy", write_npy({4, 4, 9}, values)}});
    CHECK_FALSE(v.open());
    REQUIRE(v.own().opening());
    const auto questions = v.own().opening()->questions();
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].choices.size() == 2);
    CHECK(v.state().subject == tensors_subject);
    v.answer(questions[0].id, "last");
    REQUIRE(v.open());
    CHECK(v.open()->summary() == "9 heads · 4 queries × 4 keys · float32");
    CHECK(v.cell(0, 7, 1, 2) == values[(1 * 4 + 2) * 9 + 7]);
    v.own().ask_again();
    v.work();
    v.answer(questions[0].id, "first");
    CHECK(v.open()->summary() == "4 heads · 4 queries × 9 keys · float32");
    v.own().ask_again();
    v.work();
    v.own().cancel();
    CHECK(v.open()->summary() == "4 heads · 4 queries × 9 keys · float32");
    CHECK_FALSE(v.own().opening());
}

TEST_CASE("files come one after another, in any order", "[tensors]") {
    TensorsVisit v;
    v.drop({{"q.npy", normal_npy({4, 2}, 1)}});
    CHECK_THAT(v.refusal(), ContainsSubstring("K is missing"));
    CHECK(names_of(v.own().waiting()) == std::vector<std::string>{"q.npy"});
    v.drop({{"k.npy", normal_npy({4, 2}, 2)}});
    REQUIRE(v.open());
    CHECK(v.own().waiting().empty());
    CHECK(v.open()->query_names()[0] == "0");
    // Tokens are added to the open tensors without copying those.
    const std::byte* before = v.open()->files()[0].bytes.get();
    v.drop({{"tokens.txt", text_file("The\ncat\nsat\ndown\n")}});
    CHECK(v.open()->query_names()[3] == "down");
    CHECK(v.open()->key_names()[1] == "cat");
    CHECK(v.open()->files()[0].bytes.get() == before);
    CHECK(tensors_of(v.state()).files == std::vector<std::string>{"q.npy", "k.npy", "tokens.txt"});
    // If the number of tokens does not match, positions are shown instead, and a remark says so.
    v.drop({{"tokens.txt", text_file("The\ncat\n")}});
    CHECK(v.open()->query_names()[1] == "1");
    REQUIRE(v.open()->remarks().size() == 1);
    CHECK_THAT(v.open()->remarks()[0].sentence, ContainsSubstring("tokens.txt has 2 tokens"));
    CHECK(v.page.notices.empty());
}

TEST_CASE("odd numbers are shown unchanged, and reported", "[tensors]") {
    std::vector<float> values = random_weights(4, 4, 1);
    values[0] = std::numeric_limits<float>::quiet_NaN();
    values[4] += 0.5f;
    for (std::size_t i = 8; i < 12; ++i) values[i] = 0;
    TensorsVisit v;
    v.drop({{"attention.npy", write_npy({4, 4}, values)}});
    REQUIRE(v.open());
    CHECK(std::isnan(v.cell(0, 0, 0, 0)));
    CHECK(v.cell(0, 0, 1, 0) == values[4]);
    const auto remarks = v.open()->remarks();
    REQUIRE(remarks.size() == 3);
    CHECK(remarks[0].sentence ==
          "attention.npy: 1 of 16 numbers is NaN, the first at row 0, column 0; shown as NaN.");
    CHECK_THAT(remarks[1].sentence, ContainsSubstring("1 of 4 rows does not sum to 1"));
    CHECK_THAT(remarks[2].sentence, ContainsSubstring("1 of 4 rows is zero"));
    const auto why = explained(v.visit, RunCell{Stage::weight, 0, 0});
    REQUIRE(why);
    CHECK(std::isnan(why->f64));
}

TEST_CASE("each unusable file gives one sentence, and the open tensors stay", "[tensors]") {
    TensorsVisit v;
    v.drop({{"attention.npy", weights_npy({2, 3, 3})}});
    REQUIRE(v.open());
    v.visit.perform(Select{{0, 1, 2, 0}});
    const State before = v.state();
    const Bytes good = normal_npy({4, 2}, 1);
    const std::vector<std::int32_t> integers(9, 1);
    const Bytes whole = weights_npy({3, 3});
    const auto changed_within = [&](Bytes archive) {
        archive[30 + 5 + whole.size() - 1] ^= std::byte{1};  // after a 30-byte header and the name
        return archive;
    };
    const auto lie = [](const char* name) { return read_file(source_dir() / "tests/golden/io/npz" / name); };
    const std::vector<std::pair<Drop, std::string>> refused{
        {{{"attention.npy", normal_npy({5}, 1)}}, "these files hold no matrix"},
        {{{"attention.npy", write_npy({3, 3}, integers)}}, "holds numbers of type int32"},
        {{{"attention.npy", normal_npy({1025, 2, 2}, 1)}}, "would be 1 layers of 1025 heads"},
        {{{"q.npy", good}, {"k.npy", normal_npy({4, 3}, 1)}}, "a query and a key need as many components"},
        {{{"attention.npy", Bytes(good.begin(), good.end() - 4)}}, "it is cut short"},
        {{{"attention.npy", text_file("<html>Not found</html>")}}, "this is not a .npy file"},
        {{{"attention.npy", {}}}, "this is not a .npy file"},
        {{{"run.npz", lie("lie_bomb.npz")}}, "more than deflate can make of them"},
        {{{"run.npz", changed_within(write_zip(std::vector<ZipFile>{{"a.npy", whole}}))}},
         "that is damaged: its CRC-32 is"},
        {{{"tokens.json", text_file("{}")}}, "should hold a list of tokens"},
        {{{"weights.csv", text_file("1,2\n3\n")}}, "weights.csv: "},
    };
    for (const auto& [files, says] : refused) {
        INFO(says);
        v.own().cancel();
        v.drop(files);
        CHECK_THAT(v.refusal(), ContainsSubstring(says));
        CHECK(v.state() == before);
        CHECK(v.open()->summary() == "2 heads · 3 queries × 3 keys · float32");
    }
}

TEST_CASE("a file larger than a tab can hold is refused before it is read", "[tensors]") {
    TensorsVisit v;
    const auto huge = v.own().buffer("attention.npy", 5'000'000'000);
    REQUIRE_FALSE(huge);
    CHECK(huge.error().message ==
          "attention.npy is 5.0 GB; a browser tab can hold tensors of up to 1.7 GB in total: save "
          "fewer layers, or float16");
    v.own().discard();
    v.drop({{"attention.npy", weights_npy({1, 3, 512, 512})}});  // 3.1 MB
    REQUIRE(v.open());
    const auto beside = v.own().buffer("more.npy", 1'699'000'000);
    REQUIRE_FALSE(beside);
    CHECK_THAT(beside.error().message, ContainsSubstring("does not fit beside the 4 MB that are open"));
}

TEST_CASE("a link names its files", "[tensors]") {
    TensorsVisit v;
    v.visit.start("v=1&lens=tensors&layer=1&head=2&query=3&key=1&files=a%5C,b.npy,tokens.json");
    CHECK(v.page.notices.empty());
    CHECK(tensors_in(v.visit).wanted() == "a,b.npy and tokens.json");
    CHECK(v.state().selection.query == 3);
    const Drop files{{"a,b.npy", weights_npy({2, 3, 4, 5})},
                     {"tokens.json", text_file(R"(["a", "b", "c", "d"])")}};
    v.drop(files);
    v.answer("what", v.own().opening() ? v.own().opening()->questions()[0].choices[0].answer : "");
    REQUIRE(v.open());
    CHECK(tensors_in(v.visit).wanted() == "");
    CHECK(v.state().selection == Selection{1, 2, 3, 1, {}});
    CHECK(v.open()->query_names()[1] == "b");

    // Other files begin at their first head; going back in history does not bring back their files.
    v.drop({{"attention.npy", weights_npy({2, 2, 2})}});
    CHECK(v.state().selection == Selection{});
    v.visit.undo();
    CHECK(tensors_of(v.state()).files == std::vector<std::string>{"attention.npy"});
    v.visit.open_fragment("v=1&lens=tensors&head=9&files=other.npy");
    REQUIRE(v.page.notices.size() == 1);
    CHECK(v.page.notices[0] == "This link was made with other.npy. Drop it onto the page to see the same.");
    CHECK(tensors_of(v.state()).files == std::vector<std::string>{"attention.npy"});
    CHECK(v.state().selection.head == 1);

    tensors_in(v.visit).close();
    CHECK_FALSE(v.open());
    CHECK(tensors_of(v.state()).files.empty());
    v.visit.undo();
    CHECK(tensors_in(v.visit).wanted() == "attention.npy");
}

TEST_CASE("selections of other subjects do not reach beyond the tensors, nor theirs beyond a model",
          "[tensors]") {
    TensorsVisit v;
    load_tiny_model(v.visit);
    v.visit.tokens({Box::first, "the cat", {0, 1}, {"the", " cat"}, 2});
    finish(v.visit);
    v.drop({{"attention.npy", weights_npy({6, 8, 3, 3})}});
    v.visit.perform(Select{{5, 7, 2, 2}});
    v.visit.perform(Pin{RunCell{Stage::weight, 2, 2}});
    CHECK(v.state().selection == Selection{5, 7, 2, 2, {}});
    CHECK(explained(v.visit, *v.state().pin));
    v.visit.perform(OpenSubject{sentence_subject});
    CHECK(v.state().selection == Selection{});
    v.visit.perform(OpenSubject{tensors_subject});
    v.drop({{"attention.npy", weights_npy({1, 1})}});
    CHECK(v.state().selection == Selection{});
}

TEST_CASE("the chosen element of a batch is mentioned, is in the link, and is restored from it",
          "[tensors]") {
    const Drop files{{"attention.npy", weights_npy({2, 3, 2, 4, 4})}};
    TensorsVisit v;
    v.drop(files);
    REQUIRE(v.own().opening());
    const Question question = v.own().opening()->questions().front();
    v.answer(question.id, "2");
    REQUIRE(v.open());
    CHECK(v.open()->summary() ==
          "2 layers × 2 heads · 4 queries × 4 keys · float32 · number 2 of 3 along axis 1");
    const std::string link = to_fragment(v.state());
    const float cell = v.cell(0, 0, 1, 2);

    TensorsVisit other;
    other.visit.open_fragment(link);
    other.drop(files);
    REQUIRE(other.open());
    CHECK(other.open()->summary() == v.open()->summary());
    CHECK(other.cell(0, 0, 1, 2) == cell);
    CHECK(to_fragment(other.state()) == link);
    // Files with other names lead to new questions.
    TensorsVisit renamed;
    renamed.visit.open_fragment(link);
    renamed.drop({{"other.npy", files.front().second}});
    CHECK(renamed.own().opening());

    // Another answer is a step that can be undone.
    v.own().ask_again();
    v.work();
    v.answer(question.id, "0");
    CHECK(v.cell(0, 0, 1, 2) != cell);
    v.visit.undo();
    v.work();
    CHECK(v.cell(0, 0, 1, 2) == cell);
    CHECK(to_fragment(v.state()) == link);
}
