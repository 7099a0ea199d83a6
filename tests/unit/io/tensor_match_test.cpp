#include "io/tensor_match.hpp"

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

using namespace attn;
using Catch::Matchers::ContainsSubstring;

namespace {

using Questions = std::vector<Question>;

FoundTensor tensor(const std::string& name, Shape shape, const std::string& file = "",
                   DType dtype = DType::f32) {
    FoundTensor t;
    t.name = name;
    t.file = file.empty() ? name + ".npy" : file;
    t.dtype = dtype;
    t.shape = std::move(shape);
    return t;
}

FoundTokens tokens(const std::string& file, std::size_t count) {
    return {file, std::vector<std::string>(count, file.substr(0, 1))};
}

Matched matched(const FoundFiles& found, const Answers& answers = {}) {
    auto result = match(found, answers);
    if (!result) INFO(result.error().message);
    REQUIRE(result);
    if (const auto* questions = std::get_if<Questions>(&*result)) INFO(questions->front().text);
    REQUIRE(std::holds_alternative<Matched>(*result));
    return std::get<Matched>(*std::move(result));
}

Questions asked(const FoundFiles& found, const Answers& answers = {}) {
    auto result = match(found, answers);
    if (!result) INFO(result.error().message);
    REQUIRE(result);
    REQUIRE(std::holds_alternative<Questions>(*result));
    return std::get<Questions>(*std::move(result));
}

std::string match_refusal(const FoundFiles& found, const Answers& answers = {}) {
    const auto result = match(found, answers);
    REQUIRE(!result);
    return result.error().message;
}

std::vector<std::string> texts(const Question& question) {
    std::vector<std::string> out;
    for (const Choice& c : question.choices) out.push_back(c.text);
    return out;
}

// [layers, heads, queries, keys]
Shape size_of(const Matched& m) { return {m.layers, m.heads, m.queries, m.keys}; }

}  // namespace

TEST_CASE("finished weights of every documented shape", "[tensor_match]") {
    struct Case {
        Shape file, size;
    };
    for (const auto& [file, size] : {
             Case{{5, 5}, {1, 1, 5, 5}},
             Case{{5, 9}, {1, 1, 5, 9}},
             Case{{12, 5, 5}, {1, 12, 5, 5}},
             Case{{12, 5, 9}, {1, 12, 5, 9}},
             Case{{5, 5, 5}, {1, 5, 5, 5}},
             Case{{6, 12, 5, 5}, {6, 12, 5, 5}},
             Case{{1, 12, 5, 5}, {1, 12, 5, 5}},
             Case{{6, 1, 12, 5, 9}, {6, 12, 5, 9}},
             Case{{1, 1, 1, 1, 1}, {1, 1, 1, 1}},
         }) {
        INFO(to_string(file));
        const Matched m = matched({{tensor("attentions", file)}, {}, {}});
        CHECK(size_of(m) == size);
        REQUIRE(m.weights.size() == 1);
        CHECK(!m.q);
        CHECK(m.notes.empty());
        const PlacedShape placed = placed_shape(file, m.weights[0]);
        CHECK(Shape{placed.layers, placed.heads, placed.rows, placed.columns} == size);
    }
}

TEST_CASE("a single tensor without a telling name can only be weights", "[tensor_match]") {
    CHECK(size_of(matched({{tensor("arr_0", {12, 5, 5})}, {}, {}})) == Shape{1, 12, 5, 5});
    // If it is not square, a question is asked.
    const FoundFiles found{{tensor("data", {5, 9})}, {}, {}};
    const Questions questions = asked(found);
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].id == "what");
    CHECK(questions[0].text == "The names do not say what these tensors are: what is to be shown?");
    CHECK(texts(questions[0]) == std::vector<std::string>{"attention weights: data.npy, 5×9"});
    CHECK(size_of(matched(found, {{"what", questions[0].choices[0].answer}})) == Shape{1, 1, 5, 9});
}

