#include "analysis/attribution/score_sources.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "model/explain.hpp"
#include "model/head_projection.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"
#include "unit/analysis/replayed_stream.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> source_ids{3, 1, 4, 1, 5, 9, 2, 6};

double size_of(const ScoreSources& score) {
    double size = 1;
    for (std::size_t s = 0; s < score.query.size(); ++s)
        for (std::size_t t = 0; t < score.key.size(); ++t) size += std::abs(score.term(s, t));
    return size;
}

Vector written_in_all(const std::vector<Source>& sources) {
    Vector sum(sources.front().written.size());
    for (const Source& each : sources) add_to(sum, each.written);
    return sum;
}

// Returns q of one head, replayed in double from some sources; norms before and behind the projection are
// held.
Vector replayed_query(const Trace& trace, Index number, Index head, Index token, const Wanted& wanted) {
    const LayerAttention at = trace.attention(number);
    const Trace& run = at.queries;
    StreamPlace before{};
    for (const StreamPlace& place : stream_places(run)) {
        if (place.after != StreamPlace::After::embedding && place.after != StreamPlace::After::mlp &&
            attention_of(run.network(), place) == number)
            break;
        before = place;
    }
    Vector x = replayed_stream(run, before, token, wanted);
    if (at.half.attention_norm) x = frozen(*at.half.attention_norm, at.run.resid_pre, token, x);
    const auto width = static_cast<std::size_t>(at.record().d_k());
    const auto projected = [&](Index of, const Vector& from) {
        Vector out;
        for (std::size_t c = 0; c < width; ++c) {
            const QkvColumn column = qkv_column(*trace.model(), Stage::q, number, of, static_cast<Index>(c));
            double sum =
                column.linear->bias.size() > 0
                    ? static_cast<double>(column.linear->bias.values()[static_cast<std::size_t>(column.out)])
                    : 0;
            for (std::size_t i = 0; i < from.size(); ++i)
                sum += from[i] * element(column.linear->weight, static_cast<Index>(i), column.out);
            out.push_back(sum);
        }
        return out;
    };
    Vector q = projected(head, x);
    if (const auto& norm = at.half.q_norm) {
        const Index together = norm->gain.size() / at.record().d_k(), first = together == 1 ? head : 0;
        const float* input = at.run.attention_input.matrix().row(token);
        const Vector whole_input(input, input + at.run.attention_input.dim(1));
        Vector whole, some;
        for (Index of = first; of < first + together; ++of) {
            const Vector all = projected(of, whole_input), part = projected(of, x);
            whole.insert(whole.end(), all.begin(), all.end());
            some.insert(some.end(), part.begin(), part.end());
        }
        Tensor statistics({1, std::ssize(whole)});
        std::ranges::transform(whole, statistics.data(),
                               [](double each) { return static_cast<float>(each); });
        const Vector normalised = frozen(*norm, statistics, 0, some);
        const auto begin = normalised.begin() + (together == 1 ? 0 : head * at.record().d_k());
        q.assign(begin, begin + at.record().d_k());
    }
    const Vector unturned = q;
    for (std::size_t c = 0; c < width; ++c) {
        const VectorComponent turn =
            explain_component(trace, Stage::q, number, head, token, static_cast<Index>(c));
        if (turn.partner_component >= 0)
            q[c] = unturned[c] * turn.cosine +
                   unturned[static_cast<std::size_t>(turn.partner_component)] * turn.sine;
    }
    return q;
}

}  // namespace

TEST_CASE("the terms of a score add up to it, in every family, head and attention", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), source_ids);
        for (Index number = 0; number < trace->attentions(); ++number) {
            const Record& record = trace->attention(number).record();
            for (Index head = 0; head < record.heads(); ++head)
                for (const auto& [query, key] : {std::pair<Index, Index>{7, 2}, {5, 5}, {3, 6}, {0, 0}}) {
                    if (query >= record.queries() || key >= record.keys()) continue;
                    CAPTURE(number, head, query, key);
                    const auto score = score_sources(*trace, number, head, query, key);
                    REQUIRE(score);
                    // Each source is a sum of products in f32, as the run's own q and k are.
                    CHECK(std::abs(score->error()) < 4e-6 * size_of(*score));
                    const float* q = record.q().heads().head(head).row(query);
                    const float* k = record.k().heads().head(record.kv_head(head)).row(key);
                    const Vector q_sum = written_in_all(score->query), k_sum = written_in_all(score->key);
                    for (std::size_t c = 0; c < q_sum.size(); ++c) {
                        CHECK(std::abs(q_sum[c] - static_cast<double>(q[c])) < 1e-4);
                        CHECK(std::abs(k_sum[c] - static_cast<double>(k[c])) < 1e-4);
                    }
                }
        }
    }
}

