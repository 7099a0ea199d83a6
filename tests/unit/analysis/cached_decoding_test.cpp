#include "analysis/cached_decoding.hpp"

#include <cmath>

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::int32_t> decoded_ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
constexpr double decoding_in_one_go = std::numeric_limits<double>::infinity();

CachedDecoding decoded(const std::shared_ptr<const Trace>& trace, Index prompt, const CacheRule& rule,
                       double slice_operations = decoding_in_one_go) {
    auto decoding = CachedDecoding::start(trace, prompt, rule, slice_operations);
    INFO((decoding ? "" : decoding.error().message));
    REQUIRE(decoding);
    float progress = 0;
    while (decoding->step()) {
        CHECK(decoding->progress() >= progress);
        progress = decoding->progress();
    }
    CHECK(decoding->done());
    CHECK(decoding->progress() == 1);
    return *std::move(decoding);
}

std::vector<double> chances(const Trace& trace, Index row) {
    const Tensor logits = trace.logits({row, row + 1});
    std::vector<double> all;
    double sum = 0;
    for (const float logit : logits.values()) sum += all.emplace_back(std::exp(static_cast<double>(logit)));
    for (double& each : all) each /= sum;
    return all;
}

// Compares a decoding's distributions with those of another run of the text, computed in another way; both
// are in f32.
void check_distributions(const CachedDecoding& decoding, const Trace& other) {
    const Trace& before = *decoding.trace();
    for (Index query = decoding.prompt(); query < decoding.tokens(); ++query) {
        CAPTURE(query);
        const std::vector<double> p = chances(before, query), p_after = chances(other, query);
        double divergence = 0;
        for (std::size_t i = 0; i < p.size(); ++i) divergence += p[i] * std::log(p[i] / p_after[i]);
        const CachedDecoding::Step& step = decoding.at(query);
        CHECK(step.divergence == Catch::Approx(divergence).epsilon(2e-3).margin(1e-6));
        for (const CachedDecoding::Choice& each : step.choices) {
            const auto id = static_cast<std::size_t>(each.id);
            CHECK(each.before == Catch::Approx(p[id]).margin(1e-6));
            CHECK(each.after == Catch::Approx(p_after[id]).margin(2e-4));
        }
        CHECK(step.choices.front().id == step.likeliest_before);
        if (query + 1 == decoding.tokens()) {
            CHECK(std::isnan(step.loss));
            continue;
        }
        const auto next = static_cast<std::size_t>(before.ids()[static_cast<std::size_t>(query + 1)]);
        CHECK(step.loss_before == Catch::Approx(-std::log(p[next])).margin(1e-6));
        CHECK(step.loss == Catch::Approx(-std::log(p_after[next])).epsilon(1e-3).margin(1e-3));
    }
}

Index first_decoder_attention(const Trace& trace) {
    return trace.encoder() ? trace.encoder()->attentions() : 0;
}

// Runs the text so that every query sees only the keys that a decoding kept for it.
std::shared_ptr<const Trace> masked_run(const CachedDecoding& decoding) {
    const auto& trace = decoding.trace();
    std::vector<Intervention> hidden;
    for (Index l = 0; l < std::ssize(trace->layers()); ++l) {
        const Record& record = trace->layers()[static_cast<std::size_t>(l)].attention;
        for (Index head = 0; head < record.heads(); ++head)
            for (Index query = decoding.prompt(); query < decoding.tokens(); ++query) {
                std::vector<Index> keys;
                for (Index key = 0; key <= query; ++key)
                    if (decoding.gone(l, record.kv_head(head))[static_cast<std::size_t>(key)] <= query)
                        keys.push_back(key);
                if (keys.empty()) continue;
                hidden.push_back({.attention = first_decoder_attention(*trace) + l,
                                  .site = Site::mask,
                                  .edit = {.head = head, .rows = {query}, .columns = keys}});
            }
    }
    std::vector<Intervention> all = trace->interventions();
    all.insert(all.end(), hidden.begin(), hidden.end());
    auto forward = ForwardPass::start_with(all, trace);
    INFO((forward ? "" : forward.error().message));
    REQUIRE(forward);
    return *forward->finish();
}

std::vector<SmallFamily> causal_families() {
    std::vector<SmallFamily> all = all_small_families();
    std::erase_if(all, [](const SmallFamily& family) { return !family.causal; });
    return all;
}

}  // namespace

