// Compares with products of whole matrices [d_model, d_model] in double, and with random ones.
#include "analysis/heads/composition.hpp"

#include "tensor/random.hpp"
#include "unit/analysis/whole_circuits.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// What an attention reads, with its norm folded in: C diag(gain) W, row by row of the residual stream.
Whole folded_read(const Model& model, HeadIndex head, Composition kind) {
    const AttentionSublayer& half = model.network().attention(head.layer);
    const HeadProjection projection = head_projection(model, head.layer, head.head);
    Whole w = whole((kind == Composition::q   ? projection.q
                     : kind == Composition::k ? projection.k
                                              : projection.v)
                        .view()
                        .weight);
    const auto& norm = kind == Composition::q ? half.q_norm : half.k_norm;
    if (norm && kind != Composition::v) {
        const Index width = std::ssize(w.front()), each = model.config().heads / model.config().kv_heads,
                    own = kind == Composition::q ? head.head : head.head / each,
                    first = norm->gain.size() == width ? 0 : own * width;
        for (auto& row : w)
            for (std::size_t a = 0; a < row.size(); ++a)
                row[a] *= static_cast<double>(norm->gain.values()[static_cast<std::size_t>(first) + a]);
    }
    if (!half.attention_norm) return w;
    // Holds the norm fixed and applies it to every unit vector of the stream: the rows of the map from the
    // stream to the head's input.
    Whole units(w.size(), std::vector<double>(w.size()));
    for (std::size_t i = 0; i < w.size(); ++i) units[i][i] = 1;
    Norm plain{.name = {}, .kind = half.attention_norm->kind, .gain = half.attention_norm->gain, .bias = {}};
    return product(under_norm(plain, units, true), w);
}

Whole carried_out(const Model& model, HeadIndex from, Index to) {
    Whole rows = whole_w_o(model, from);
    const auto held = [&](const std::optional<Norm>& norm) {
        if (norm) rows = under_norm(*norm, rows, true);
    };
    held(model.network().attention(from.layer).attention_post_sublayer_norm);
    for (Index layer = from.layer; layer < to; ++layer) {
        held(model.network().blocks[static_cast<std::size_t>(layer)].attention_post_residual_norm);
        held(model.network().blocks[static_cast<std::size_t>(layer)].mlp_post_residual_norm);
    }
    return rows;
}

double composition_by_definition(const Model& model, Composition kind, HeadIndex from, HeadIndex to) {
    using enum Composition;
    const Whole ov = product(folded_read(model, from, v), carried_out(model, from, to.layer));
    const Whole first = folded_read(model, to, kind);
    const Whole behind =
        kind == v ? whole_w_o(model, to) : transposed(folded_read(model, to, kind == q ? k : q));
    const Whole read = product(first, behind);
    return norm_of(product(ov, read)) / (norm_of(ov) * norm_of(read));
}

}  // namespace

TEST_CASE("composition matches whole matrices, for every pair of heads and in every family", "[analysis]") {
    using enum Composition;
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const CircuitEnds ends = *CircuitEnds::of(model);
        CompositionJob job(ends);
        CHECK(std::isnan(job.value(q, {0, 0}, {1, 0})));
        while (job.step()) continue;
        CHECK(job.progress() == 1);
        for (Index from = 0; from < job.layers() * job.heads(); ++from)
            for (Index to = 0; to < job.layers() * job.heads(); ++to) {
                const HeadIndex a{from / job.heads(), from % job.heads()},
                    b{to / job.heads(), to % job.heads()};
                for (const Composition kind : {q, k, v}) {
                    CAPTURE(from, to, static_cast<int>(kind));
                    if (b.layer <= a.layer) {
                        CHECK(std::isnan(job.value(kind, a, b)));
                        continue;
                    }
                    const double expected = composition_by_definition(*model, kind, a, b);
                    // Sums of at most 24 products in f32, four deep, followed by a square root.
                    CHECK(std::abs(static_cast<double>(job.value(kind, a, b)) - expected) < 2e-5);
                    const CompositionNorms exact = exact_composition(ends, kind, a, b);
                    CHECK(std::abs(exact.product / (exact.written * exact.read) - expected) < 1e-6);
                }
            }
    }
}

TEST_CASE("heads of random numbers compose like 1 / √d_model, however narrow they are", "[analysis]") {
    const SmallFamily wide{"gpt2", R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 4, "n_embd": 96,
        "n_layer": 2, "n_head": 12})"};
    CompositionJob job(*CircuitEnds::of(small_model(wide)));
    while (job.step()) continue;
    for (const Composition kind : {Composition::q, Composition::k, Composition::v}) {
        double squares = 0;
        for (Index from = 0; from < 12; ++from)
            for (Index to = 0; to < 12; ++to)
                squares += std::pow(static_cast<double>(job.value(kind, {0, from}, {1, to})), 2) / 144;
        // Gains around 1 with a spread of 0.3 raise it slightly.
        CHECK(std::sqrt(squares) == Catch::Approx(expected_composition(96)).epsilon(0.15));
    }
}

TEST_CASE("a virtual head's middle is what the later head's values read from the earlier head's output",
          "[analysis]") {
    for (const char* name : {"gpt2", "gemma2", "bert"}) {
        CAPTURE(name);
        const auto model =
            small_model(*std::ranges::find(small_families, std::string_view(name), &SmallFamily::name));
        const Whole expected =
            product(carried_out(*model, {0, 1}, 1), folded_read(*model, {1, 0}, Composition::v));
        const Tensor middle = virtual_middle(*CircuitEnds::of(model), {0, 1}, {1, 0});
        for (Index a = 0; a < middle.dim(0); ++a)
            for (Index b = 0; b < middle.dim(1); ++b)
                CHECK(std::abs(static_cast<double>(middle.matrix()(a, b)) -
                               expected[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]) < 1e-5);
    }
}
