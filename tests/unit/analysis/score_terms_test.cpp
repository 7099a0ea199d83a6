// Tests the terms of scores and of their differences, sources that are taken out, and what decides between
// the keys of rows and texts.
#include "analysis/attribution/score_terms.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/attribution/opened_term.hpp"
#include "analysis/attribution/row_sources.hpp"
#include "attention/explain.hpp"
#include "model/explain.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::shared_ptr<const Trace> run_of(const SmallFamily& family, std::vector<std::int32_t> ids) {
    return *run_text(small_model(family), ids);
}

ScoreTerms terms_of(const ScorePlace& place, std::optional<ScorePlace> against = {}) {
    ScoreTerms terms(place, std::move(against));
    while (terms.step()) continue;
    REQUIRE(terms.done());
    return terms;
}

double sum_of(const ScoreTerms& terms) {
    double sum = 0;
    for (Index s = 0; s < terms.all(ScoreSide::query); ++s)
        for (Index t = 0; t < terms.all(ScoreSide::key); ++t) sum += terms.term(s, t);
    return sum;
}

template <class Job>
Job run_whole(Job job) {
    while (job.step()) continue;
    REQUIRE(job.done());
    CHECK(job.progress() == 1);
    return job;
}

const std::vector<std::int32_t> terms_ids{3, 1, 4, 1, 5, 9}, other_ids{3, 2, 4, 1, 5, 7};

}  // namespace

TEST_CASE("the terms of a score add up to it, those of a difference to the difference", "[analysis]") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto trace = run_of(family, terms_ids), other = run_of(family, other_ids);
        const ScorePlace here{trace, 1, 1, 4, 2}, key{trace, 1, 1, 4, 1}, text{other, 1, 1, 5, 1};
        const ScoreTerms score = terms_of(here);
        CHECK(score.total() == Catch::Approx(here.score()).margin(1e-4));
        CHECK(sum_of(score) == Catch::Approx(score.total()).margin(1e-8));
        CHECK(score.sum() == Catch::Approx(score.total()).margin(1e-12));
        // What is shown, the others and the totals of both sides.
        double shown = score.total(ScoreSide::query, score.others(ScoreSide::query));
        for (const Index each : score.shown(ScoreSide::query)) shown += score.total(ScoreSide::query, each);
        CHECK(shown == Catch::Approx(score.total()).margin(1e-8));
        CHECK(std::ssize(score.shown(ScoreSide::key)) <= ScoreTerms::most_shown);
        for (std::size_t i = 1; i < score.listed().size(); ++i)
            CHECK(std::abs(score.listed()[i].value) <= std::abs(score.listed()[i - 1].value));
        for (const ScorePlace& against : {key, text}) {
            const ScoreTerms difference = terms_of(here, against);
            CHECK(difference.total() == Catch::Approx(here.score() - against.score()).margin(2e-4));
            CHECK(sum_of(difference) == Catch::Approx(difference.total()).margin(1e-8));
            CHECK(difference.sum() == Catch::Approx(score.sum()).margin(1e-8));
        }
    }
}

TEST_CASE("without a source, a score loses its term while norms are held", "[analysis]") {
    for (const char* name : {"gpt2", "qwen3", "gemma2", "falcon", "bert"}) {
        CAPTURE(name);
        const auto family = std::ranges::find(small_families, std::string_view(name), &SmallFamily::name);
        const ScorePlace at{run_of(*family, terms_ids), 1, 0, 5, 2};
        const ScoreTerms terms = terms_of(at);
        for (const ScoreSide side : {ScoreSide::query, ScoreSide::key}) {
            const auto head = terms.strongest_head(side);
            REQUIRE(head);
            const WithoutSource without(terms, side, *head);
            CHECK(without.score(0) == Catch::Approx(terms.total()).margin(1e-8));
            CHECK(without.score(1) == Catch::Approx(terms.total() - terms.total(side, *head)).margin(1e-8));
            CHECK(without.score(2) ==
                  Catch::Approx(score_without(*at.trace, 1, 0, 5, 2, stage_of(side),
                                              terms.sources(side)[static_cast<std::size_t>(*head)]))
                      .margin(1e-8));
            // With the source, the row is that of the run.
            CHECK(without.weight(0, 2) == Catch::Approx(at.weight()).margin(1e-5));
            const RowChain chain = row_chain(at.record(), 0, 5);
            for (Index key = 0; key < 6; ++key)
                CHECK(without.rows[0][static_cast<std::size_t>(key)] ==
                      Catch::Approx(chain.at(key).masked).margin(1e-4));
            double weights = 0;
            for (Index key = 0; key < 6; ++key) weights += without.weight(2, key);
            CHECK(weights == Catch::Approx(1));
        }
    }
}