TEST_CASE("a tensor for each layer", "[tensor_match]") {
    FoundFiles found;
    for (const int i : {10, 2, 0, 11})
        found.tensors.push_back(
            tensor("attentions.arr_" + std::to_string(i), {1, 12, 5, 5}, "attentions.npz"));
    const Matched m = matched(found);
    CHECK(size_of(m) == Shape{4, 12, 5, 5});
    std::vector<std::size_t> order;
    for (const PlacedTensor& place : m.weights) order.push_back(place.tensor);
    CHECK(order == std::vector<std::size_t>{2, 1, 0, 3});  // sorted by number, not as text

    // Separate files work as well. A name that does not say "layer" leads to a question.
    const FoundFiles files{{tensor("layer_0_attn", {5, 5}), tensor("layer_1_attn", {5, 5})}, {}, {}};
    CHECK(size_of(matched(files)) == Shape{2, 1, 5, 5});
    const FoundFiles steps{{tensor("attn_step0", {5, 5}), tensor("attn_step1", {5, 5})}, {}, {}};
    const Questions questions = asked(steps);
    CHECK(texts(questions.at(0)) ==
          std::vector<std::string>{"2 layers of attention weights: attn_step0.npy, 5×5 to "
                                   "attn_step1.npy, 5×5",
                                   "attention weights: attn_step0.npy, 5×5",
                                   "attention weights: attn_step1.npy, 5×5"});
    CHECK(matched(steps, {{"what", questions[0].choices[0].answer}}).layers == 2);
    const Matched one = matched(steps, {{"what", questions[0].choices[2].answer}});
    CHECK(one.weights.at(0).tensor == 1);
    CHECK(one.notes == std::vector<std::string>{"Left out: attn_step0.npy, 5×5."});
}

TEST_CASE("weights of several texts, and heads as the last axis", "[tensor_match]") {
    const FoundFiles batch{{tensor("attentions", {6, 3, 12, 5, 5})}, {}, {}};
    const Questions questions = asked(batch);
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].text == "attentions.npy, 6×3×12×5×5: which of the 3 along its axis 1 is to be shown?");
    CHECK(texts(questions[0]) == std::vector<std::string>{"0", "1", "2"});
    const Matched m = matched(batch, {{questions[0].id, "2"}});
    CHECK(size_of(m) == Shape{6, 12, 5, 5});
    CHECK(m.weights[0].at == Shape{0, 2, 0, 0, 0});
    CHECK(asked(batch, {{questions[0].id, "3"}}).size() == 1);  // not a candidate: asked again

    FoundFiles last{{tensor("attn", {5, 5, 12})}, {}, {}};
    CHECK(texts(asked(last).at(0)) == std::vector<std::string>{"the first: 5 heads of 5 queries × 12 keys",
                                                               "the last: 12 heads of 5 queries × 5 keys"});
    CHECK(size_of(matched(last, {{"axes", "first"}})) == Shape{1, 5, 5, 12});
    CHECK(size_of(matched(last, {{"axes", "last"}})) == Shape{1, 12, 5, 5});
    last.tokens = {tokens("tokens.txt", 12)};  // decides it
    CHECK(size_of(matched(last)) == Shape{1, 5, 5, 12});
}

TEST_CASE("Q, K and V of every documented shape", "[tensor_match]") {
    struct Case {
        Shape q, k, size;
    };
    for (const auto& [q, k, size] : {
             Case{{5, 64}, {9, 64}, {1, 1, 5, 9}}, Case{{4, 5, 64}, {4, 9, 64}, {1, 4, 5, 9}},
             Case{{8, 9, 64}, {2, 9, 64}, {1, 8, 9, 9}}, Case{{1, 4, 5, 64}, {1, 4, 5, 64}, {1, 4, 5, 5}},
             Case{{1, 9, 64}, {1, 9, 64}, {1, 1, 9, 9}},
             Case{{9, 4, 64}, {7, 4, 64}, {1, 4, 9, 7}},  // heads second: 9 is not a multiple of 7
             Case{{4, 5, 64}, {5, 64}, {1, 4, 5, 5}},     // one key head for all
         }) {
        INFO(to_string(q) + " " + to_string(k));
        for (const bool with_v : {false, true}) {
            FoundFiles found{{tensor("q", q), tensor("k", k)}, {}, {}};
            if (with_v) found.tensors.push_back(tensor("v", k));
            const Matched m = matched(found);
            CHECK(size_of(m) == size);
            CHECK(m.weights.empty());
            REQUIRE((m.q && m.k));
            CHECK(m.q->tensor == 0);
            CHECK(m.k->tensor == 1);
            CHECK(m.v.has_value() == with_v);
        }
    }
}