TEST_CASE("decoding with room for all keys equals the original run, in every family", "[analysis]") {
    for (const SmallFamily& family : causal_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), decoded_ids);
        for (const Index prompt : {1, 6, 10}) {
            const CachedDecoding decoding =
                decoded(trace, prompt, EvictionRule{.policy = EvictionPolicy::window, .budget = 40});
            check_distributions(decoding, *trace);
            for (Index query = prompt; query < decoding.tokens(); ++query)
                for (Index l = 0; l < std::ssize(trace->layers()); ++l)
                    for (Index head = 0; head < trace->model()->config().heads; ++head) {
                        CHECK(decoding.moved({l, head}, query) < 1e-4);
                        // Keys hidden by the model's own window have no weight.
                        CHECK(decoding.lost({l, head}, query) == 0);
                    }
        }
    }
}

TEST_CASE("a cache of the newest keys equals a run under a window, in every family", "[analysis]") {
    for (const SmallFamily& family : causal_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = *run_text(model, decoded_ids);
        const bool two = trace->encoder() != nullptr;
        for (const Index budget : {1, 3}) {
            CAPTURE(budget);
            const Mask window = Mask::causal() & Mask::window(budget - 1, 0);
            auto under =
                two ? ForwardPass::start_under(window, model, encoded_ids, default_kernels(),
                                               decoding_in_one_go, {}, decoded_ids, AttentionKind::decoder)
                    : ForwardPass::start_under(window, model, decoded_ids);
            REQUIRE(under);
            check_distributions(
                decoded(trace, 1, EvictionRule{.policy = EvictionPolicy::window, .budget = budget}),
                **under->finish());
        }
    }
}

TEST_CASE("what each policy keeps follows from the weights of a run in which all evicted keys are hidden",
          "[analysis]") {
    for (const SmallFamily& family : causal_families())
        for (const EvictionRule rule : {EvictionRule{EvictionPolicy::sinks, 4, 2, 3, 3},
                                        EvictionRule{EvictionPolicy::heavy_hitters, 4, 2, 3, 3},
                                        EvictionRule{EvictionPolicy::snapkv, 4, 2, 3, 3}}) {
            CAPTURE(family.name, static_cast<int>(rule.policy));
            const auto trace = *run_text(small_model(family), decoded_ids);
            const Index prompt = 6, n = trace->tokens();
            const CachedDecoding decoding = decoded(trace, prompt, rule);
            const auto run = masked_run(decoding);
            check_distributions(decoding, *run);
            for (Index l = 0; l < std::ssize(trace->layers()); ++l) {
                const Record &now = run->layers()[static_cast<std::size_t>(l)].attention,
                             &before = trace->layers()[static_cast<std::size_t>(l)].attention;
                const Index group = now.heads() / now.kv_heads(),
                            window = trace->network().blocks[static_cast<std::size_t>(l)].window;
                for (Index g = 0; g < now.kv_heads(); ++g) {
                    Eviction by_hand(rule, prompt, window, n);
                    for (Index query = 0; query < n; ++query) {
                        std::vector<double> summed(by_hand.seen().size());
                        for (Index head = g * group; head < (g + 1) * group; ++head) {
                            const std::vector<float> weights = now.weights(head, query),
                                                     whole = before.weights(head, query);
                            double lost = 0;
                            for (Index key = 0; key <= query; ++key)
                                if (by_hand.gone()[static_cast<std::size_t>(key)] <= query)
                                    lost += static_cast<double>(whole[static_cast<std::size_t>(key)]);
                            for (std::size_t i = 0; i < summed.size(); ++i)
                                summed[i] +=
                                    static_cast<double>(weights[static_cast<std::size_t>(by_hand.seen()[i])]);
                            if (query >= prompt)
                                CHECK(decoding.lost({l, head}, query) == Catch::Approx(lost).margin(1e-12));
                        }
                        by_hand.add(summed);
                    }
                    const auto gone = decoding.gone(l, g);
                    CHECK(std::vector<Index>(gone.begin(), gone.end()) == by_hand.gone());
                    for (Index key = 0; key < n; ++key)
                        CHECK(decoding.eviction(l, g)->score(key) ==
                              Catch::Approx(by_hand.score(key)).margin(1e-4));
                }
            }
        }
}