TEST_CASE("an opened term is the sum of its parts, and a difference opens on both sides", "[analysis]") {
    for (const char* name : {"gpt2", "llama", "qwen3", "gemma2", "falcon", "bert", "olmo2"}) {
        CAPTURE(name);
        const auto family = std::ranges::find(small_families, std::string_view(name), &SmallFamily::name);
        REQUIRE(family != small_families.end());
        const auto trace = run_of(*family, terms_ids),
                   other = *run_text(trace->model(), {3, 2, 4, 7, 1, 5, 7});
        const Intervention off{.attention = 0, .site = Site::head_output, .edit = {.head = 0}};
        auto pass = ForwardPass::start_with({off}, trace);
        REQUIRE(pass);
        const auto changed = *pass->finish();
        const Intervention more{.attention = 0,
                                .site = Site::head_output,
                                .edit = {.operation = Operation::add, .values = {0.5f}}};
        pass = ForwardPass::start_with({more}, trace);
        REQUIRE(pass);
        const auto moved = *pass->finish();
        const OtherToken same = [](Index, Index token) { return std::optional(token); };
        // The second text has 7 more at 3, and no token stands for the last but one.
        const OtherToken paired = [](Index, Index token) {
            return token == 4 ? std::nullopt : std::optional(token < 3 ? token : token + 1);
        };
        const ScorePlace here{trace, 1, 1, 5, 2};
        const std::vector<std::tuple<std::optional<ScorePlace>, OtherToken>> contrasts{
            {std::nullopt, same},
            {ScorePlace{trace, 1, 1, 5, 4}, same},
            {ScorePlace{changed, 1, 1, 5, 2}, same},
            {ScorePlace{moved, 1, 1, 5, 2}, same},
            {ScorePlace{other, 1, 1, 6, 2}, paired}};
        for (const auto& [against, token_there] : contrasts)
            for (const ScoreSide side : {ScoreSide::query, ScoreSide::key})
                for (const std::optional<Index> with : {std::optional<Index>(), std::optional<Index>(1)}) {
                    CAPTURE(static_cast<int>(side), with.has_value());
                    const ScoreTerms terms = terms_of(here, against);
                    const Index first = *terms.strongest_head(side);
                    const Source& source = terms.sources(side)[static_cast<std::size_t>(first)];
                    std::vector<OpenedHead> path{{source.number, source.head, {}}};
                    const OpenedTerm opened(terms, side, path, with, token_there);
                    if (!with) CHECK(opened.whole() == Catch::Approx(terms.total(side, first)));
                    const auto sum = [](const OpenedTerm& of) {
                        double total = 0;
                        for (const OpenedTerm::Part& part : of.parts()) total += of.value(part);
                        return total;
                    };
                    CHECK(sum(opened) == Catch::Approx(opened.whole()).margin(1e-5));
                    const bool has_alone =
                        std::ranges::any_of(opened.parts(), &OpenedTerm::Part::is_of_other_run);
                    if (against && against->trace == other && side == ScoreSide::query) CHECK(has_alone);
                    if (!against || against->trace != other) CHECK_FALSE(has_alone);
                    for (const OpenedTerm::Part& part : opened.parts()) {
                        if (part.source.token < 0) continue;
                        path.back().token = part.source.token;
                        REQUIRE(existing_path(terms, side, path, token_there) == path);
                        const OpenedTerm token(terms, side, path, with, token_there);
                        CHECK(sum(token) == Catch::Approx(opened.value(part)).margin(1e-5));
                    }
                }
    }
}

TEST_CASE("changes stay while another source is taken out, and go together when they are", "[analysis]") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto trace = run_of(family, terms_ids);
        const Intervention added{
            .attention = 1,
            .site = Site::resid_pre,
            .edit = {.columns = {0, 3, 5}, .operation = Operation::add, .values = {0.7f}}};
        auto pass = ForwardPass::start_with({added}, trace);
        REQUIRE(pass);
        const auto changed = *pass->finish();
        for (const Stage side : {Stage::q, Stage::k}) {
            const auto close = [&](const std::vector<double>& a, const std::vector<double>& b) {
                REQUIRE(a.size() == b.size());
                for (std::size_t i = 0; i < a.size(); ++i)
                    CHECK(std::abs(a[i] - b[i]) < 1e-5 * (1 + std::abs(b[i])));
            };
            const auto whole = [&](const auto& of) { return total_of(vector_sources(*of, side, 1, 1, 3)); };
            close(vector_without(*changed, side, 1, 1, 3, {.part = SourcePart::head, .number = 99}),
                  whole(changed));
            close(vector_without(*changed, side, 1, 1, 3, {.part = SourcePart::change}), whole(trace));
        }
    }
}