TEST_CASE("the user is asked which axis the heads are if nothing tells", "[tensor_match]") {
    const FoundFiles found{{tensor("q", {12, 12, 64}), tensor("k", {12, 12, 64})}, {}, {}};
    const Questions questions = asked(found);
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].text == "q.npy, 12×12×64: which axis are the heads?");
    CHECK(texts(questions[0]) == std::vector<std::string>{"the first: 12 heads of 12 positions",
                                                          "the second: 12 heads of 12 positions"});
    CHECK(matched(found, {{"axes", "first"}}).q->head == 0);
    CHECK(matched(found, {{"axes", "second"}}).q->head == 1);

    // A tokens file or a mask decides it.
    FoundFiles short_text{{tensor("q", {12, 8, 64}), tensor("k", {12, 8, 64})}, {}, {}};
    CHECK(asked(short_text).size() == 1);
    short_text.tokens = {tokens("tokens.txt", 8)};
    CHECK(size_of(matched(short_text)) == Shape{1, 12, 8, 8});
    short_text.tokens = {tokens("tokens.txt", 12)};
    CHECK(size_of(matched(short_text)) == Shape{1, 8, 12, 12});
    short_text.tokens.clear();
    short_text.tensors.push_back(tensor("mask", {12, 12}, "", DType::boolean));
    CHECK(size_of(matched(short_text, {{"mask meaning", "hidden"}})) == Shape{1, 8, 12, 12});
    // Fewer heads than positions need no question.
    CHECK(size_of(matched({{tensor("q", {12, 100, 64}), tensor("k", {12, 100, 64})}, {}, {}})) ==
          Shape{1, 12, 100, 100});
}

TEST_CASE("layers of Q and K are all shown; the user is asked once which of a batch", "[tensor_match]") {
    const FoundFiles layers{{tensor("q", {6, 4, 9, 64}), tensor("k", {6, 2, 12, 64})}, {}, {}};
    CHECK(size_of(matched(layers)) == Shape{6, 4, 9, 12});
    CHECK(matched(layers).q->layer == 0);
    const FoundFiles second{{tensor("q", {6, 9, 4, 64}), tensor("k", {6, 7, 4, 64})}, {}, {}};
    CHECK(size_of(matched(second)) == Shape{6, 4, 9, 7});
    CHECK(size_of(matched({{tensor("q", {6, 1, 4, 9, 64}), tensor("k", {6, 1, 4, 9, 64})}, {}, {}})) ==
          Shape{6, 4, 9, 9});

    const FoundFiles found{{tensor("q", {6, 3, 4, 9, 64}), tensor("k", {6, 3, 4, 9, 64})}, {}, {}};
    const Questions questions = asked(found);
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].choices.size() == 3);
    const Matched m = matched(found, {{questions[0].id, "2"}});
    CHECK(m.q->at == Shape{0, 2, 0, 0, 0});
    CHECK(m.k->at == Shape{0, 2, 0, 0, 0});
    CHECK(m.layers == 6);

    for (const auto& [mask, layer] : {std::pair(Shape{6, 1, 9, 12}, 0), std::pair(Shape{4, 9, 12}, -1),
                                      std::pair(Shape{1, 1, 9, 12}, -1)}) {
        FoundFiles masked = layers;
        masked.tensors.push_back(tensor("mask", mask));
        CHECK(matched(masked, {{"mask meaning", "added"}}).mask->layer == layer);
    }
    CHECK_THAT(match_refusal({{tensor("q", {6, 4, 9, 64}), tensor("k", {4, 9, 64})}, {}, {}}),
               ContainsSubstring("Q and K need as many layers"));
    FoundFiles short_v = layers;
    short_v.tensors.push_back(tensor("v", {5, 2, 12, 64}));
    CHECK_THAT(match_refusal(short_v), ContainsSubstring("K and V need as many layers"));

    FoundFiles named;
    for (const std::string layer : {"layer0", "layer1"})
        for (const std::string part : {"q_proj", "k_proj", "v_proj", "mask"})
            named.tensors.push_back(
                tensor(layer + "." + part, part == "mask" ? Shape{9, 9} : Shape{4, 9, 64}, "run.npz"));
    const Questions which = asked(named);
    REQUIRE(which.size() == 1);
    CHECK(texts(which[0]) == std::vector<std::string>{"what Q and K of run.npz make: 'layer 0 proj'",
                                                      "what Q and K of run.npz make: 'layer 1 proj'"});
}