TEST_CASE("queries read rounded keys and values from earlier groups, in every family", "[analysis]") {
    for (const SmallFamily& family : causal_families())
        for (const CacheRounding rounding :
             {CacheRounding{16, 8}, CacheRounding{8, 2}, CacheRounding{4, 3}}) {
            CAPTURE(family.name, rounding.bits, rounding.group);
            const auto trace = *run_text(small_model(family), decoded_ids);
            const Index prompt = 5, n = trace->tokens();
            const CachedDecoding decoding = decoded(trace, prompt, rounding);
            std::vector<Intervention> outputs;
            for (Index l = 0; l < std::ssize(trace->layers()); ++l) {
                const Record& record = trace->layers()[static_cast<std::size_t>(l)].attention;
                for (Index head = 0; head < record.heads(); ++head)
                    for (Index query = prompt; query < n; ++query) {
                        // Computes attention in double over the cache's contents at that step.
                        const Index g = record.kv_head(head), d = record.d_k();
                        Tensor k = decoding.k(l), v = decoding.v(l);
                        const Index step = rounding.bits == 16 ? 1 : rounding.group;
                        for (Index begin = 0; begin + step <= query; begin += step) {
                            round_keys(rounding, rows(k.heads().head(g), {begin, begin + step}));
                            round_values(rounding, rows(v.heads().head(g), {begin, begin + step}));
                        }
                        std::vector<double> scores;
                        for (Index key = 0; key <= query; ++key) {
                            double score = 0;
                            for (Index a = 0; a < d; ++a)
                                score += static_cast<double>(decoding.q(l).heads().head(head)(query, a)) *
                                         static_cast<double>(k.heads().head(g)(key, a));
                            score *= static_cast<double>(record.scale());
                            if (const auto cap = static_cast<double>(record.spec().softcap); cap > 0)
                                score = cap * std::tanh(score / cap);
                            if (!record.spec().bias.empty())
                                score += static_cast<double>(record.spec().bias.at(head, query, key));
                            scores.push_back(record.spec().mask.allows(head, query, key) ? std::exp(score)
                                                                                         : 0);
                        }
                        double sum = 0, apart = 0, length = 0;
                        for (const double each : scores) sum += each;
                        std::vector<float> output;
                        for (Index b = 0; b < record.d_v(); ++b) {
                            double number = 0;
                            for (Index key = 0; key <= query; ++key)
                                number += scores[static_cast<std::size_t>(key)] / sum *
                                          static_cast<double>(v.heads().head(g)(key, b));
                            const auto was =
                                static_cast<double>(record.output().heads().head(head)(query, b));
                            apart += (number - was) * (number - was);
                            length += was * was;
                            output.push_back(static_cast<float>(number));
                        }
                        CHECK(decoding.moved({l, head}, query) ==
                              Catch::Approx(std::sqrt(apart / length)).epsilon(1e-3).margin(1e-5));
                        outputs.push_back(head_output({first_decoder_attention(*trace) + l, head}, query,
                                                      std::move(output)));
                    }
            }
            auto forward = ForwardPass::start_with(outputs, trace);
            REQUIRE(forward);
            check_distributions(decoding, **forward->finish());
            CHECK(decoding.eviction(0, 0) == nullptr);
            CHECK(decoding.gone(0, 0).empty());
        }
}

namespace {

// Two changes for every site of every attention: some rows in the prompt and after it, and one head or all.
std::vector<Intervention> changes_of(const Trace& trace, Site site) {
    std::vector<Intervention> all;
    for (Index attention = 0; attention < trace.attentions(); ++attention) {
        const Index rows = site == Site::k || site == Site::v ? trace.attention(attention).keys.tokens()
                                                              : trace.attention(attention).queries.tokens();
        Intervention each{.attention = attention, .site = site};
        each.edit = {.rows = {2, rows - 4, rows - 1},
                     .columns = {0, 1},
                     .operation = Operation::scale,
                     .values = {-0.5f}};
        if (is_of_heads(site)) each.edit.head = 0;
        if (site == Site::mask) each.edit.operation = Operation::zero, each.edit.values.clear();
        all.push_back(each);
        if (site == Site::mask) continue;
        each.edit = {.columns = {1}, .operation = Operation::mean};
        if (site == Site::score) each.edit.columns = {};
        all.push_back(each);
    }
    return all;
}

}  // namespace