TEST_CASE("without its biases, a query is what all other sources make of it", "[analysis]") {
    const auto family = std::ranges::find(small_families, std::string_view("gpt2"), &SmallFamily::name);
    const auto trace = run_of(*family, terms_ids);
    const LayerAttention at = trace->attention(1);
    std::vector<double> x(static_cast<std::size_t>(at.run.resid_pre.dim(1)));
    for (const Source& each : residual_sources(*trace, {StreamPlace::After::mlp, 0}, 4))
        if (!each.is_bias())
            for (std::size_t i = 0; i < x.size(); ++i) x[i] += each.written[i];
    const Norm& norm = *at.half.attention_norm;
    const auto n = static_cast<double>(x.size());
    double mean = 0, squares = 0;
    for (const double each : x) mean += each / n;
    for (const double each : x) squares += (each - mean) * (each - mean) / n;
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(norm.gain.values()[i]) * (x[i] - mean) / std::sqrt(squares + norm.epsilon);
    const std::vector<double> q =
        vector_without(*trace, Stage::q, 1, 1, 4, {.part = SourcePart::projection_bias});
    for (std::size_t a = 0; a < q.size(); ++a) {
        const QkvColumn column = qkv_column(*trace->model(), Stage::q, 1, 1, static_cast<Index>(a));
        double expected = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            expected += x[i] * element(column.linear->weight, static_cast<Index>(i), column.out);
        CHECK(q[a] == Catch::Approx(expected).margin(1e-5));
    }
}

TEST_CASE("a path ends where it leaves what a run has", "[analysis]") {
    const ScorePlace at{run_of(small_families.front(), terms_ids), 1, 0, 5, 2};
    const ScoreTerms terms = terms_of(at);
    const auto existing = [&](const std::vector<OpenedHead>& path) {
        return existing_path(terms, ScoreSide::query, path);
    };
    using Path = std::vector<OpenedHead>;
    CHECK(existing({{0, 1, 3}}) == Path{{0, 1, 3}});
    CHECK(existing({{0, 1, 77}}) == Path{{0, 1, {}}});
    CHECK(existing({{0, 9, {}}}).empty());
    CHECK(existing({{1, 0, {}}}).empty());
    // Nothing writes into the stream before the first attention.
    CHECK(existing({{0, 1, 3}, {0, 0, {}}}) == Path{{0, 1, 3}});
    CHECK(is_read_by_keys_of(*at.trace, 1, 0));
    CHECK_FALSE(is_read_by_keys_of(*at.trace, 0, 1));
}

TEST_CASE("the shares of what decides a row and many texts add up to 1", "[analysis]") {
    for (const char* name : {"gpt2", "llama", "bert"}) {
        CAPTURE(name);
        const auto family = std::ranges::find(small_families, std::string_view(name), &SmallFamily::name);
        const auto trace = run_of(*family, terms_ids), other = run_of(*family, other_ids),
                   single = run_of(*family, {4});
        const RowSources row = run_whole(RowSources({trace, 1, 1, 4, -1}));
        CHECK(std::ssize(row.keys()) == (family->causal ? 5 : 6));
        double sum = 0;
        for (const DecidingSource& each : row.deciding()) sum += each.share;
        CHECK(sum == Catch::Approx(1));
        for (std::size_t i = 0; i < row.keys().size(); ++i)
            CHECK(row.terms().scores[i] ==
                  Catch::Approx(ScorePlace{trace, 1, 1, 4, row.keys()[i]}.score()).margin(1e-4));
        // A text of one token has rows of one key, which cannot vary.
        const TextSources texts = run_whole(TextSources({trace, single, other}, 1, 1));
        CHECK(texts.counted() == std::vector<Index>{0, 2});
        double means = 0;
        std::vector<double> of_texts(2);
        for (const TextSources::Mean& each : texts.means()) {
            means += each.share;
            REQUIRE(each.of_texts.size() == 2);
            for (std::size_t i = 0; i < 2; ++i) of_texts[i] += each.of_texts[i];
            CHECK(each.share == Catch::Approx((each.of_texts[0] + each.of_texts[1]) / 2).margin(1e-12));
        }
        CHECK(means == Catch::Approx(1));
        CHECK(of_texts[0] == Catch::Approx(1));
        CHECK(of_texts[1] == Catch::Approx(1));
        CHECK(texts.means().front().share >= texts.means().back().share);
    }
    CHECK(run_whole(TextSources({}, 0, 0)).means().empty());
}