TEST_CASE("each source of a query is what its absence removes while the norms are held", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), source_ids);
        for (Index number = 0; number < trace->attentions(); ++number) {
            const Index token = 5, head = trace->attention(number).record().heads() - 1;
            if (token >= trace->attention(number).record().queries()) continue;
            const auto all = [](SourcePart, Index, Index) { return true; };
            const Vector whole = replayed_query(*trace, number, head, token, all);
            double size = 1;
            for (const double each : whole) size += std::abs(each);
            for (const Source& source : vector_sources(*trace, Stage::q, number, head, token)) {
                const bool is_left_out = source.part == SourcePart::head || source.part == SourcePart::mlp ||
                                         source.part <= SourcePart::segment_embedding;
                if (!is_left_out) continue;
                CAPTURE(number, static_cast<int>(source.part), source.number, source.head);
                const Vector without =
                    replayed_query(*trace, number, head, token, [&](SourcePart part, Index of, Index other) {
                        return part != source.part || of != source.number || other != source.head;
                    });
                for (std::size_t c = 0; c < whole.size(); ++c)
                    CHECK(std::abs(whole[c] - without[c] - source.written[c]) < 1e-5 * size);
            }
        }
    }
}

TEST_CASE("the terms add up under interventions at every site", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), source_ids);
        std::size_t count = 0;
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (int at = 0; at < site_count; ++at) {
                const auto site = static_cast<Site>(at);
                if (site == Site::score || site == Site::mask || (sanitized && count++ % 5 != 0)) continue;
                Intervention each{.attention = attention,
                                  .site = site,
                                  .edit = {.rows = {2, 7}, .operation = Operation::scale, .values = {-0.5f}}};
                if (is_of_heads(site)) each.edit.head = 0;
                auto forward = ForwardPass::start_with({each}, trace);
                REQUIRE(forward);
                const auto changed = *forward->finish();
                CAPTURE(attention, info(site).key);
                for (Index number = 0; number < changed->attentions(); ++number) {
                    const Record& record = changed->attention(number).record();
                    if (record.queries() <= 7 || record.keys() <= 2) continue;
                    const auto score = score_sources(*changed, number, 0, 7, 2);
                    REQUIRE(score);
                    CHECK(std::abs(score->error()) < 4e-6 * size_of(*score));
                }
            }
    }
}

TEST_CASE("an opened head is the sum of its tokens, and each token of its own sources, to any depth",
          "[analysis]") {
    const auto check = [](const Vector& sum, const Vector& whole, double size) {
        REQUIRE(sum.size() == whole.size());
        for (std::size_t c = 0; c < sum.size(); ++c) CHECK(std::abs(sum[c] - whole[c]) < 1e-5 * size);
    };
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), source_ids);
        const Index last = trace->attentions() - 1, row = 6;
        const LayerAttention at = trace->attention(last);
        const Trace& run = at.queries;
        const StreamPlace end = stream_places(run).back();
        const auto all = residual_sources(run, end, row);
        for (const Source& source : all) {
            if (source.part != SourcePart::head) continue;
            CAPTURE(source.number, source.head);
            double size = 1;
            for (const double each : source.written) size += std::abs(each);
            const std::array path{OpenedHead{source.number, source.head}};
            const auto parts = opened_sources(run, end, row, path);
            check(total_of(parts), source.written, size);
            for (const Source& token : parts) {
                const std::array deeper{OpenedHead{source.number, source.head, token.token}};
                const auto own = opened_sources(run, end, row, deeper);
                check(total_of(own), token.written, size);
                for (const Source& head : own) {
                    if (head.part != SourcePart::head) continue;
                    const std::array deepest{deeper.front(), OpenedHead{head.number, head.head}};
                    check(total_of(opened_sources(run, end, row, deepest)), head.written, size);
                }
            }
        }
        // The parts of a head in q add up to its own.
        for (const Source& source : vector_sources(*trace, Stage::q, last, 1, row)) {
            if (source.part != SourcePart::head) continue;
            const std::array path{OpenedHead{source.number, source.head}};
            check(total_of(vector_sources(*trace, Stage::q, last, 1, row, path)), source.written, 4);
        }
    }
}

