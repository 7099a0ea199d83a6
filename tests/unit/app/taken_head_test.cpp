// Checks that a run's head copied into the worked example has exactly the same numbers and can be edited
// there.
#include <algorithm>
#include <cmath>

#include "app/link.hpp"
#include "subjects/head_copy.hpp"
#include "support/numbers.hpp"
#include "support/windowed_run.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::vector<std::string> pieces{"The", " cat", ",", " sat", "\\", " on", "", " mats"};

std::vector<std::string> numbered(Index count) {
    std::vector<std::string> names;
    for (Index i = 0; i < count; ++i) names.push_back("t" + std::to_string(i));
    return names;
}

State taken(const HeadCopy& copy) {
    const State s = after(default_state(), TakeHead{copy});
    check_valid(s);
    CHECK(s.subject == worked_subject);
    CHECK(s.lens == usual_lens(s));
    CHECK(worked_of(s).source == Source::qkv);
    CHECK(worked_of(s).origin == Origin{.kind = Origin::Kind::taken, .from = copy.from});
    const ParsedFragment again = parse_fragment(to_fragment(s));
    CHECK(again.note == "");
    CHECK(again.state == s);
    return s;
}

// Checks that each value is the f32 of the tensor, widened to double.
void check_rows(const Matrix& found, const Tensor& tensor, Index head, Range rows) {
    const ConstMatrix expected = tensor.heads().head(head);
    REQUIRE(found.rows == rows.size());
    REQUIRE(found.cols == expected.cols);
    Index wrong = 0;
    for (Index r = 0; r < found.rows; ++r)
        for (Index c = 0; c < found.cols; ++c)
            wrong += found.at(r, c) != static_cast<double>(expected(rows.begin + r, c));
    CHECK(wrong == 0);
}

void check_vectors(const WorkedState& worked, const Record& record, Index head, Range queries, Range keys) {
    check_rows(worked.q, record.q(), head, queries);
    check_rows(worked.k, record.k(), record.kv_head(head), keys);
    check_rows(worked.v, record.v(), record.kv_head(head), keys);
}

// Compares the window's weights with the softmax, in double, of the record's scores there.
double largest_difference(const WorkedState& worked, const Record& record, Index head, Range queries,
                          Range keys) {
    std::vector<float> scores(static_cast<std::size_t>(queries.size() * keys.size()));
    record.stage(Stage::masked, head, queries, keys, scores);
    const std::vector<double> found = weights(worked);
    double most = 0;
    for (Index i = 0; i < queries.size(); ++i) {
        const auto at = [&](Index j) { return static_cast<std::size_t>(i * keys.size() + j); };
        double sum = 0;
        for (Index j = 0; j < keys.size(); ++j) sum += std::exp(static_cast<double>(scores[at(j)]));
        for (Index j = 0; j < keys.size(); ++j) {
            const double e = std::exp(static_cast<double>(scores[at(j)]));
            most = std::max(most, std::abs(found[at(j)] - (sum > 0 ? e / sum : 0)));
        }
    }
    return most;
}

}  // namespace