TEST_CASE("a changed run is decoded with its changes, bit for bit, in every family", "[analysis]") {
    for (const SmallFamily& family : causal_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), decoded_ids);
        for (int which = 0; which < site_count; ++which) {
            const Site site = static_cast<Site>(which);
            CAPTURE(info(site).key);
            auto forward = ForwardPass::start_with(changes_of(*trace, site), trace);
            INFO((forward ? "" : forward.error().message));
            REQUIRE(forward);
            const auto changed = *forward->finish();
            const CachedDecoding decoding =
                decoded(changed, 4, EvictionRule{.policy = EvictionPolicy::heavy_hitters, .budget = 40});
            for (Index l = 0; l < std::ssize(changed->layers()); ++l) {
                const Record& record = changed->layers()[static_cast<std::size_t>(l)].attention;
                CHECK(decoding.q(l) == record.q());
                CHECK(decoding.k(l) == record.k());
                CHECK(decoding.v(l) == record.v());
                for (Index query = 4; query < decoding.tokens(); ++query)
                    for (Index head = 0; head < record.heads(); ++head) {
                        CHECK(decoding.moved({l, head}, query) == 0);
                        CHECK(decoding.lost({l, head}, query) == 0);
                    }
            }
            for (Index query = 4; query < decoding.tokens(); ++query) {
                CHECK(decoding.at(query).divergence == 0);
                for (const auto& choice : decoding.at(query).choices) CHECK(choice.before == choice.after);
            }
            // With fewer keys, it is the changed run in which the evicted keys are hidden as well.
            const CachedDecoding fewer =
                decoded(changed, 4, EvictionRule{.policy = EvictionPolicy::sinks, .budget = 4, .sinks = 2});
            check_distributions(fewer, *masked_run(fewer));
        }
    }
}

TEST_CASE("a decoding does not depend on its slices, and says why it is impossible", "[analysis]") {
    const auto model = small_model(small_families[1]);
    const auto trace = *run_text(model, decoded_ids);
    for (const CacheRule rule : {CacheRule(EvictionRule{}), CacheRule(CacheRounding{4, 2})}) {
        const CachedDecoding at_once = decoded(trace, 3, rule), one_by_one = decoded(trace, 3, rule, 1);
        for (Index query = 3; query < trace->tokens(); ++query) {
            CHECK(at_once.at(query).divergence == one_by_one.at(query).divergence);
            CHECK(at_once.at(query).likeliest == one_by_one.at(query).likeliest);
            CHECK(at_once.moved({1, 1}, query) == one_by_one.moved({1, 1}, query));
        }
        CHECK(at_once.mean_lost({0, 0}) == one_by_one.mean_lost({0, 0}));
    }
    for (const Index prompt : {0, 11, 12})
        CHECK_THAT(CachedDecoding::start(trace, prompt, EvictionRule{}).error().message,
                   ContainsSubstring("leaves nothing of 11 tokens to decode"));
    // Only a key that no cache would hold at that step is an obstacle: one after its query, or before its
    // window.
    const auto shown = [](const std::shared_ptr<const Trace>& run, Index query, Index key) {
        return *ForwardPass::start_with({Intervention{.site = Site::mask,
                                                      .edit = {.head = 0,
                                                               .rows = {query},
                                                               .columns = {key},
                                                               .operation = Operation::set,
                                                               .values = {1}}}},
                                        run)
                    ->finish();
    };
    const auto windowed = *run_text(
        small_model(*std::ranges::find(small_families, std::string_view("mistral"), &SmallFamily::name)),
        decoded_ids);
    for (const auto& [run, query, key] :
         {std::tuple(trace, Index{5}, Index{7}), std::tuple(windowed, Index{8}, Index{2})})
        CHECK_THAT(CachedDecoding::start(shown(run, query, key), 3, EvictionRule{}).error().message,
                   ContainsSubstring("a change of the mask in layer 0 shows a query a key"));
    CHECK(CachedDecoding::start(shown(trace, 2, 7), 3, EvictionRule{}));
    CHECK(CachedDecoding::start(shown(trace, 5, 4), 3, EvictionRule{}));
    const auto bert = std::ranges::find(small_families, std::string_view("bert"), &SmallFamily::name);
    CHECK_THAT(
        CachedDecoding::start(*run_text(small_model(*bert), decoded_ids), 3, EvictionRule{}).error().message,
        ContainsSubstring("both directions"));
}
