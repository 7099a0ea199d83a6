// Tests that links name cells, and that older links keep their meaning.
#include "app/cell.hpp"

#include <catch_amalgamated.hpp>

#include "app/catalogue.hpp"
#include "app/link.hpp"
#include "lenses/softmax/softmax.hpp"
#include "unit/app/support.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE(
    "every kind of a lens's numbers has a name of its own, and its cells can be read from their names") {
    for (const LensEntry& lens : lens_list())
        for (const CellKind* kind : lens.cells) {
            INFO(lens.key << "." << kind->name);
            CHECK(std::ranges::count(lens.cells, kind->name, &CellKind::name) == 1);
            for (const Index far : {0, 1, 123'456'789}) {
                LensCell cell{kind};
                for (std::size_t i = 0; i < kind->rank(); ++i) {
                    const auto& words = kind->axes[i].words;
                    cell.at[i] = words.empty() ? far : std::min(far, std::ssize(words) - 1);
                }
                const CellRef ref = cell;
                const std::string text = write_cell(ref);
                INFO(text);
                CHECK(read_cell(text, default_state()) == ref);
                State state = default_state();
                state.lens = lens.key;
                state = after(state, Pin{ref});
                CHECK(parse_fragment(to_fragment(state)).state == state);
            }
        }
}

TEST_CASE("neither another lens's number nor one beyond its axis can be pinned") {
    State state = default_state();
    const CellRef cell = softmax::cells::weight(ScoreMap::sparsemax, 3);
    CHECK_FALSE(app::apply(state, Pin{cell}));
    state.lens = "softmax";
    CHECK(after(state, Pin{cell}).pin == cell);
    CHECK_FALSE(app::apply(state, Pin{softmax::cells::weight(static_cast<Index>(score_map_count), 0)}));
    CHECK_FALSE(app::apply(state, Pin{softmax::cells::weight(0, -1)}));
}

