#include "lenses/cost/cost.hpp"

#include <algorithm>

#include "app/format.hpp"

namespace attn::app::cost {

namespace {

constexpr std::array<std::string_view, 3> part_keys{"time", "roofline", "models"};
constexpr std::array<std::string_view, 2> whose_keys{"open", "typed"}, gate_keys{"plain", "gated"},
    tie_keys{"untied", "tied"};

}  // namespace

// ---- Settings ---------------------------------------------------------------------------------------------

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"cost.part", "cost: {}", named<&S::part>(part_keys)},
        {"cost.tokens", [](const S& s) { return many(s.tokens, "token"); },
         whole<&S::tokens>("number of tokens", 1, most_tokens)},
        {"cost.shape", "the {} model’s shape", named<&S::whose>(whose_keys)},
        {"cost.bits", "weights and cache in {} bits", whole<&S::weight_bits>("number of bits", 4, 32),
         whole<&S::cache_bits>("number of bits", 4, 32)},
        {"cost.typed", "another shape",
         whole<[](S& s) -> auto& { return s.typed.layers; }>("number of layers", 1, most_layers),
         whole<[](S& s) -> auto& { return s.typed.d_model; }>("d_model", 1, most_width),
         whole<[](S& s) -> auto& { return s.typed.heads; }>("number of heads", 1, most_width),
         whole<[](S& s) -> auto& { return s.typed.kv_heads; }>("number of KV heads", 1, most_width),
         whole<[](S& s) -> auto& { return s.typed.head_dim; }>("head_dim", 1, most_width),
         whole<[](S& s) -> auto& { return s.typed.d_ff; }>("d_ff", 1, most_width),
         whole<[](S& s) -> auto& { return s.typed.vocabulary; }>("number of tokens", 1, most_width),
         named<[](S& s) -> auto& { return s.typed.gated; }>(gate_keys),
         named<[](S& s) -> auto& { return s.typed.tied; }>(tie_keys)},
    };
    static const Fields<S> fields{
        .all = all, .check = [](const S& s) -> Status {
            if (s.typed.heads % s.typed.kv_heads != 0)
                return Error{"Choose a number of KV heads that divides the number of heads."};
            for (const Index bits : {s.weight_bits, s.cache_bits})
                if (bits != 32 && bits != 16 && bits != 8 && bits != 4)
                    return Error{"Choose 32, 16, 8 or 4 bits for a number."};
            return ok();
        }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 5>()}; }

// ---- Shapes -----------------------------------------------------------------------------------------------

TypedShape typed_as(const ModelShape& s) {
    return {s.layers, s.d_model, s.heads, s.kv_heads, s.head_dim, s.d_ff, s.vocabulary, s.gated, s.tied};
}

const KnownModel* Model::typed_model() const {
    for (const KnownModel& known : known_models())
        if (known.shape.encoder_layers == 0 && typed_as(known.shape) == state.typed) return &known;
    return nullptr;
}

std::string Model::shape_name(std::size_t which) const {
    if (which == 0) return open_name;
    if (which >= first_known) return known_models()[which - first_known].name;
    const KnownModel* known = typed_model();
    return known ? std::string(known->name) + ", typed" : "typed shape";
}

void Model::update(Visit& visit, Subject& subject) {
    state = visit.state().of<State>();
    const auto trace = subject.attention()->trace();
    shapes[0].reset();
    if (trace) shapes[0] = model_shape(trace->model()->config());
    open_name = trace ? subject.attention()->title() : "";
    const TypedShape& t = state.typed;
    shapes[1] = ModelShape{.layers = t.layers,
                           .d_model = t.d_model,
                           .heads = t.heads,
                           .kv_heads = t.kv_heads,
                           .head_dim = t.head_dim,
                           .d_ff = t.d_ff,
                           .vocabulary = t.vocabulary,
                           .gated = t.gated,
                           .tied = t.tied};
    for (std::size_t i = 0; i < known_count; ++i) {
        auto& kept = shapes[first_known + i];
        kept = known_models()[i].shape;
        if (shapes[0] == kept) kept.reset();  // it stands there already
    }
    measured = &visit.shared<CostResults>();
    if (!measured->times()) measured->measure_times(false);
    if (state.part == Part::roofline && !measured->roof()) measure_roof();
    if (samples == measured->samples()) return;
    samples = measured->samples();
    series = measured->series();
}

void Model::measure_roof() {
    measured->measure_roof(*shapes[in_view()], state.tokens,
                           shape_name(in_view()) + ", " + many(state.tokens, "token"));
}

const CostSeries* Model::series_of(CostWork form, CostMeans means) const {
    const auto found = std::ranges::find_if(
        series, [&](const CostSeries& each) { return each.form == form && each.means == means; });
    return found == series.end() ? nullptr : &*found;
}

ModelUse Model::use(std::size_t which, Index tokens) const {
    return {*shape(which),
            tokens,
            {static_cast<double>(state.weight_bits) / 8, static_cast<double>(state.cache_bits) / 8},
            roofline()};
}

}  // namespace attn::app::cost