TEST_CASE("Q, K and weights together: the user chooses", "[tensor_match]") {
    const FoundFiles found{
        {tensor("q", {9, 64}, "r.npz"), tensor("k", {9, 64}, "r.npz"), tensor("weights", {9, 9}, "r.npz")},
        {},
        {}};
    const Questions questions = asked(found);
    CHECK(texts(questions.at(0)) ==
          std::vector<std::string>{"what Q and K make", "attention weights: 'weights' of r.npz, 9×9"});
    CHECK(matched(found, {{"what", "qkv"}}).q);
    CHECK(matched(found, {{"what", "weights:r.npz:weights"}}).notes ==
          std::vector<std::string>{"Left out: 'q' of r.npz, 9×64; 'k' of r.npz, 9×64."});
}

TEST_CASE("the user is asked about unnamed tensors one by one", "[tensor_match]") {
    FoundFiles found;
    for (const char* name : {"run.arr_0", "run.arr_1", "run.arr_2"})
        found.tensors.push_back(tensor(name, {4, 9, 64}, "run.npz"));
    const Questions what = asked(found);
    REQUIRE(what.size() == 1);
    CHECK(texts(what[0]) == std::vector<std::string>{"what Q and K make, which are among these"});
    Answers answers{{"what", "qkv"}};
    Questions each = asked(found, answers);
    REQUIRE(each.size() == 3);
    CHECK(each[0].id == "Q");
    CHECK(each[0].text == "Which of these is Q?");
    CHECK(texts(each[0]) == std::vector<std::string>{"'run.arr_0' of run.npz, 4×9×64",
                                                     "'run.arr_1' of run.npz, 4×9×64",
                                                     "'run.arr_2' of run.npz, 4×9×64"});
    CHECK(each[2].choices.back().text == "there is none");
    answers["Q"] = each[0].choices[1].answer;
    answers["K"] = each[0].choices[1].answer;  // already taken: asked again, without it
    each = asked(found, answers);
    CHECK(each.at(0).id == "K");
    CHECK(each[0].choices.size() == 2);
    answers["K"] = each[0].choices[0].answer;
    answers["V"] = "none";
    Matched m = matched(found, answers);
    CHECK(m.q->tensor == 1);
    CHECK(m.k->tensor == 0);
    CHECK(!m.v);
    answers["V"] = each[0].choices[1].answer;
    CHECK(matched(found, answers).v->tensor == 2);

    // A tensor that has a name leaves fewer to ask about.
    const FoundFiles partly{{tensor("query", {9, 64}), tensor("a", {9, 64}), tensor("b", {9, 64})}, {}, {}};
    const Questions rest = asked(partly);
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].id == "K");
}