namespace {

State seen_through(std::string_view lens) {
    State state = default_state();
    state.lens = lens;
    return state;
}

struct OlderName {
    const char *lens, *old, *name;
};
constexpr OlderName older_names[] = {
    {"softmax", "number.12.3", "softmax.weight.sparsemax.3"},
    {"softmax", "number.0.1", "softmax.gibbs.energy.dial"},
    {"softmax", "number.22.2", "softmax.measure.sparsemax.difference"},
    {"softmax", "number.36.7", "softmax.output.linear.7"},
    {"softmax", "number.44.1993", "softmax.curve.heat_capacity.1993"},
    {"softmax", "number.50.9", "softmax.query.9"},
    {"softmax", "number.63.5", "softmax.head.3.5"},
    {"cache", "number.1.12", "cache.bytes.compared.12"},
    {"cache", "number.3.6", "cache.operations.recomputed.6"},
    {"cache", "number.4.0", "cache.time"},
    {"cache", "number.5.9", "cache.divergence.9"},
    {"cache", "number.6.9", "cache.loss.9"},
    {"cache", "number.7.9", "cache.lost_weight.9"},
    {"cache", "number.8.9", "cache.output_error.9"},
    {"cache", "number.9.4", "cache.score.4"},
    {"cache", "number.10.2", "cache.probability.2"},
    {"cache", "number.101.2", "cache.variant.1.8"},
    {"cache", "number.1003.5", "cache.head.3.5"},
    {"cache", "number.10000003.7", "cache.key.3.7"},
    {"cache", "number.20000003.7", "cache.value.3.7"},
    {"cache", "number.30000003.7", "cache.weight.3.7"},
    {"cache", "number.40000003.7", "cache.full_weight.3.7"},
    {"masks", "number.3.2", "masks.mask.3.2"},
    {"masks", "number.2.900000", "masks.share.multiply_adds"},
    {"masks", "number.5.900001", "masks.hidden_weight.unmasked.5"},
    {"masks", "number.5.900002", "masks.hidden_weight.own.5"},
    {"masks", "number.50256.900003", "masks.probability.50256"},
    {"masks", "number.4.900119", "masks.empty_row.uniform.4.3"},
    {"masks", "number.4.900163", "masks.sink.sink.4"},
    {"knockout", "number.2.1", "knockout.head_ablation.2.1"},
    {"knockout", "number.1002.4", "knockout.direct_effect.2.4"},
    {"knockout", "number.2003.1", "knockout.max_weight.3.1"},
    {"knockout", "number.3001.5", "knockout.patching.1.5"},
    {"knockout", "number.4000.6", "knockout.edge_ablation.6"},
    {"knockout", "number.4001.6", "knockout.strongest_edge.6"},
    {"knockout", "number.10007.3", "knockout.edge_estimate.7.3"},
    {"gradient", "number.2.38", "gradient.derivative.score.2.3"},
    {"gradient", "number.1.23", "gradient.derivative.jacobian.1.1"},
    {"memory", "number.0.3", "memory.energy.3"},
    {"memory", "number.1.3", "memory.update_norm.3"},
    {"memory", "number.2.3", "memory.effective_keys.3"},
    {"memory", "number.3.9", "memory.distance.one.9"},
    {"memory", "number.4.9", "memory.distance.all.9"},
    {"memory", "number.5.7", "memory.classical_energy.7"},
    {"memory", "number.6.99", "memory.local_field.99"},
    {"memory", "number.8.14", "memory.capacity.modern.14"},
    {"memory", "number.10002.5", "memory.weight.2.5"},
    {"memory", "number.20001.63", "memory.state.1.63"},
    {"scale", "number.0.20", "scale.histogram.20"},
    {"scale", "number.1.30", "scale.weight.2.7"},
    {"scale", "number.2.7", "scale.measure.max_weight.3"},
    {"scale", "number.3.317", "scale.curve.variance.inverse_sqrt.5"},
    {"scale", "number.4.63", "scale.component_variance.63"},
    {"scale", "number.5.63", "scale.cumulative_variance.64"},
    {"order", "number.2.3", "order.output_change.3"},
    {"order", "number.3.2", "order.largest_output_change.sinusoidal"},
    {"order", "number.4.5", "order.equal_scores.t5"},
    {"order", "number.5.3", "order.largest_score_change.rope.f32"},
    {"order", "number.6.4", "order.largest_score_change.alibi.f64"},
    {"order", "number.8.31", "order.rotary_pair.31"},
    {"order", "number.9.1546", "order.score_at_distance.rope.7"},
    {"order", "number.10.338", "order.extrapolated_score.yarn.50"},
    {"tiles", "number.3.131072", "tiles.running.rescaling.3"},
    {"tiles", "number.3.327680", "tiles.running.sum.3"},
    {"tiles", "number.3.393223", "tiles.weight.3.7"},
    {"tiles", "number.3.458757", "tiles.output.before.3.5"},
    {"tiles", "number.3.720901", "tiles.output.difference.3.5"},
    {"layers", "number.4.9", "layers.likeliest.4.9"},
    {"layers", "number.1004.19", "layers.probability.4.19"},
    {"layers", "number.2004.19", "layers.rank.4.19"},
    {"layers", "number.3004.19", "layers.logit.4.19"},
    {"layers", "number.4004.0", "layers.norm.4"},
    {"layers", "number.5004.0", "layers.cosine.4"},
    {"layers", "number.6000.7", "layers.attribution.7"},
    {"layers", "number.6003.9", "layers.token.gradient.9"},
    {"layers", "number.6014.9", "layers.encoder_token.ablation.9"},
    {"heads", "number.6.1", "heads.shape.split_v.parameters"},
    {"heads", "number.1004.7", "heads.written.4.7"},
    {"heads", "number.2004.0", "heads.norm.4"},
    {"heads", "number.3004.0", "heads.share.4"},
    {"heads", "number.4000.0", "heads.error"},
    {"heads", "number.5002.3", "heads.similarity.weights.2.3"},
    {"heads", "number.6002.3", "heads.similarity.outputs.2.3"},
    {"heads", "number.7000.3", "heads.role.3"},
    {"heads", "number.8004.1", "heads.cache.shared.total_variation.1"},
    {"heads", "number.9202.5", "heads.output_error.latent.2.5"},
    {"heads", "number.8101.19", "heads.probability.shared.after.19"},
    {"inverse", "number.2.36", "inverse.weight.2.3"},
    {"inverse", "number.2.37", "inverse.query.2.3"},
    {"inverse", "number.4.14", "inverse.key.4.1"},
    {"inverse", "number.1.27", "inverse.projection.1.2"},
    {"inverse", "number.2.16", "inverse.change.2.1"},
    {"inverse", "number.7.17", "inverse.iteration.length.7"},
    {"inverse", "number.1.42", "inverse.target.1.3"},
    {"inverse", "number.1.43", "inverse.fitted_weight.1.3"},
    {"inverse", "number.1.44", "inverse.fitted_query.1.3"},
    {"inverse", "number.1.45", "inverse.fitted_key.1.3"},
    {"inverse", "number.5.10", "inverse.error.5"},
    {"inverse", "number.5.11", "inverse.divergence.5"},
    {"translation", "number.1.3", "translation.confidence.1.3"},
    {"geometry", "number.2.69", "geometry.bilinear_form.2.3"},
    {"geometry", "number.2.70", "geometry.symmetric_part.2.3"},
    {"geometry", "number.2.71", "geometry.antisymmetric_part.2.3"},
    {"geometry", "number.2.3", "geometry.singular_value.2"},
    {"geometry", "number.2.73", "geometry.left_singular_vector.2.3"},
    {"geometry", "number.2.74", "geometry.right_singular_vector.2.3"},
    {"geometry", "number.2.75", "geometry.left_projection.2.3"},
    {"geometry", "number.2.76", "geometry.right_projection.2.3"},
    {"geometry", "number.2.77", "geometry.left_token.2.3"},
    {"geometry", "number.2.78", "geometry.right_token.2.3"},
    {"geometry", "number.2.79", "geometry.left_vocabulary.2.3"},
    {"geometry", "number.2.80", "geometry.right_vocabulary.2.3"},
    {"geometry", "number.2.81", "geometry.gauge.2.3"},
    {"geometry", "number.2.82", "geometry.dual_gauge.2.3"},
    {"geometry", "number.2.83", "geometry.gauged_query.2.3"},
    {"geometry", "number.2.84", "geometry.gauged_key.2.3"},
    {"geometry", "number.2.85", "geometry.gauged_score.2.3"},
    {"geometry", "number.2.86", "geometry.metric.2.3"},
    {"geometry", "number.2.87", "geometry.inverse_metric.2.3"},
    {"geometry", "number.2.88", "geometry.raised_query.2.3"},
    {"geometry", "number.2.89", "geometry.metric_score.2.3"},
    {"geometry", "number.2.90", "geometry.metric_weight.2.3"},
    {"geometry", "number.2.91", "geometry.einsum.2.3"},
    {"circuits", "number.4.9", "circuits.map.qk.4.9"},
    {"circuits", "number.300004.9", "circuits.map.ov.4.9"},
    {"circuits", "number.600004.9", "circuits.map.position.4.9"},
    {"circuits", "number.4.400003", "circuits.left_factor.qk.4.3"},
    {"circuits", "number.300004.450003", "circuits.right_factor.ov.4.3"},
    {"circuits", "number.600004.500003", "circuits.input.position.4.3"},
    {"circuits", "number.700000.3", "circuits.distance.3"},
    {"circuits", "number.700002.3", "circuits.eigenvalue.head.imaginary.3"},
    {"circuits", "number.700003.3", "circuits.eigenvalue.virtual.real.3"},
    {"circuits", "number.700005.0", "circuits.virtual_copying"},
    {"circuits", "number.700006.9", "circuits.virtual_logit.9"},
    {"circuits", "number.710002.5", "circuits.copying.2.5"},
    {"circuits", "number.720003.5", "circuits.plane.key.y.5"},
    {"circuits", "number.725001.5", "circuits.corpus_plane.query.y.5"},
    {"circuits", "number.800011.1", "circuits.composition.v.1.3"},
    {"compare", "cosine.3.0", "compare.cosine.3"},
    {"compare", "row_cosine.3.1", "compare.row_cosine.3.1"},
    {"compare", "difference.4.2", "compare.difference.4.2"},
    {"curves", "loss.12.0", "curves.loss.12"},
    {"curves", "curve.12.9", "curves.score.previous.1.12"},  // with eight heads
    {"ladder", "weight.2.1.nosink", "weight.2.1.nosink"},
    {"ladder", "row_entropy.2.5", "row_entropy.2.5"},
    {"ladder", "column_total.2.4.words", "column_total.2.4.words"},
    {"ladder", "marked_total.0.6.renormalised", "marked_total.0.6.renormalised"},
    {"ladder", "scores.2.1", "scores.2.1"},
    {"gradient", "gradient.2.1.second", "gradient.2.1.second"},
};

}  // namespace