TEST_CASE("a head copied whole is the same to the last bit") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    visit.perform(OpenSubject{sentence_subject});
    visit.text_typed(Box::first, "x");
    visit.tokens({Box::first, "x", {3, 1, 4, 1, 5, 9, 2, 6}, pieces, 8});
    finish(visit);
    visit.perform(Select{{1, 2, 4, {}}});
    const State before = visit.state();
    const Record& record = sentence_in(visit).run()->record_at(1);
    const HeadCopy copy = copy_of(record, 2, {0, 8}, {0, 8}, pieces, pieces, "layer 1, head 2 of tiny");
    visit.perform(worked_in(visit).take_over(copy));
    CHECK(visit.last_edit() == "took layer 1, head 2 of tiny");
    CHECK(visit.state().subject == worked_subject);
    CHECK(parse_fragment(page.url).state == visit.state());
    const WorkedState& worked = worked_of(visit.state());
    CHECK(worked == worked_of(taken(copy)));
    CHECK(worked.query_labels == pieces);
    CHECK(worked.key_labels == pieces);
    CHECK(worked.scale_by_sqrt_d);
    check_vectors(worked, record, 2, {0, 8}, {0, 8});
    const std::vector<double> found = weights(worked);
    for (Index q = 0; q < 8; ++q) {
        const std::vector<float> row = record.weights(2, q);
        for (Index k = 0; k < 8; ++k)
            CHECK(found[static_cast<std::size_t>(q * 8 + k)] ==
                  static_cast<double>(row[static_cast<std::size_t>(k)]));
    }
    const auto run = run_worked(worked);
    REQUIRE(run);
    check_rows(run->matrix(worked, Stage::output), record.output(), 2, {0, 8});

    visit.undo();
    CHECK(visit.state() == before);
    // After that it behaves like any other example.
    visit.redo();
    visit.perform(SetCell{{Stage::k, 1, 0}, 3});
    CHECK(worked_of(visit.state()).k.at(1, 0) == 3);
    CHECK(worked_of(visit.state()).origin.from == "layer 1, head 2 of tiny");
}

TEST_CASE("some tokens of a head attend to one another according to its scores and its mask") {
    // Several heads share K and V, and a query sees four keys.
    const auto trace = windowed_run();
    const Record& record = trace->layers()[1].attention;
    REQUIRE(record.kv_heads() < record.heads());
    const auto names = numbered(300);
    const Index head = record.heads() - 1;
    for (const auto& [queries, keys] :
         {std::pair<Range, Range>({100, 140}, {100, 140}), {{50, 53}, {47, 53}}, {{10, 12}, {200, 264}}}) {
        const HeadCopy copy = copy_of(record, head, queries, keys, names, names, "layer 1, last head");
        const WorkedState worked = worked_of(taken(copy));
        CHECK(worked.query_labels.front() == names[static_cast<std::size_t>(queries.begin)]);
        CHECK(worked.key_labels.back() == names[static_cast<std::size_t>(keys.end - 1)]);
        check_vectors(worked, record, head, queries, keys);
        // The bound allows a few f32 roundings of 6e-8.
        CHECK(largest_difference(worked, record, head, queries, keys) < 1e-6);
    }
}

TEST_CASE("a custom scale and a soft cap are copied, too") {
    AttentionSpec spec;
    spec.scale = 0.25f;
    spec.softcap = 1.5f;
    const auto record = Record::run(random_tensor({2, 5, 3}, 1), random_tensor({2, 6, 3}, 2),
                                    random_tensor({2, 6, 4}, 3), spec);
    REQUIRE(record);
    const HeadCopy copy = copy_of(*record, 1, {0, 5}, {0, 6}, numbered(5), numbered(6), "head 1");
    const WorkedState worked = worked_of(taken(copy));
    CHECK_FALSE(worked.scale_by_sqrt_d);
    CHECK(worked.temperature == 4);
    CHECK(worked.softcap == 1.5);
    CHECK(worked.mask == WorkedMask{});
    check_vectors(worked, *record, 1, {0, 5}, {0, 6});
    CHECK(largest_difference(worked, *record, 1, {0, 5}, {0, 6}) < 1e-6);
}

TEST_CASE("a head larger than an example can hold is refused") {
    HeadCopy copy{.q = Matrix(65, 2),
                  .k = Matrix(3, 2),
                  .v = Matrix(3, 2),
                  .query_labels = numbered(65),
                  .key_labels = numbered(3),
                  .from = "head 0"};
    CHECK(refusal(default_state(), TakeHead{copy}) ==
          "The worked example holds up to 64 tokens and components. Choose fewer tokens.");
    copy.q = Matrix(3, 1);
    copy.query_labels = numbered(3);
    CHECK_THAT(refusal(default_state(), TakeHead{copy}),
               Catch::Matchers::StartsWith("This head cannot be edited here: "));
}
