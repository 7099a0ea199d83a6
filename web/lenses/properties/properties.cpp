#include "lenses/properties/properties.hpp"

#include <algorithm>

namespace attn::app::properties {

namespace {

constexpr std::array<std::string_view, 3> scope_words{"head", "layer", "all"};
constexpr double most_constant = 10000;

// The heads of a layer, as the checks take them; nothing until the layer is computed.
std::optional<CheckedHeads> heads_in(Attention& attention, Index layer, Range heads) {
    CheckedHeads checked{.layer = layer, .heads = heads, .record = attention.record(layer)};
    if (checked.record) return checked;
    if (!attention.finished()) return std::nullopt;
    const HeadMaps maps = attention.maps({});
    for (Index head = heads.begin; head < heads.end; ++head) checked.maps.push_back(maps(layer, head));
    return checked;
}

// The layers to check, the chosen one first.
std::vector<Index> layers_of(const Attention& attention, HeadIndex chosen, Scope scope) {
    std::vector<Index> layers{chosen.layer};
    const Range alike = attention.alike();
    for (Index layer = alike.begin; scope == Scope::all && layer < alike.end; ++layer)
        if (layer != chosen.layer) layers.push_back(layer);
    return layers;
}

// The chosen head comes first, so that its queries are kept.
std::vector<CheckedHeads> heads_of(Attention& attention, HeadIndex chosen, Scope scope) {
    std::vector<CheckedHeads> all;
    for (const Index layer : layers_of(attention, chosen, scope)) {
        std::vector<Range> parts{{0, attention.heads()}};
        if (layer == chosen.layer) parts = {{chosen.head, chosen.head + 1}};
        if (layer == chosen.layer && scope != Scope::head) {
            parts.push_back({0, chosen.head});
            parts.push_back({chosen.head + 1, attention.heads()});
        }
        for (const Range& part : parts)
            if (auto heads = part.size() > 0 ? heads_in(attention, layer, part) : std::nullopt)
                all.push_back(*std::move(heads));
    }
    return all;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"properties.show", "errors of “{}”", named<&S::shown>(property_words)},
        {"properties.scope", "properties of: {}", named<&S::scope>(scope_words)},
        {"properties.constant", "{} added to the scores",
         real<&S::constant>("constant", -most_constant, most_constant)},
        {"properties.seed", "order of the tokens by seed {}", whole<&S::seed>("seed", 0, seed_limit)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 4>()}; }

std::optional<Missing> Model::missing(Subject& subject) {
    Attention& attention = *subject.attention();
    if (attention.finished() || attention.record(subject.chosen_head().layer)) return std::nullopt;
    return Missing{.sentence = "The attention is still being computed.", .comes = true};
}

void Model::update(Visit& visit, Subject& subject) {
    Attention& attention = *subject.attention();
    state = visit.state().of<State>();
    const HeadIndex chosen = subject.chosen_head();
    Of now{.version = attention.version(), .head = chosen, .scope = state.scope};
    for (const Index layer : layers_of(attention, chosen, state.scope))
        now.ready += attention.finished() || attention.record(layer);
    const CheckOptions options{.constant = state.constant, .seed = state.seed};
    if (now != of || !checks) {
        of = now;
        checks.reset();
        if (auto heads = heads_of(attention, chosen, state.scope); !heads.empty())
            checks.emplace(std::move(heads), attention.trace(), options);
    }
    if (checks) checks->follow(options);
}

Model::Key Model::key() const {
    Key key;
    key.of = of;
    if (!checks) return key;
    key.options = checks->options();
    for (Index i = 0; i < property_count; ++i) {
        const PropertyResult& each = result(static_cast<Property>(i));
        key.cells += each.cells + each.done;
    }
    return key;
}

bool Model::is_done() const {
    for (Index i = 0; i < property_count; ++i)
        if (!checks || !result(static_cast<Property>(i)).done) return false;
    return true;
}

}  // namespace attn::app::properties