TEST_CASE("links name cells, and older links are read as before") {
    const auto [lens, old, name] = GENERATE(from_range(older_names));
    INFO(lens << " " << old);
    const auto cell = read_cell(old, seen_through(lens));
    REQUIRE(cell);
    CHECK(write_cell(*cell) == name);
    CHECK(read_cell(name, default_state()) == cell);
}

TEST_CASE("an invalid name of a cell is refused") {
    for (const char* text :
         {"", "softmax", "softmax.weight", "softmax.weight.sparsemax", "softmax.weight.nothing.1",
          "softmax.weight.sparsemax.-1", "softmax.weight.sparsemax.1.2", "softmax.nothing.1",
          "nothing.weight.softmax.1", "weight.1", "weight.x.1", "softmax.weight.0.1",
          "softmax.query.99999999999999999999", "weight.1.2.second.words", "row_total.1.9", "row_total.1.-1",
          "cosine.3.0"})
        CHECK_FALSE(read_cell(text, seen_through("softmax")));
    CHECK_FALSE(read_cell("number.9.0", seen_through("softmax")));
    CHECK_FALSE(read_cell("number.0.29", seen_through("inverse")));
    CHECK_FALSE(read_cell("number.0.26", seen_through("geometry")));
    CHECK_FALSE(read_cell("number.12.3.second", seen_through("softmax")));
    CHECK_FALSE(read_cell("cosine.3.1", seen_through("compare")));
    CHECK_FALSE(read_cell("curve.3.24", seen_through("curves")));
    CHECK_FALSE(read_cell("loss.3.1", seen_through("curves")));
}
