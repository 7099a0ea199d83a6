// Lists the lenses, one per line, in the order of the rail. Only this list and the lens's own folder refer to
// a lens by name.
#include <array>

#include "app/catalogue.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/compare/compare.hpp"
#include "lenses/cost/cost.hpp"
#include "lenses/curves/curves.hpp"
#include "lenses/examples/examples.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/gradient/gradient.hpp"
#include "lenses/heads/heads.hpp"
#include "lenses/inverse/inverse.hpp"
#include "lenses/knockout/knockout.hpp"
#include "lenses/ladder/ladder.hpp"
#include "lenses/layers/layers.hpp"
#include "lenses/masks/masks.hpp"
#include "lenses/memory/memory.hpp"
#include "lenses/numerics/numerics.hpp"
#include "lenses/order/order.hpp"
#include "lenses/overview/overview.hpp"
#include "lenses/paths/paths.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "lenses/properties/properties.hpp"
#include "lenses/scale/scale.hpp"
#include "lenses/softmax/softmax.hpp"
#include "lenses/sources/sources.hpp"
#include "lenses/steer/steer.hpp"
#include "lenses/tiles/tiles.hpp"
#include "lenses/translation/translation.hpp"
#include "lenses/yours/yours.hpp"

namespace attn::app {

namespace {

template <class L>
std::unique_ptr<Resident> make(Visit& visit) {
    return std::make_unique<L>(visit);
}

}  // namespace

std::span<const LensEntry> lens_list() {
    using enum LensGroup;
    // clang-format off: one line per lens
    static const std::array list{
        LensEntry{"overview", "Overview", see, "All heads, one of them enlarged, and who looks where", false, {}, make<Overview>},
        LensEntry{"ladder", "Ladder", see, "One head as matrices: scores, weights, output, step by step", false, ladder_links(), make<LadderLens>},
        LensEntry{"compare", "Compare", see, "Two runs side by side, head by head", true, compare::links(), make<compare::CompareLens>, false, compare::numbers(), nullptr, compare::measured_cell},
        LensEntry{"curves", "Curves", see, "A network while it learns", false, curves::links(), make<curves::CurvesLens>, false, curves::numbers(), nullptr, curves::measured_cell},
        LensEntry{"translation", "Translation", see, "Cross-attention: one line of words written while looking at another", false, {}, make<translation::TranslationLens>, false, translation::numbers(), translation::packed_cell},
        LensEntry{"scale", "Scale", understand, "Why scores are divided by the square root of d_k", false, scale::links(), make<ModelLens<scale::Model>>, false, scale::numbers(), scale::packed_cell},
        LensEntry{"masks", "Masks", understand, "Which keys a query may look at, and what that saves and costs", false, masks::links(), make<masks::Lens>, false, masks::numbers(), masks::packed_cell},
        LensEntry{"softmax", "Softmax", understand, "Temperature as a dial, and what has been put in softmax’s place", false, softmax::links(), make<ModelLens<softmax::Model>>, false, softmax::numbers(), softmax::packed_cell},
        LensEntry{"gradient", "Gradient", understand, "What every number before an output could do for it", false, gradient::links(), make<gradient::Lens>, false, gradient::numbers(), gradient::packed_cell},
        LensEntry{"inverse", "Make it so", understand, "The least change that gives a weight you wish for, or why there is none", false, inverse::links(), make<inverse::Lens>, false, inverse::numbers(), inverse::packed_cell},
        LensEntry{"order", "Order", understand, "What attention knows of the order of its tokens, and six ways to tell it", false, order::links(), make<ModelLens<order::Model>>, false, order::numbers(), order::packed_cell},
        LensEntry{"tiles", "Tiles", understand, "Fused attention step by step: a softmax that never sees its whole row", false, tiles::links(), make<tiles::Lens>, false, tiles::numbers(), tiles::packed_cell},
        LensEntry{"geometry", "Geometry", understand, "Scores as a bilinear form: its directions, its gauge, a metric, Einstein sums", false, geometry::links(), make<ModelLens<geometry::Model>>, false, geometry::numbers(), geometry::packed_cell},
        LensEntry{"memory", "Memory", understand, "Keys as stored patterns: attention as one step of a memory", false, memory::links(), make<memory::Lens>, false, memory::numbers(), memory::packed_cell},
        LensEntry{"sources", "Sources", question, "Why a query attends to a key: its score as a sum over what earlier heads and MLPs wrote", false, sources::links(), make<ModelLens<sources::Model>>, true, sources::numbers(), nullptr, nullptr, true},
        LensEntry{"paths", "Paths", question, "How a logit comes about: the strongest paths through heads and MLPs, and what they keep alone", false, paths::links(), make<ModelLens<paths::Model>>, true, paths::numbers()},
        LensEntry{"layers", "Layers", question, "The residual stream as it becomes the answer, and what adds up to a logit", false, layers::links(), make<ModelLens<layers::Model>>, false, layers::numbers(), layers::packed_cell},
        LensEntry{"knockout", "Knock-out", question, "What the answer loses without a head or an edge; bright is not the same as important", false, knockout::links(), make<ModelLens<knockout::Model>>, true, knockout::numbers(), knockout::packed_cell},
        LensEntry{"steer", "Steer", question, "A direction added to the residual stream with a dial: what comes next, before and after", false, steer::links(), make<ModelLens<steer::Model>>, true, steer::numbers()},
        LensEntry{"examples", "Examples", question, "What makes a head fire, in thousands of texts: its best examples, and its usual ones", false, examples::links(), make<ModelLens<examples::Model>>, false, examples::numbers()},
        LensEntry{"heads", "Heads", question, "How many heads work together, and how many keys and values they need", false, heads::links(), make<ModelLens<heads::Model>>, false, heads::numbers(), heads::packed_cell},
        LensEntry{"circuits", "Circuits", question, "What a head would do on any text: what it looks for, what it writes, whom it reads from", false, circuits::links(), make<ModelLens<circuits::Model>>, false, circuits::numbers(), circuits::packed_cell},
        LensEntry{"cache", "Cache", question, "What a decoder keeps, what that saves, and what becomes of the answer if it keeps less", false, cache::links(), make<cache::CacheLens>, false, cache::numbers(), cache::packed_cell},
        LensEntry{"yours", "Yours", check, "Is my attention right? Your own result beside the right one, with the mistake named", false, yours::links(), make<yours::Lens>, false, yours::numbers()},
        LensEntry{"numerics", "Numerics", check, "What is lost in few bits: every step rounded, stage by stage, and where overflow begins", false, numerics::links(), make<ModelLens<numerics::Model>>, false, numerics::numbers()},
        LensEntry{"cost", "Cost", check, "What attention takes: time and memory measured in this tab, and what models take", false, cost::links(), make<ModelLens<cost::Model>>, false, cost::numbers()},
        LensEntry{"properties", "Properties", check, "What must hold, proved on these numbers: each error beside its bound", false, properties::links(), make<ModelLens<properties::Model>>, false, properties::numbers()},
        LensEntry{"pitfalls", "Pitfalls", check, "Mistakes of implementations as switches: what each does, and which no map shows", false, pitfalls::links(), make<ModelLens<pitfalls::Model>>, false, pitfalls::numbers()},
    };
    // clang-format on
    return list;
}

}  // namespace attn::app