TEST_CASE("without a source, live norms are taken of what is left", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), source_ids);
        const Index last = trace->attentions() - 1;
        const auto score = score_sources(*trace, last, 0, 6, 4);
        REQUIRE(score);
        const Source nothing{.part = SourcePart::change, .number = 99};
        CHECK(std::abs(score_without(*trace, last, 0, 6, 4, Stage::q, nothing) - score->score) <
              4e-6 * size_of(*score));
        const LayerAttention at = trace->attention(last);
        const bool is_plain_stream = !after_attention(at.half).post_residual_norm &&
                                     !after_attention(at.half).post_sublayer_norm && !at.half.q_norm &&
                                     !at.queries.network().embedding_norm && &at.keys == &at.queries;
        if (!is_plain_stream || !at.half.attention_norm) continue;
        for (const Source& source : residual_sources(
                 at.queries, {StreamPlace::After::mlp, std::ssize(at.queries.network().blocks) - 2}, 6)) {
            if (source.part != SourcePart::head && source.part != SourcePart::mlp) continue;
            // The stream before the last attention, less the source, normalised as any row is.
            const float* stream = at.run.resid_pre.matrix().row(6);
            Tensor left({1, at.run.resid_pre.dim(1)}), read(left.shape());
            for (std::size_t i = 0; i < source.written.size(); ++i)
                left.data()[i] = static_cast<float>(static_cast<double>(stream[i]) - source.written[i]);
            normalise(trace->kernels(), *at.half.attention_norm, left.matrix(), read.matrix());
            const Tensor unturned =
                rows_pre_rope(trace->kernels(), *trace->model(), Stage::q, last, 0, read.matrix());
            Vector q;
            for (Index c = 0; c < at.record().d_k(); ++c) {
                const VectorComponent turn = explain_component(*trace, Stage::q, last, 0, 6, c);
                const double own = static_cast<double>(unturned.data()[c]),
                             partner = turn.partner_component < 0
                                           ? 0
                                           : static_cast<double>(unturned.data()[turn.partner_component]);
                q.push_back(own * turn.cosine + partner * turn.sine);
            }
            const float* k = at.record().k().heads().head(at.record().kv_head(0)).row(4);
            double expected = 0;
            for (std::size_t c = 0; c < q.size(); ++c) expected += q[c] * static_cast<double>(k[c]);
            expected *= at.record().scale();
            CAPTURE(static_cast<int>(source.part), source.number, source.head);
            CHECK(std::abs(score_without(*trace, last, 0, 6, 4, Stage::q, source) - expected) <
                  1e-5 * size_of(*score));
        }
    }
}

TEST_CASE("a source decides a row by its share of the variance of the scores", "[analysis]") {
    const Source head{.part = SourcePart::head, .number = 1, .head = 3}, mlp{.part = SourcePart::mlp};
    const auto with = [](Source source, double value) {
        source.written = {value, 0};
        return source;
    };
    const std::vector<std::vector<Source>> keys{
        {with(head, 1), with(mlp, 5)}, {with(head, 2), with(mlp, 5)}, {with(head, 6), with(mlp, 5)}};
    const auto deciding = deciding_sources(row_terms(std::array{2.0, 7.0}, keys));
    REQUIRE(deciding.size() == 2);
    CHECK(deciding[0].source.is(head));
    CHECK(deciding[0].share == Catch::Approx(1));
    CHECK(deciding[1].share == Catch::Approx(0).margin(1e-12));
    CHECK(deciding_sources(row_terms(std::array{0.0, 1.0}, keys)).empty());
    const auto trace = *run_text(small_model(small_families.front()), source_ids);
    std::vector<std::vector<Source>> row;
    for (Index key = 0; key <= 7; ++key) row.push_back(vector_sources(*trace, Stage::k, 1, 0, key));
    double sum = 0;
    for (const DecidingSource& each :
         deciding_sources(row_terms(total_of(vector_sources(*trace, Stage::q, 1, 0, 7)), row)))
        sum += each.share;
    CHECK(sum == Catch::Approx(1).epsilon(1e-9));
}

TEST_CASE("an impossible place of a score is refused by name", "[analysis]") {
    const auto trace = *run_text(small_model(small_families.front()), source_ids);
    CHECK(score_sources(*trace, 9, 0, 0, 0).error().message == "There is no attention 9 among 2.");
    CHECK(score_sources(*trace, 0, 5, 0, 0).error().message == "There is no head 5 among 2.");
    CHECK(score_sources(*trace, 0, 0, 8, 0).error().message == "There is no query 8 among 8.");
    CHECK(score_sources(*trace, 0, 0, 0, -1).error().message == "There is no key -1 among 8.");
}