TEST_CASE("masks", "[tensor_match]") {
    const auto with = [](std::vector<FoundTensor> masks) {
        FoundFiles found{{tensor("q", {4, 5, 64}), tensor("k", {4, 9, 64})}, {}, {}};
        for (FoundTensor& mask : masks) found.tensors.push_back(std::move(mask));
        return found;
    };
    const FoundFiles boolean = with({tensor("attn_mask", {5, 9}, "", DType::boolean)});
    const Questions questions = asked(boolean);
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].id == "mask meaning");
    CHECK(questions[0].text == "attn_mask.npy, 5×9: what do its numbers mean?");
    CHECK(texts(questions[0]) ==
          std::vector<std::string>{"1 (true) lets a query look at the key", "1 (true) hides the key"});
    const Matched m = matched(boolean, {{"mask meaning", "hidden"}});
    CHECK(m.mask_meaning == MaskMeaning::hidden);
    CHECK(m.mask->tensor == 2);
    CHECK(asked(with({tensor("mask", {5, 9})})).at(0).choices.size() == 3);
    CHECK(matched(with({tensor("mask", {5, 9})}), {{"mask meaning", "added"}}).mask_meaning ==
          MaskMeaning::added);

    for (const Shape& shape :
         {Shape{9}, Shape{1, 9}, Shape{5, 9}, Shape{1, 5, 9}, Shape{4, 1, 9}, Shape{1, 1, 5, 9}})
        CHECK(matched(with({tensor("mask", shape)}), {{"mask meaning", "allowed"}}).mask);
    for (const Shape& shape : {Shape{5}, Shape{9, 5}, Shape{3, 5, 9}})
        CHECK_THAT(match_refusal(with({tensor("mask", shape)})),
                   ContainsSubstring(
                       "this mask does not fit 5 queries × 9 keys of 4 heads; drop one that does, or none"));

    const FoundFiles two = with({tensor("src_mask", {9}), tensor("tgt_mask", {5, 9})});
    const Questions which = asked(two, {{"mask meaning", "allowed"}});
    CHECK(which.at(0).text == "Which of these is the mask?");
    CHECK(!matched(two, {{"mask", "none"}}).mask);
    // One of them has the group of Q.
    CHECK(matched(with({tensor("mask", {5, 9}), tensor("tgt_mask", {9})}), {{"mask meaning", "allowed"}})
              .mask->tensor == 2);
    // With finished weights, a mask has no use.
    CHECK(matched({{tensor("attn", {5, 5}), tensor("mask", {5, 5})}, {}, {}}).notes.size() == 1);
}

TEST_CASE("tokens", "[tensor_match]") {
    const auto with = [](Shape shape, std::vector<FoundTokens> files) {
        return FoundFiles{{tensor("attention", std::move(shape))}, std::move(files), {}};
    };
    const Matched both = matched(with({5, 5}, {tokens("tokens.json", 5)}));
    CHECK(both.query_tokens.size() == 5);
    CHECK(both.key_tokens.size() == 5);
    const Matched keys = matched(with({5, 9}, {tokens("tokens.json", 9)}));
    CHECK(keys.query_tokens.empty());
    CHECK(keys.key_tokens.size() == 9);
    CHECK(keys.notes.empty());
    const Matched cross = matched(with({5, 9}, {tokens("source.txt", 9), tokens("target.txt", 5)}));
    CHECK(cross.query_tokens.at(0) == "t");
    CHECK(cross.key_tokens.at(0) == "s");
    const Matched wrong = matched(with({5, 5}, {tokens("tokens.json", 7)}));
    CHECK(wrong.query_tokens.empty());
    CHECK(wrong.notes ==
          std::vector<std::string>{
              "tokens.json has 7 tokens where there are 5 queries and 5 keys; positions are shown "
              "instead."});
    const Matched named = matched(with({5, 5}, {tokens("key_tokens.txt", 5), tokens("query_tokens.txt", 5)}));
    CHECK(named.query_tokens.at(0) == "q");
    CHECK(named.key_tokens.at(0) == "k");
    const FoundFiles two = with({5, 5}, {tokens("a.txt", 5), tokens("b.txt", 5)});
    const Questions questions = asked(two);
    REQUIRE(questions.size() == 2);
    CHECK(questions[0].text == "Which file names the queries?");
    const Matched chosen = matched(two, {{"tokens of queries", "b.txt"}, {"tokens of keys", "b.txt"}});
    CHECK(chosen.query_tokens.at(0) == "b");
    CHECK(chosen.notes == std::vector<std::string>{"a.txt is left out."});

    FoundFiles table = with({2, 3}, {});
    table.tensors[0].row_labels = {"x", "y"};
    table.tensors[0].column_labels = {"a", "b", "c"};
    CHECK(matched(table).query_tokens == table.tensors[0].row_labels);
    CHECK(matched(table).key_tokens == table.tensors[0].column_labels);
}

TEST_CASE("tensors that do not fit are refused in one sentence", "[tensor_match]") {
    CHECK(match_refusal({}) ==
          "these files hold no matrix; drop Q and K, or attention weights, as .npy, .npz, .safetensors or "
          ".csv");
    CHECK(match_refusal({{tensor("attention", {5})}, {}, {}}).starts_with("these files hold no matrix"));
    CHECK(match_refusal({{tensor("attention", {5}), tensor("attn", {0, 5})}, {}, {}}) ==
          "'attn' is 0×5 and holds no numbers; none of its axes may be 0");
    CHECK(match_refusal({{tensor("h.0.q_proj.weight", {64, 64}, "model.safetensors")}, {}, {}}) ==
          "these are the weights of a model ('h.0.q_proj.weight'), not what a text makes of them; open the "
          "model with its config.json");
    CHECK(match_refusal({{tensor("q", {5, 64})}, {}, {}}) ==
          "K is missing: drop Q and K, or finished attention weights");
    CHECK(match_refusal({{tensor("k", {5, 64})}, {}, {}}) ==
          "Q is missing: drop Q and K, or finished attention weights");
    CHECK(match_refusal({{tensor("q", {5, 64}), tensor("k", {5, 32})}, {}, {}}) ==
          "these do not belong together: q.npy, 5×64, and k.npy, 5×32: a query and a key need as many "
          "components");
    CHECK_THAT(match_refusal({{tensor("q", {4, 50, 8}), tensor("k", {3, 40, 8})}, {}, {}}),
               ContainsSubstring("the heads of Q need to be a multiple of those of K"));
    CHECK_THAT(match_refusal({{tensor("q", {5, 8}), tensor("k", {6, 8}), tensor("v", {7, 8})}, {}, {}}),
               ContainsSubstring("every key needs a value"));
    CHECK_THAT(match_refusal({{tensor("q", {2, 5, 8}), tensor("k", {2, 5, 8}), tensor("v", {5, 8})}, {}, {}}),
               ContainsSubstring("K and V need as many heads"));
    CHECK_THAT(match_refusal({{tensor("attn", {2000, 2000, 12, 5, 5})}, {}, {}}),
               ContainsSubstring("too many axes"));
    FoundFiles many;
    for (int i = 0; i < 1025; ++i)
        many.tensors.push_back(tensor("attn" + std::to_string(i), {5, 5}, "a.npz"));
    CHECK_THAT(match_refusal(many), ContainsSubstring("1025 tensors; at most 1024"));
    many.tensors.pop_back();
    CHECK(matched(many).layers == 1024);
}

TEST_CASE("notes about reading are kept", "[tensor_match]") {
    CHECK(match_refusal({{tensor("q", {5, 64})}, {}, {"a note", "another"}}) ==
          "K is missing: drop Q and K, or finished attention weights (a note)");
    CHECK(matched({{tensor("attn", {5, 5})}, {}, {"a note"}}).notes == std::vector<std::string>{"a note"});
}

TEST_CASE("a placed view has the file's own elements", "[tensor_match]") {
    std::vector<float> values(2 * 3 * 4 * 5 * 6);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Shape shape{2, 3, 4, 5, 6};
    const ArrayView array{DType::f32, false, shape, row_major_strides(shape),
                          std::as_bytes(std::span(values))};
    PlacedTensor place = place_last_axes(0, shape, AxisOrder::heads_second);
    place.layer = 0;
    place.at[1] = 2;
    const ArrayView view = placed(array, place);
    CHECK(view.shape == Shape{2, 5, 4, 6});
    for (Index layer = 0; layer < 2; ++layer)
        for (Index head = 0; head < 5; ++head)
            for (Index row = 0; row < 4; ++row) {
                std::vector<float> out(6);
                read(view, view.offset(std::vector<Index>{layer, head, row}), view.strides[3], out);
                for (Index column = 0; column < 6; ++column)
                    CHECK(out[static_cast<std::size_t>(column)] ==
                          values[static_cast<std::size_t>((((layer * 3 + 2) * 4 + row) * 5 + head) * 6 +
                                                          column)]);
            }
}
